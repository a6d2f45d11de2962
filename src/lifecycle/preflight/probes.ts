// AvailabilityProbes checks services outside of this process before a run. Probes change nothing, cost nothing, and never take longer than
// their limit.
import type { Log } from '../../log.ts'
import { IdleTimeoutError } from '../../models/calls/idle-timeout.ts'
import type { ModelListCache } from '../../models/catalogue/model-list-cache.ts'
import type { Model, Provider } from '../../models/provider.ts'
import { ProviderError } from '../../models/provider-error.ts'

/** Milliseconds for the probe of a runtime. */
export const RUNTIME_PROBE_MS = 2_000

/** The result of a probe: `late` if it took too long, `failed` if it threw. Only the log shows the error. */
export type ProbeResult<T> = { readonly kind: 'known'; readonly value: T } | { readonly kind: 'late' | 'failed' }

/** The provider cannot be asked on this server. The message is safe to show. */
interface Unavailable {
  readonly kind: 'unavailable'
  readonly message: string
}

/** A program that node types need besides this process. */
export interface NodeRuntime {
  readonly name: string
  /** The displayed name. */
  readonly title: string
  /** Checks the runtime without changing anything. @throws any error; its message is for the log only */
  status(signal: AbortSignal): Promise<'available' | 'missing' | 'unavailable' | 'downloading'>
}

/** Resolves after `ms` at the latest, whether `look` heeds its signal or not. */
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
  const probing = (async (): Promise<ProbeResult<T>> => ({ kind: 'known', value: await look(controller.signal) }))()
  const settled = probing.catch((error: unknown): ProbeResult<T> => {
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
  readonly model_lists: ModelListCache
  readonly log: Log
  /** Milliseconds. Tests set it so that they need not wait. */
  readonly limits?: { readonly runtimes_ms?: number }
}

export class AvailabilityProbes {
  readonly #tools: ProbeParts

  constructor(tools: ProbeParts) {
    this.#tools = tools
  }

  /** Returns the models that a provider lists for a credential, as a run would see them. `sought` are the names that the run needs. */
  async models(
    provider: Provider,
    credential: string | null,
    sought: readonly string[] = [],
  ): Promise<ProbeResult<readonly Model[]> | Unavailable> {
    // Only the time limit ends the wait.
    const { signal } = new AbortController()
    try {
      return { kind: 'known', value: await this.#tools.model_lists.list(provider, credential, signal, sought) }
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
    this.#tools.log.warn({ err, of }, 'a probe before a run failed')
  }
}
