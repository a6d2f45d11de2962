// Looks at what is outside of this process before a run: they change nothing, cost nothing, and never hold an answer for longer than their limit.
import type { Log } from '../../log.ts'
import { IdleTimeoutError } from '../../models/calls/idle-timeout.ts'
import type { ModelListCache } from '../../models/catalogue/model-list-cache.ts'
import type { Model, Provider } from '../../models/provider.ts'
import { ProviderError } from '../../models/provider-error.ts'

/** Milliseconds for a look at a runtime. */
export const RUNTIME_PROBE_MS = 2_000

/** What a look gave; `late` where it took too long, `failed` where it threw. Nobody but the log hears why. */
export type ProbeResult<T> = { readonly kind: 'known'; readonly value: T } | { readonly kind: 'late' | 'failed' }

/** It cannot be asked as things are on this server, for a reason that is safe to show. */
interface Unavailable {
  readonly kind: 'unavailable'
  readonly message: string
}

/** Something that node types need to run, besides this process. */
export interface NodeRuntime {
  readonly name: string
  /** As people read it. */
  readonly title: string
  /** By a look that changes nothing. @throws whatever went wrong; the message is for the log alone */
  status(signal: AbortSignal): Promise<'available' | 'missing' | 'unavailable' | 'downloading'>
}

/** Whatever `look` does, heeds its signal or not, the answer is there after `ms`. */
export async function probeWithTimeout<T>(
  look: (signal: AbortSignal) => Promise<T>,
  ms: number,
  failed: (error: unknown) => void,
): Promise<ProbeResult<T>> {
  const controller = new AbortController()
  const late = Promise.withResolvers<ProbeResult<T>>()
  const timer = setTimeout(() => {
    late.resolve({ kind: 'late' })
    controller.abort()
  }, ms)
  const looked = (async (): Promise<ProbeResult<T>> => ({ kind: 'known', value: await look(controller.signal) }))()
  const settled = looked.catch((error: unknown): ProbeResult<T> => {
    if (!controller.signal.aborted) failed(error)
    return { kind: 'failed' }
  })
  try {
    return await Promise.race([settled, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

interface ProbeParts {
  readonly listings: ModelListCache
  readonly log: Log
  /** Milliseconds, where a test does not want to wait. */
  readonly limits?: { readonly runtimes_ms?: number }
}

export class AvailabilityProbes {
  readonly #tools: ProbeParts

  constructor(tools: ProbeParts) {
    this.#tools = tools
  }

  /** A provider's models, as a credential shows them: what a run would be told. `sought` are the names of those that it needs. */
  async models(
    provider: Provider,
    credential: string | null,
    sought: readonly string[] = [],
  ): Promise<ProbeResult<readonly Model[]> | Unavailable> {
    // Nothing ends the wait but its time.
    const { signal } = new AbortController()
    try {
      return { kind: 'known', value: await this.#tools.listings.list(provider, credential, signal, sought) }
    } catch (err) {
      if (err instanceof IdleTimeoutError) return { kind: 'late' }
      if (err instanceof ProviderError && err.fault === 'unavailable') return { kind: err.fault, message: err.message }
      this.#failed(err, provider.name)
      return { kind: 'failed' }
    }
  }

  runtime(runtime: NodeRuntime): Promise<ProbeResult<Awaited<ReturnType<NodeRuntime['status']>>>> {
    const ms = this.#tools.limits?.runtimes_ms ?? RUNTIME_PROBE_MS
    return probeWithTimeout(
      (signal) => runtime.status(signal),
      ms,
      (err) => this.#failed(err, runtime.name),
    )
  }

  #failed(err: unknown, of: string): void {
    this.#tools.log.warn({ err, of }, 'a look before a run failed')
  }
}
