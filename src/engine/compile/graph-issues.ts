// What is wrong with a graph, as it is found: so many errors are kept, and of the others how many there are. Warnings bound themselves.

import type { BackgroundExpressionReader } from '../node-api/node-type.ts'
import type { GraphIssue } from './graph.ts'

/** More than any list of problems shows. */
const MAX_ERRORS = 1_000

/** An expression that the compiler has not read, because that would hold the main thread for too long. */
export interface PendingExpression {
  readonly node_id: string
  readonly property: string
  readonly validate: BackgroundExpressionReader
}

/** Nanoseconds that the main thread may take to read one expression. */
const LONGEST_READING = 20_000_000

export class GraphIssueList {
  readonly pendingExpressions = new Set<PendingExpression>()
  /** Nanoseconds that are left for reading expressions: of a graph that is compiled at once, all of them share those of one. */
  #reading_left = Number.POSITIVE_INFINITY
  readonly #issues: GraphIssue[] = []
  #errorCount = 0
  #preventsPlan = false
  /** The first error that was not kept. */
  #firstUnlisted: GraphIssue | null = null

  /** How many errors there are, kept or not. */
  get errorCount(): number {
    return this.#errorCount
  }

  /** Whether one of them leaves nothing to run. A job that was accepted before expressions were read goes on without those that cannot be. */
  get preventsPlan(): boolean {
    return this.#preventsPlan
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
    this.#preventsPlan ||= issue.severity === 'error' && issue.code !== 'invalid_expression'
    if (issue.severity === 'error' && ++this.#errorCount > MAX_ERRORS) this.#firstUnlisted ??= issue
    else this.#issues.push(issue)
  }

  /** All that are kept, and how many there are besides. */
  list(): GraphIssue[] {
    if (!this.#firstUnlisted) return this.#issues
    const message = `There are ${this.#errorCount - MAX_ERRORS} more problems.`
    return [...this.#issues, { ...this.#firstUnlisted, message, node_id: null, pin_name: null }]
  }
}
