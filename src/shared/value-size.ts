// Tells small values, on which work is done at once, from large ones, and splits the members of large values into small parts.

/** The maximum weight of a part, in values. A text or a name counts one more for each `CHARACTERS` characters. */
const RANGE_BUDGET = 4_096
const CHARACTERS = 64

/** Deeper values count as large, so that counting needs little of the stack. */
const DEEPEST_SMALL = 256

/** The rest of `budget` after counting every value in `value`; negative once it is used up, or if the value is too deep. */
function remainingBudget(value: unknown, budget: number, depth = 0): number {
  budget--
  if (typeof value === 'string') return budget - Math.floor(value.length / CHARACTERS)
  if (typeof value !== 'object' || value === null) return budget
  if (value instanceof Uint8Array) return budget - value.length
  if (depth === DEEPEST_SMALL) return -1
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && budget >= 0; at++) budget = remainingBudget(value[at], budget, depth + 1)
    return budget
  }
  for (const key in value) {
    const left = budget - Math.floor(key.length / CHARACTERS)
    budget = remainingBudget((value as Record<string, unknown>)[key], left, depth + 1)
    if (budget < 0) break
  }
  return budget
}

/** Containers that are known to be large: even starting to list very many keys is slow each time. */
const largeContainers = new WeakSet<object>()

/** Whether a value is too small to be worth splitting. */
export function isSmallValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return remainingBudget(value, RANGE_BUDGET) >= 0
  if (largeContainers.has(value)) return false
  if (remainingBudget(value, RANGE_BUDGET) >= 0) return true
  largeContainers.add(value)
  return false
}

function isKnownLarge(value: unknown): boolean {
  return typeof value === 'object' && value !== null && largeContainers.has(value)
}

/** A range of small members, or one large member. */
export interface MemberRange {
  readonly from: number
  readonly to: number
  readonly isSmall: boolean
}

/** The members of a large container in ranges: each is small, or is a single large member. `member` returns the member at an index. */
export function* splitIntoSmallRanges(
  count: number,
  member: (at: number) => unknown,
): Generator<MemberRange, void, undefined> {
  for (let at = 0; at < count; ) {
    const from = at
    let budget = RANGE_BUDGET
    for (; at < count; at++) {
      const one = member(at)
      budget = isKnownLarge(one) ? -1 : remainingBudget(one, budget)
      if (budget < 0) break
    }
    const isLightPart = at > from
    if (!isLightPart) at++
    yield { from, to: at, isSmall: isLightPart }
  }
}
