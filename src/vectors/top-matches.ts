// Keeps the best matches of a scan in order. Of matches with equal scores, the first found comes first.

export interface ScoredEntry {
  readonly key: number
  readonly score: number
}

export class TopMatches {
  readonly #most: number
  readonly #least: number
  /** The best first. */
  readonly #best: ScoredEntry[] = []

  /** At most `most` matches, each with a score of at least `least`. */
  constructor(most: number, least: number) {
    this.#most = most
    this.#least = least
  }

  offer(key: number, score: number): void {
    const kept = this.#best
    if (score < this.#least || (kept.length === this.#most && score <= kept.at(-1)!.score)) return
    let [from, to] = [0, kept.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (kept[middle]!.score >= score) from = middle + 1
      else to = middle
    }
    kept.splice(from, 0, { key, score })
    if (kept.length > this.#most) kept.pop()
  }

  all(): readonly ScoredEntry[] {
    return this.#best
  }
}
