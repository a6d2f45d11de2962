// Every kind of provider, each in front of a server of its own that behaves as the real one, for what all of them must keep.

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

/** It answers "Hello" and more; it says no more after its first piece; it finds the request wrong, in words that hold the key. */
export type Mode = 'answers' | 'hangs' | 'refuses'

export interface Started extends AsyncDisposable {
  readonly provider: Provider
  /** How many answers it was asked for. */
  asked(): number
  /** Settles when whoever asked for the first answer is known to be gone. */
  gone(): Promise<unknown>
}

export interface Kind {
  /** Of a model that speaks. */
  readonly model: string
  readonly key: string | null
  /** Whether it refuses what it cannot honour: others hand on what they do not know, or take all. */
  readonly refuses: boolean
  /** Whether there is a server that can hang and refuse. */
  readonly remote: boolean
  start(client: UpstreamClient, mode: Mode): Promise<Started>
}

const OPENAI_KEY = 'sk-marked-0123456789abcdef'

/** Those of a server, which settles a promise with each request. */
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

/** One that asks nobody. */
function here(provider: Provider & Partial<Pick<PricedProvider, 'calls'>>): Started {
  return {
    provider,
    asked: () => provider.calls?.length ?? 0,
    gone: async () => {},
    async [Symbol.asyncDispose]() {},
  }
}
