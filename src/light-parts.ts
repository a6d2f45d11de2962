// Which values are so small that work on them is done at once, and the members of large ones in parts that are.

/** What a part weighs at most, in values; a text, or a name, counts one more for each of so many characters. */
const PART = 4_096
const CHARACTERS = 64

/** What is left of `budget` when every value in `value` has been counted; negative as soon as there is nothing left. */
function left(value: unknown, budget: number): number {
  budget--
  if (typeof value === 'string') return budget - Math.floor(value.length / CHARACTERS)
  if (typeof value !== 'object' || value === null) return budget
  if (value instanceof Uint8Array) return budget - value.length
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && budget >= 0; at++) budget = left(value[at], budget)
    return budget
  }
  for (const key in value) {
    budget = left((value as Record<string, unknown>)[key], budget - Math.floor(key.length / CHARACTERS))
    if (budget < 0) break
  }
  return budget
}

/** Containers that were found to be heavy: to begin with the keys of one that has very many takes long each time. */
const heavy = new WeakSet<object>()

/** Whether a value is so small that it is not worth taking apart. */
export function isLight(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return left(value, PART) >= 0
  if (heavy.has(value)) return false
  if (left(value, PART) >= 0) return true
  heavy.add(value)
  return false
}

function isKnownHeavy(value: unknown): boolean {
  return typeof value === 'object' && value !== null && heavy.has(value)
}

/** Members that are looked at together because they are light, or one that is not. */
export interface Part {
  readonly from: number
  readonly to: number
  readonly light: boolean
}

/** The members of a large container in parts, each light, or one member that is heavy. `member` gives the one at a place. */
export function* lightParts(count: number, member: (at: number) => unknown): Generator<Part, void, undefined> {
  for (let at = 0; at < count; ) {
    const from = at
    let budget = PART
    for (; at < count; at++) {
      const one = member(at)
      budget = isKnownHeavy(one) ? -1 : left(one, budget)
      if (budget < 0) break
    }
    const isLightPart = at > from
    if (!isLightPart) at++
    yield { from, to: at, light: isLightPart }
  }
}
