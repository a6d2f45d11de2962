// The effect of a difference between two versions on the users of the older one.

/** `additive`: existing programs notice no change. `risky`: some may break. `breaking`: some will break. */
export type DifferenceVerdict = 'additive' | 'risky' | 'breaking'

export interface Difference {
  readonly verdict: DifferenceVerdict
  /** The kind of change, as a stable word. */
  readonly rule: string
  /** The place in words: an operation, a message, or a schema and the path into it. */
  readonly place: string
  readonly message: string
}

const VERDICT_WEIGHTS: Readonly<Record<DifferenceVerdict, number>> = { additive: 0, risky: 1, breaking: 2 }

/** Collects differences, each once. */
export class DifferenceCollector {
  readonly #differences = new Map<string, Difference>()
  /** Positions of schemas that were compared already. They end the comparison of a recursive schema. */
  readonly comparedPositions = new Set<string>()

  add(verdict: DifferenceVerdict, rule: string, place: string, message: string): void {
    const key = `${rule}\n${place}\n${message}`
    const known = this.#differences.get(key)
    if (known && VERDICT_WEIGHTS[known.verdict] >= VERDICT_WEIGHTS[verdict]) return
    this.#differences.set(key, { verdict, rule, place, message })
  }

  /** The worst differences first, then by place. */
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

/** Returns the worst verdict, or null without differences. */
export function worstVerdict(differences: readonly Difference[]): DifferenceVerdict | null {
  return differences.reduce<DifferenceVerdict | null>(
    (found, { verdict }) => (found === null || VERDICT_WEIGHTS[verdict] > VERDICT_WEIGHTS[found] ? verdict : found),
    null,
  )
}
