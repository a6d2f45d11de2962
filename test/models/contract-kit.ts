// One provider of each kind, in front of a server that behaves like the real one, for the tests of the provider interface.

import type { Provider } from '../../src/models/provider.ts'
import { createAnthropicProvider } from '../../src/models/providers/anthropic/provider.ts'
import { builtinProvider } from '../../src/models/providers/builtin-echo.ts'
import { createGoogleProvider } from '../../src/models/providers/google/provider.ts'
import { createOpenAiProvider } from '../../src/models/providers/openai/provider.ts'
import type { UpstreamClient } from '../../src/net/upstream/client.ts'
import { startAnthropic } from '../helpers/anthropic-upstream.ts'
import { startGoogle } from '../helpers/google-upstream.ts'
import { type PricedProvider, pricedProvider } from '../helpers/priced-provider.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { GOOGLE_KEY, KEY } from './vendor-kit.ts'

/** The server answers "Hello" and more, hangs after its first piece, or refuses the request in a text that contains the key. */
export type Mode = 'answers' | 'hangs' | 'refuses'

export interface Started extends AsyncDisposable {
  readonly provider: Provider
  /** The number of requests for answers. */
  asked(): number
  /** Settles when the server sees that the client of the first answer is gone. */
  gone(): Promise<unknown>
}

export interface Kind {
  /** The name of a chat model. */
  readonly model: string
  readonly key: string | null
  /** Whether the provider refuses unsupported fields; others pass on unknown fields, or accept all. */
  readonly refuses: boolean
  /** Whether the provider has a server, which can hang and refuse. */
  readonly remote: boolean
  start(client: UpstreamClient, mode: Mode): Promise<Started>
}

const OPENAI_KEY = 'sk-marked-0123456789abcdef'

/** For a provider with a server, which settles a promise with each request. */
function served(
  provider: Provider,
  upstream: AsyncDisposable,
  posts: () => readonly { readonly gone: Promise<void> }[],
): Started {
  return {
    provider,
    asked: () => posts().length,
    gone: () => posts()[0]!.gone,
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  }
}

const message = (key: string) => `the key ${key} asks for what is not there`

export const KINDS: Readonly<Record<string, Kind>> = {
  openai_compatible: {
    model: 'gpt-4o',
    key: OPENAI_KEY,
    refuses: false,
    remote: true,
    async start(client, mode) {
      const scripts = { answers: {}, hangs: { hangs: 2 }, refuses: { error: { message: message(OPENAI_KEY) } } }
      const upstream = await startUpstream({ answer: () => scripts[mode] })
      const named = { name: 'acme', title: 'Acme', credential: 'ACME_API_KEY', keyless: false }
      const provider = createOpenAiProvider({ ...named, base_url: upstream.base_url, client })
      return served(provider, upstream, () => upstream.posts)
    },
  },
  anthropic: {
    model: 'claude-opus-5-5',
    key: KEY,
    refuses: true,
    remote: true,
    async start(client, mode) {
      const error = { type: 'invalid_request_error', message: message(KEY) }
      const scripts = { answers: {}, hangs: { hangs: 4 }, refuses: { error } }
      const upstream = await startAnthropic({ answer: () => scripts[mode] })
      const provider = createAnthropicProvider({ base_url: upstream.base_url, client })
      return served(provider, upstream, () => upstream.requests.filter(({ method }) => method === 'POST'))
    },
  },
  google: {
    model: 'gemini-3.8-flash',
    key: GOOGLE_KEY,
    refuses: true,
    remote: true,
    async start(client, mode) {
      const error = { code: 400, status: 'INVALID_ARGUMENT', message: message(GOOGLE_KEY) }
      const scripts = { answers: {}, hangs: { hangs: 1 }, refuses: { error } }
      const upstream = await startGoogle({ answer: () => scripts[mode] })
      const provider = createGoogleProvider({ base_url: upstream.base_url, client })
      return served(provider, upstream, () => upstream.requests.filter(({ method }) => method === 'POST'))
    },
  },
  builtin: {
    model: 'echo',
    key: null,
    refuses: true,
    remote: false,
    start: async () => here(builtinProvider),
  },
  priced: {
    model: 'small',
    key: null,
    refuses: false,
    remote: false,
    start: async () => {
      const provider = pricedProvider({ answer: () => ({ usage: { input_tokens: 2, output_tokens: 3 } }) })
      return here(provider)
    },
  },
}

/** For a provider without a server. */
function here(provider: Provider & Partial<Pick<PricedProvider, 'calls'>>): Started {
  return {
    provider,
    asked: () => provider.calls?.length ?? 0,
    gone: async () => {},
    async [Symbol.asyncDispose]() {},
  }
}
