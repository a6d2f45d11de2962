// Estimates the memory of values without the contents of containers, as measured in the engine.

// Bytes of memory per object. An empty object has room for four members.
const SLOT = 8
const LIST = 32
const ELEMENTS = 16
const EMPTY_OBJECT = 56
const OBJECT = 24
/** An object with more keys stores further members separately; with very many keys it becomes a table that holds its keys. */
const FEW_KEYS = 4
const MEMBERS = 16
const MANY_KEYS = 1_000
const TABLE_ENTRY = 64
const TEXT = 24
export const BYTES_MEMORY = 128
/** Per character: one or two bytes, depending on the text. */
const CHARACTER = 2
/** A number other than a small integer, unless it lies in a list of numbers only. */
export const FRACTION_MEMORY = 16

/** Without its slot in the container. */
export function estimatePlainMemory(value: unknown): number {
  if (typeof value === 'string') return TEXT + CHARACTER * value.length
  return typeof value === 'number' && (value | 0) !== value ? FRACTION_MEMORY : 0
}

export function estimateListMemory(length: number): number {
  return length === 0 ? LIST : LIST + ELEMENTS + SLOT * length
}

export function estimateObjectMemory(keys: number, key_characters: number): number {
  if (keys === 0) return EMPTY_OBJECT
  if (keys <= FEW_KEYS) return OBJECT + SLOT * keys
  const members = OBJECT + MEMBERS + SLOT * keys
  // With fewer keys, all objects with the same keys share them.
  return keys <= MANY_KEYS ? members : members + TABLE_ENTRY * keys + key_characters
}
