// The limits of values: how deep they may nest and how large they may be, and whether a value exceeds them.
import { MAX_OBJECT_KEYS } from '../../../shared/value-limits.ts'
import { estimateSize, MAX_VALUE_DEPTH, measureValue } from './measure.ts'

/** The size limit of a value as text, in approximate characters. Shared parts count each time. */
export const MAX_VALUE_SIZE = 256_000_000

/** Whether a value nests too deep. Costs nothing for plain values. */
export function isNestedTooDeep(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return measureValue(value).depth > MAX_VALUE_DEPTH
}

export type ValueExcess = 'too_deep' | 'too_large' | 'too_many_keys'

/** The excess of a value that is too deep, too large, or contains a dict with too many keys; else null. Measures the value once. */
export function findExcess(value: unknown, largest: number): ValueExcess | null {
  if (typeof value !== 'object' || value === null) return estimateSize(value) > largest ? 'too_large' : null
  const { depth, size } = measureValue(value)
  if (depth > MAX_VALUE_DEPTH) return 'too_deep'
  if (size === Number.POSITIVE_INFINITY) return 'too_many_keys'
  return size > largest ? 'too_large' : null
}

/** Describes a value that nests too deep. */
export const TOO_DEEP_TEXT = `nested more than ${MAX_VALUE_DEPTH} deep`

/** Describes a dict with too many keys. A function, as the first number formatted in a locale takes long. */
export const describeTooManyKeys = () => `a dict with more than ${MAX_OBJECT_KEYS.toLocaleString('en')} keys`
