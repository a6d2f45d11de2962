// Metrics of model calls: how many there were by provider and outcome, and how long they took.
import { ServiceError } from '../errors.ts'
import { Counter, Histogram, type Metrics } from '../metrics.ts'

const BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

export interface CallMetrics {
  begin(): CallMeasurement
}

export interface CallMeasurement {
  /** `none` until the provider is known. */
  provider: string
  /** Called when the first byte of the answer is ready. */
  recordFirstByte(): void
  /** Counts once; later calls do nothing. `error` is null for a call that succeeded. */
  end(error: unknown): void
}

export function createCallMetrics(metrics: Metrics): CallMetrics {
  const calls = metrics.add(
    new Counter('svc_model_calls_total', 'Calls of models by clients, by provider and outcome.'),
  )
  const help = 'From a request for a model to'
  const first = new Histogram(
    'svc_model_first_seconds',
    `${help} the first byte of the answer, by provider.`,
    BUCKETS_SECONDS,
    'provider',
  )
  const whole = new Histogram(
    'svc_model_seconds',
    `${help} the end of the answer, by provider.`,
    BUCKETS_SECONDS,
    'provider',
  )
  metrics.add(first)
  metrics.add(whole)
  return { begin: () => new TimedCall({ calls, first, whole }) }
}

interface MetricFamilies {
  readonly calls: Counter
  readonly first: Histogram
  readonly whole: Histogram
}

class TimedCall implements CallMeasurement {
  provider = 'none'
  readonly #families: MetricFamilies
  readonly #begun_at = performance.now()
  #ended = false

  constructor(families: MetricFamilies) {
    this.#families = families
  }

  recordFirstByte(): void {
    this.#families.first.observe(this.#seconds(), this.provider)
  }

  end(error: unknown): void {
    if (this.#ended) return
    this.#ended = true
    const { provider } = this
    const outcome = describeOutcome(error)
    this.#families.calls.add(`${provider} ${outcome}`, () => ({ provider, outcome }))
    this.#families.whole.observe(this.#seconds(), provider)
  }

  #seconds(): number {
    return (performance.now() - this.#begun_at) / 1_000
  }
}

function describeOutcome(error: unknown): string {
  if (error === null) return 'completed'
  if (error instanceof ServiceError) return error.type
  return error instanceof Error && error.name === 'AbortError' ? 'aborted' : 'internal_error'
}
