// Counters and measurements of the process. Observing is cheap and needs no library; prom-client, loaded at the first request for metrics, writes the
// text for Prometheus.
import { createRequire } from 'node:module'
import type { Registry } from 'prom-client'

type Labels = Readonly<Record<string, string | number>>

interface MetricSample {
  readonly metricName?: string
  readonly labels: Labels
  readonly value: number
}

interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): MetricSample[]
}

/** A number that only grows, by labels. */
export class Counter implements MetricFamily {
  readonly type = 'counter'
  readonly name: string
  readonly help: string
  readonly #counts = new Map<string, { labels: Labels; value: number }>()

  constructor(name: string, help: string) {
    this.name = name
    this.help = help
  }

  /** `key` distinguishes sets of labels; `labels` is called at the first use of a key. */
  add(key: string, labels: () => Labels, by = 1): void {
    const count = this.#counts.get(key)
    if (count) count.value += by
    else this.#counts.set(key, { labels: labels(), value: by })
  }

  samples(): MetricSample[] {
    return [...this.#counts.values()]
  }
}

/** Counts how many values fell below each bound. */
export class Histogram implements MetricFamily {
  readonly type = 'histogram'
  readonly name: string
  readonly help: string
  readonly #bounds: readonly number[]
  readonly #label: string | null
  readonly #tallies = new Map<string, { counts: number[]; sum: number }>()

  /** `bounds` in ascending order. `label` names the label of the value that `observe` receives, if any. */
  constructor(name: string, help: string, bounds: readonly number[], label: string | null = null) {
    this.name = name
    this.help = help
    this.#bounds = bounds
    this.#label = label
  }

  observe(value: number, label = ''): void {
    const tally = this.#tallies.get(label) ?? { counts: this.#bounds.map(() => 0).concat(0), sum: 0 }
    this.#tallies.set(label, tally)
    const at = this.#bounds.findIndex((bound) => value <= bound)
    tally.counts[at < 0 ? this.#bounds.length : at]!++
    tally.sum += value
  }

  samples(): MetricSample[] {
    return [...this.#tallies].flatMap(([label, { counts, sum }]) => {
      const labels: Labels = this.#label === null ? {} : { [this.#label]: label }
      let below = 0
      const buckets = counts.map((count, at) => {
        below += count
        return {
          metricName: `${this.name}_bucket`,
          labels: { ...labels, le: this.#bounds[at] ?? '+Inf' },
          value: below,
        }
      })
      const total = { metricName: `${this.name}_count`, labels, value: below }
      return [...buckets, { metricName: `${this.name}_sum`, labels, value: sum }, total]
    })
  }
}

export class Metrics {
  readonly requests = new Counter('svc_http_requests_total', 'HTTP requests by operation and status.')
  readonly #families: MetricFamily[] = [this.requests]
  #registry: Registry | null = null

  /** Adds a counter or a histogram, which the caller fills. */
  add<F extends MetricFamily>(family: F): F {
    this.#families.push(family)
    return family
  }

  /** Adds a gauge that is read at each request for metrics: a value for each value of `label`, or a single value without a label. */
  gauge(name: string, help: string, label: string | null, read: () => Iterable<readonly [string, number]>): void {
    const labels = (of: string): Labels => (label === null ? {} : { [label]: of })
    const samples = () => Array.from(read(), ([of, value]) => ({ labels: labels(of), value }))
    this.#families.push({ name, help, type: 'gauge', samples })
  }

  /** All metrics in the text format of Prometheus (version 0.0.4), including prom-client's metrics of the process. */
  text(): Promise<string> {
    this.#registry ??= this.#open()
    return this.#registry.metrics()
  }

  #open(): Registry {
    const prometheus: typeof import('prom-client') = createRequire(import.meta.url)('prom-client')
    const registry = new prometheus.Registry()
    for (const family of this.#families) {
      const { name, help, type } = family
      const get = async () => ({ name, help, type, aggregator: 'sum', values: family.samples() })
      registry.registerMetric({ name, help, type, get } as never)
    }
    prometheus.collectDefaultMetrics({ register: registry, prefix: 'svc_' })
    return registry
  }
}
