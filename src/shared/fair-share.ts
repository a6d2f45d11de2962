// How users share a limited resource: one user alone gets three quarters, and the last quarter is for users who hold little.

/** The part of the whole that is reserved for owners who hold little. */
export const RESERVED_FRACTION = 0.25
/** An owner holds little up to this part of the whole. */
const SMALL_FRACTION = 0.125

/** Whether an owner who holds `held` may take `more`, while all owners together hold `total` of at most `limit`. */
export function isWithinFairShare(limit: number, total: number, held: number, more: number): boolean {
  const isSmall = held + more <= limit * SMALL_FRACTION
  return total + more <= limit * (isSmall ? 1 : 1 - RESERVED_FRACTION)
}

/** What owners hold of a shared limit. */
export class FairShareLimit {
  readonly limit: number
  /** By owner, without owners who hold 0. */
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(limit: number) {
    this.limit = limit
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0
  }

  /** Whether an owner may take `more`. */
  hasRoom(owner: string, more: number): boolean {
    return isWithinFairShare(this.limit, this.#total, this.heldBy(owner), more)
  }

  /** Adds `more`, which may be negative, to what an owner holds, also beyond the limit. */
  add(owner: string, more: number): void {
    const held = this.heldBy(owner) + more
    if (held === 0) this.#held.delete(owner)
    else this.#held.set(owner, held)
    this.#total += more
  }
}
