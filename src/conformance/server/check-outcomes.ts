// The outcomes of checks: a rule is broken, or cannot be checked on this server, with the evidence.

/** The request and the answer, as far as they show the problem. */
export interface Evidence {
  /** The rule's demand and what the server did. */
  finding: string
  request?: unknown
  answer?: unknown
}

/** The server breaks the rule. */
export class RuleViolation extends Error {
  readonly evidence: readonly Evidence[]

  constructor(evidence: readonly Evidence[]) {
    super(evidence[0]?.finding ?? 'broken')
    this.name = 'Violation'
    this.evidence = evidence
  }
}

/** The rule cannot be checked on this server: the server does not claim a necessary operation, or an input is missing. */
export class CheckSkipped extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Skip'
  }
}

/** The server is unreachable. */
export class ServerUnreachableError extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Unreachable'
  }
}

/** The suite was stopped early. */
export class SuiteStoppedError extends Error {
  constructor() {
    super('the suite was stopped')
    this.name = 'Stopped'
  }
}

/** The most findings of one requirement. */
const MAX_FINDINGS = 8

/** Collects the findings of many cases, so that one requirement shows all of them. */
export class CheckFindings {
  readonly #evidence: Evidence[] = []
  #caseCount = 0
  #omittedCount = 0

  /** Adds one case. `describe` is called only for a wrong case. */
  addCase(right: boolean, describe: () => Evidence): void {
    this.#caseCount++
    if (right) return
    if (this.#evidence.length < MAX_FINDINGS) this.#evidence.push(describe())
    else this.#omittedCount++
  }

  /** @throws RuleViolation where a case was wrong, CheckSkipped where there was no case */
  throwIfBroken(nothing: string): void {
    if (this.#caseCount === 0) throw new CheckSkipped(nothing)
    if (this.#omittedCount > 0) this.#evidence.push({ finding: `and ${this.#omittedCount} more like these` })
    if (this.#evidence.length > 0) throw new RuleViolation(this.#evidence)
  }
}

/** @throws RuleViolation where `right` is false */
export function expect(right: boolean, finding: string, request?: unknown, answer?: unknown): asserts right {
  if (!right) throw new RuleViolation([{ finding, request, answer }])
}
