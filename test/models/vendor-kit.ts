// Helpers for tests of vendors' providers: a client for each file, and short forms of answers.
import assert from 'node:assert/strict'
import type { CompletionPart, CompletionRequest, Provider } from '../../src/models/provider.ts'
import { ProviderError, type ProviderFault } from '../../src/models/provider-error.ts'
import { UpstreamClient } from '../../src/net/upstream/client.ts'

export const KEY = 'sk-ant-test-0123456789'
export const GOOGLE_KEY = 'AIza-test-0123456789'

/** A client that retries at once, so that no test waits for its pauses. */
export function quickClient(): UpstreamClient {
  return new UpstreamClient({ retry_delay_ms: 1 })
}

export type Asked = Partial<CompletionRequest>

export function requestOf(model: string, { messages = [{ role: 'user', content: 'hello' }], ...more }: Asked = {}) {
  return { model, messages, ...more } as CompletionRequest
}

export async function partsOf(
  provider: Provider,
  request: CompletionRequest,
  credential: string | null,
  signal: AbortSignal = new AbortController().signal,
  owner: string | null = 'me',
): Promise<CompletionPart[]> {
  const all: CompletionPart[] = []
  for await (const part of provider.complete(request, { credential, signal, owner })) all.push(part)
  return all
}

/** Joins adjacent parts of one type, so that answers can be compared with any split. */
export function joined(parts: readonly CompletionPart[]): CompletionPart[] {
  const all: CompletionPart[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if (part.type === 'tool_call' && last?.type === 'tool_call' && last.index === part.index)
      all[all.length - 1] = { ...last, arguments: last.arguments + part.arguments }
    else if (part.type !== 'end' && part.type !== 'tool_call' && last?.type === part.type)
      all[all.length - 1] = { type: part.type, text: last.text + part.text }
    else all.push(part)
  }
  return all
}

/** For `assert.rejects` and `assert.throws`: a ProviderError that names a field, and shows no key. */
export function blames(fault: ProviderFault, param: string | null, message = /./): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ProviderError, String(error))
    assert.deepEqual([error.fault, error.param], [fault, param], error.message)
    assert.match(error.message, message)
    assert.doesNotMatch(`${error.message} ${error.cause}`, new RegExp(`${KEY}|${GOOGLE_KEY}`))
    return true
  }
}
