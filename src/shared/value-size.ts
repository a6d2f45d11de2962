// Which values are so small that work on them is done at once, and the members of large ones in parts that are.

/** What a part weighs at most, in values; a text, or a name, counts one more for each of so many characters. */
const RANGE_BUDGET = 4_096
const CHARACTERS = 64

/** What is left of `budget` when every value in `value` has been counted; negative as soon as there is nothing left. */
function remainingBudget(value: unknown, budget: number): number {
  budget--
  if (typeof value === 'string') return budget - Math.floor(value.length / CHARACTERS)
  if (typeof value !== 'object' || value === null) return budget
  if (value instanceof Uint8Array) return budget - value.length
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && budget >= 0; at++) budget = remainingBudget(value[at], budget)
    return budget
  }
  for (const key in value) {
    budget = remainingBudget((value as Record<string, unknown>)[key], budget - Math.floor(key.length / CHARACTERS))
    if (budget < 0) break
  }
  return budget
}

/** Containers that were found to be heavy: to begin with the keys of one that has very many takes long each time. */
const largeContainers = new WeakSet<object>()

/** Whether a value is so small that it is not worth taking apart. */
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

/** Members that are looked at together because they are light, or one that is not. */
export interface MemberRange {
  readonly from: number
  readonly to: number
  readonly isSmall: boolean
}

/** The members of a large container in parts, each light, or one member that is heavy. `member` gives the one at a place. */
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
