// What is wrong with a graph, as it is found: so many errors are kept, and of the others how many there are. Warnings bound themselves.
import type { GraphIssue } from './graph.ts'
import type { BackgroundReader } from './node-type.ts'

/** More than any list of problems shows. */
const MOST_ERRORS = 1_000

/** An expression that the compiler has not read, because that would hold the main thread for too long. */
export interface PendingExpression {
  readonly node_id: string
  readonly property: string
  readonly read: BackgroundReader
}

/** Nanoseconds that the main thread may take to read one expression. */
const LONGEST_READING = 20_000_000

export class Issues {
  readonly pending = new Set<PendingExpression>()
  /** Nanoseconds that are left for reading expressions: of a graph that is compiled at once, all of them share those of one. */
  #reading_left = Number.POSITIVE_INFINITY
  readonly #kept: GraphIssue[] = []
  #errors = 0
  #leaveNoPlan = false
  /** The first error that was not kept. */
  #next: GraphIssue | null = null

  /** How many errors there are, kept or not. */
  get errors(): number {
    return this.#errors
  }

  /** Whether one of them leaves nothing to run. A job that was accepted before expressions were read goes on without those that cannot be. */
  get leaveNoPlan(): boolean {
    return this.#leaveNoPlan
  }

  /** The graph is compiled at once, with no turns of others in between. */
  compiledAtOnce(): void {
    this.#reading_left = LONGEST_READING
  }

  /** Whether there is time to read an expression that takes so many nanoseconds, which are spent then. */
  spendReading(cost: number): boolean {
    if (cost > Math.min(LONGEST_READING, this.#reading_left)) return false
    this.#reading_left -= cost
    return true
  }

  push(issue: GraphIssue): void {
    this.#leaveNoPlan ||= issue.severity === 'error' && issue.code !== 'invalid_expression'
    if (issue.severity === 'error' && ++this.#errors > MOST_ERRORS) this.#next ??= issue
    else this.#kept.push(issue)
  }

  /** All that are kept, and how many there are besides. */
  list(): GraphIssue[] {
    if (!this.#next) return this.#kept
    const message = `There are ${this.#errors - MOST_ERRORS} more problems.`
    return [...this.#kept, { ...this.#next, message, node_id: null, pin_name: null }]
  }
}
