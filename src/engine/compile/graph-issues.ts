// Collects the issues of a graph. Keeps up to `MAX_ERRORS` errors and counts the others; warnings are limited where they are made.

import type { BackgroundExpressionReader } from '../node-api/node-facts.ts'
import type { GraphIssue } from './graph.ts'

/** No list of problems shows more. */
const MAX_ERRORS = 1_000

/** An expression that the compiler did not validate, because that would block the main thread for too long. */
export interface PendingExpression {
  readonly node_id: string
  readonly property: string
  readonly validate: BackgroundExpressionReader
}

/** The time limit for reading one expression on the main thread, in nanoseconds. */
const LONGEST_READING = 20_000_000

export class GraphIssueList {
  readonly pendingExpressions = new Set<PendingExpression>()
  /** Nanoseconds left for reading expressions. If a graph is compiled at once, all its expressions share the limit of one. */
  #reading_left = Number.POSITIVE_INFINITY
  readonly #issues: GraphIssue[] = []
  #errorCount = 0
  #preventsPlan = false
  /** The first error that was not kept. */
  #firstUnlisted: GraphIssue | null = null

  /** The number of errors, kept or not. */
  get errorCount(): number {
    return this.#errorCount
  }

  /** Whether an error prevents a plan. Invalid expressions do not: jobs accepted before expressions were validated continue. */
  get preventsPlan(): boolean {
    return this.#preventsPlan
  }

  /** Declares that the graph is compiled at once, without turns for other work. */
  compiledAtOnce(): void {
    this.#reading_left = LONGEST_READING
  }

  /** Whether there is time to read an expression that takes `cost` nanoseconds; if so, the time is deducted. */
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

  /** All kept issues, and the number of errors beyond them. */
  list(): GraphIssue[] {
    if (!this.#firstUnlisted) return this.#issues
    const message = `There are ${this.#errorCount - MAX_ERRORS} more problems.`
    return [...this.#issues, { ...this.#firstUnlisted, message, node_id: null, pin_name: null }]
  }
}
