// How a check says that a rule is broken, or that it cannot be judged here; and what it shows for it.

/** What was asked and answered, as far as it shows what is wrong. */
export interface Evidence {
  /** What the rule wants, and what was found. */
  finding: string
  request?: unknown
  answer?: unknown
}

/** The rule is broken. */
export class Violation extends Error {
  readonly evidence: readonly Evidence[]

  constructor(evidence: readonly Evidence[]) {
    super(evidence[0]?.finding ?? 'broken')
    this.name = 'Violation'
    this.evidence = evidence
  }
}

/** The rule cannot be judged on this server: what it needs is not claimed, or not there. */
export class Skip extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Skip'
  }
}

/** The server cannot be reached at all. */
export class Unreachable extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Unreachable'
  }
}

/** The judgement has been ended early. */
export class Stopped extends Error {
  constructor() {
    super('the judgement has been stopped')
    this.name = 'Stopped'
  }
}

/** The most findings that one requirement shows. */
const MOST_FINDINGS = 8

/** Gathers what is wrong over many cases, so that one requirement tells of all of them. */
export class Findings {
  readonly #found: Evidence[] = []
  #looked = 0
  #more = 0

  /** Looks at one case; `describe` is asked only where it is wrong. */
  see(right: boolean, describe: () => Evidence): void {
    this.#looked++
    if (right) return
    if (this.#found.length < MOST_FINDINGS) this.#found.push(describe())
    else this.#more++
  }

  /** @throws Violation where anything was wrong, Skip where nothing was looked at */
  settle(nothing: string): void {
    if (this.#looked === 0) throw new Skip(nothing)
    if (this.#more > 0) this.#found.push({ finding: `and ${this.#more} more like these` })
    if (this.#found.length > 0) throw new Violation(this.#found)
  }
}

/** @throws Violation unless it is so */
export function expect(right: boolean, finding: string, request?: unknown, answer?: unknown): asserts right {
  if (!right) throw new Violation([{ finding, request, answer }])
}
