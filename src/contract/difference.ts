// What a difference between two versions means for those who go by the older one.

/** `additive`: nobody notices who doesn't look. `risky`: somebody may. `breaking`: somebody will. */
export type Verdict = 'additive' | 'risky' | 'breaking'

export interface Difference {
  readonly verdict: Verdict
  /** What kind of change it is, a stable word. */
  readonly rule: string
  /** Where, for people: an operation, a message, or a schema and the way into it. */
  readonly place: string
  readonly message: string
}

const WEIGHTS: Readonly<Record<Verdict, number>> = { additive: 0, risky: 1, breaking: 2 }

/** Gathers differences, each once. */
export class Findings {
  readonly #found = new Map<string, Difference>()
  /** Positions of schemas that were compared already: that is what ends a recursive schema. */
  readonly seen = new Set<string>()

  add(verdict: Verdict, rule: string, place: string, message: string): void {
    const key = `${rule}\n${place}\n${message}`
    const known = this.#found.get(key)
    if (known && WEIGHTS[known.verdict] >= WEIGHTS[verdict]) return
    this.#found.set(key, { verdict, rule, place, message })
  }

  /** The worst first, then by place. */
  get sorted(): Difference[] {
    return [...this.#found.values()].sort(
      (a, b) =>
        WEIGHTS[b.verdict] - WEIGHTS[a.verdict] ||
        compareTexts(a.place, b.place) ||
        compareTexts(a.rule, b.rule) ||
        compareTexts(a.message, b.message),
    )
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The worst verdict, or null where nothing differs. */
export function worst(differences: readonly Difference[]): Verdict | null {
  return differences.reduce<Verdict | null>(
    (found, { verdict }) => (found === null || WEIGHTS[verdict] > WEIGHTS[found] ? verdict : found),
    null,
  )
}
