// How users share what is limited: one user alone gets three quarters, and the last quarter is there for users who have little.

/** What an owner with little may use, and nobody else: a part of the whole. */
export const RESERVE = 0.25
/** How much is little: a part of the whole. */
const SMALL = 0.125

/** Whether there is room for `more` of an owner who holds `held`, where all owners together hold `total` of at most `limit`. */
export function hasRoom(limit: number, total: number, held: number, more: number): boolean {
  const isSmall = held + more <= limit * SMALL
  return total + more <= limit * (isSmall ? 1 : 1 - RESERVE)
}
