// A provider in front of a scripted model server.

import type { CompletionPart, CompletionRequest, Provider } from '../../src/models/provider.ts'
import { createOpenAiProvider } from '../../src/models/providers/openai/provider.ts'
import { UpstreamClient, type UpstreamTimeouts } from '../../src/net/upstream/client.ts'
import { type Script, startUpstream, type Upstream, type UpstreamOptions } from '../helpers/upstream.ts'

export const KEY = 'sk-marked-0123456789abcdef'

export interface Asking extends AsyncDisposable {
  readonly upstream: Upstream
  readonly provider: Provider
  /** All parts of an answer. */
  ask(request?: Partial<CompletionRequest>, signal?: AbortSignal): Promise<CompletionPart[]>
  parts(request?: Partial<CompletionRequest>, signal?: AbortSignal): AsyncIterator<CompletionPart>
}

interface Options extends UpstreamOptions {
  times?: Partial<UpstreamTimeouts>
  credential?: string | null
  most_bytes?: number
}

/** Answers with these scripts in order, and repeats the last one. */
export function answering(...scripts: readonly Script[]): Pick<UpstreamOptions, 'answer'> {
  return { answer: (_, n) => scripts[Math.min(n, scripts.length - 1)]! }
}

export async function startAsking({ times, credential = KEY, most_bytes, ...options }: Options = {}): Promise<Asking> {
  const upstream = await startUpstream(options)
  const client = new UpstreamClient({ retry_delay_ms: 1, ...times })
  const { base_url } = upstream
  const named = { name: 'acme', title: 'Acme', base_url, credential: 'ACME_API_KEY', keyless: true, client }
  const provider = createOpenAiProvider({ ...named, most_bytes })
  const parts = (request: Partial<CompletionRequest> = {}, signal = new AbortController().signal) => {
    const messages: CompletionRequest['messages'] = [{ role: 'user', content: 'Hello there' }]
    const asked = { model: 'gpt-4o', messages, ...request }
    return provider.complete(asked, { credential, signal })[Symbol.asyncIterator]()
  }
  return {
    upstream,
    provider,
    parts,
    ask: async (...given) => {
      const found: CompletionPart[] = []
      const iterator = parts(...given)
      for (let step = await iterator.next(); !step.done; step = await iterator.next()) found.push(step.value)
      return found
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

/** The joined texts of one type. */
export function textOf(parts: readonly CompletionPart[], type: 'text' | 'thinking' | 'refusal' = 'text'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}
