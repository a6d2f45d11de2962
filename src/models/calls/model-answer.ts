// Reads one answer of a provider, which may hang, fail or never end: gives validated parts, or a ProviderError.

import type { ResolvedModel } from '../catalogue/resolved-model.ts'
import type { CompletionPart, CompletionRequest, Provider, ProviderContext } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'
import { validatePart } from '../providers/shared/provider-data-validation.ts'
import { IdleTimeoutError, withIdleTimeout } from './idle-timeout.ts'

export interface ModelAnswerOptions {
  readonly signal: AbortSignal
  /** How long the provider may be silent, before its first part and between two parts. */
  readonly idle_timeout_ms: number
  readonly owner: string | null
  readonly heard: NonNullable<ProviderContext['heard']>
  readonly written: NonNullable<ProviderContext['written']>
  readonly read: NonNullable<ProviderContext['read']>
}

export class ModelAnswer {
  readonly #provider: string
  readonly #parts: AsyncGenerator<CompletionPart, void, void>
  readonly #signal: AbortSignal
  readonly #idle_timeout_ms: number | null
  readonly #stop = new AbortController()

  constructor(
    { provider, credential }: ResolvedModel,
    request: CompletionRequest,
    { signal, idle_timeout_ms, owner, heard, written, read }: ModelAnswerOptions,
  ) {
    this.#provider = provider.name
    this.#signal = signal
    this.#idle_timeout_ms = idleTimeoutFor(provider, idle_timeout_ms)
    const context = { credential, owner, signal: AbortSignal.any([signal, this.#stop.signal]), heard, written, read }
    this.#parts = streamParts(provider, request, context)
  }

  /** The next part, or null after the last one. @throws ProviderError; the signal's reason */
  async next(): Promise<CompletionPart | null> {
    try {
      const step = await withIdleTimeout(this.#parts.next(), this.#idle_timeout_ms, this.#signal)
      return step.done ? null : validatePart(step.value)
    } catch (cause) {
      this.#signal.throwIfAborted()
      throw toModelCallError(this.#provider, cause)
    }
  }

  /** Ends reading without waiting: the provider may hang in the middle of a part. */
  close(): void {
    this.#stop.abort()
    void this.#parts.return().catch(() => {})
  }
}

/** How long the provider may give no part. A provider with its own idle timeout also sees signs of life that are no parts: null. */
export function idleTimeoutFor({ has_idle_timeout = false }: Provider, idle_timeout_ms: number): number | null {
  return has_idle_timeout ? null : idle_timeout_ms
}

/** Converts any failure of a call to an error whose message is safe to show. */
export function toModelCallError(provider: string, cause: unknown): ProviderError {
  if (cause instanceof ProviderError) return cause
  if (cause instanceof IdleTimeoutError)
    return new ProviderError('timed_out', `The provider "${provider}" was silent for too long.`, { cause })
  return new ProviderError('failed', `The provider "${provider}" failed to answer.`, { cause })
}

/** As a generator, so that an error which `complete` throws at once arrives like a later error. */
async function* streamParts(
  provider: ResolvedModel['provider'],
  request: CompletionRequest,
  context: ProviderContext,
): AsyncGenerator<CompletionPart, void, void> {
  yield* provider.complete(request, context)
}
