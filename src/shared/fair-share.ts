// How users share what is limited: one user alone gets three quarters, and the last quarter is there for users who have little.

/** What an owner with little may use, and nobody else: a part of the whole. */
export const RESERVED_FRACTION = 0.25
/** How much is little: a part of the whole. */
const SMALL_FRACTION = 0.125

/** Whether there is room for `more` of an owner who holds `held`, where all owners together hold `total` of at most `limit`. */
export function isWithinFairShare(limit: number, total: number, held: number, more: number): boolean {
  const isSmall = held + more <= limit * SMALL_FRACTION
  return total + more <= limit * (isSmall ? 1 : 1 - RESERVED_FRACTION)
}

/** What owners hold of a limit that they share. */
export class FairShareLimit {
  readonly limit: number
  /** By owner; nobody has 0. */
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** How much an owner holds. */
  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0
  }

  /** Whether there is room for `more` of an owner. */
  hasRoom(owner: string, more: number): boolean {
    return isWithinFairShare(this.limit, this.#total, this.heldBy(owner), more)
  }

  /** Counts `more` for an owner, or less, whether there is room or not. */
  add(owner: string, more: number): void {
    const held = this.heldBy(owner) + more
    if (held === 0) this.#held.delete(owner)
    else this.#held.set(owner, held)
    this.#total += more
  }
}
