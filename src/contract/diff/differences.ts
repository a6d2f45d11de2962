// What a difference between two versions means for those who go by the older one.

/** `additive`: nobody notices who doesn't look. `risky`: somebody may. `breaking`: somebody will. */
export type DifferenceVerdict = 'additive' | 'risky' | 'breaking'

export interface Difference {
  readonly verdict: DifferenceVerdict
  /** What kind of change it is, a stable word. */
  readonly rule: string
  /** Where, for people: an operation, a message, or a schema and the way into it. */
  readonly place: string
  readonly message: string
}

const VERDICT_WEIGHTS: Readonly<Record<DifferenceVerdict, number>> = { additive: 0, risky: 1, breaking: 2 }

/** Gathers differences, each once. */
export class DifferenceCollector {
  readonly #differences = new Map<string, Difference>()
  /** Positions of schemas that were compared already: that is what ends a recursive schema. */
  readonly comparedPositions = new Set<string>()

  add(verdict: DifferenceVerdict, rule: string, place: string, message: string): void {
    const key = `${rule}\n${place}\n${message}`
    const known = this.#differences.get(key)
    if (known && VERDICT_WEIGHTS[known.verdict] >= VERDICT_WEIGHTS[verdict]) return
    this.#differences.set(key, { verdict, rule, place, message })
  }

  /** The worst first, then by place. */
  get sorted(): Difference[] {
    return [...this.#differences.values()].sort(
      (a, b) =>
        VERDICT_WEIGHTS[b.verdict] - VERDICT_WEIGHTS[a.verdict] ||
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
export function worstVerdict(differences: readonly Difference[]): DifferenceVerdict | null {
  return differences.reduce<DifferenceVerdict | null>(
    (found, { verdict }) => (found === null || VERDICT_WEIGHTS[verdict] > VERDICT_WEIGHTS[found] ? verdict : found),
    null,
  )
}
