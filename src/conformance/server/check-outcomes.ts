// How a check says that a rule is broken, or that it cannot be judged here; and what it shows for it.

/** What was asked and answered, as far as it shows what is wrong. */
export interface Evidence {
  /** What the rule wants, and what was found. */
  finding: string
  request?: unknown
  answer?: unknown
}

/** The rule is broken. */
export class RuleViolation extends Error {
  readonly evidence: readonly Evidence[]

  constructor(evidence: readonly Evidence[]) {
    super(evidence[0]?.finding ?? 'broken')
    this.name = 'Violation'
    this.evidence = evidence
  }
}

/** The rule cannot be judged on this server: what it needs is not claimed, or not there. */
export class CheckSkipped extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Skip'
  }
}

/** The server cannot be reached at all. */
export class ServerUnreachableError extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Unreachable'
  }
}

/** The judgement has been ended early. */
export class SuiteStoppedError extends Error {
  constructor() {
    super('the judgement has been stopped')
    this.name = 'Stopped'
  }
}

/** The most findings that one requirement shows. */
const MAX_FINDINGS = 8

/** Gathers what is wrong over many cases, so that one requirement tells of all of them. */
export class CheckFindings {
  readonly #evidence: Evidence[] = []
  #caseCount = 0
  #omittedCount = 0

  /** Looks at one case; `describe` is asked only where it is wrong. */
  addCase(right: boolean, describe: () => Evidence): void {
    this.#caseCount++
    if (right) return
    if (this.#evidence.length < MAX_FINDINGS) this.#evidence.push(describe())
    else this.#omittedCount++
  }

  /** @throws RuleViolation where anything was wrong, CheckSkipped where nothing was looked at */
  throwIfBroken(nothing: string): void {
    if (this.#caseCount === 0) throw new CheckSkipped(nothing)
    if (this.#omittedCount > 0) this.#evidence.push({ finding: `and ${this.#omittedCount} more like these` })
    if (this.#evidence.length > 0) throw new RuleViolation(this.#evidence)
  }
}

/** @throws RuleViolation unless it is so */
export function expect(right: boolean, finding: string, request?: unknown, answer?: unknown): asserts right {
  if (!right) throw new RuleViolation([{ finding, request, answer }])
}
