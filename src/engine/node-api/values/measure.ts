// Measures how deep values nest and how large they are, as storing and sending values have limits. One pass finds both and caches them per
// container, because values are never changed once they were passed on.

import type { Steps } from '../../../shared/time-slices.ts'
import { MAX_OBJECT_KEYS } from '../../../shared/value-limits.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../../shared/value-size.ts'

/** The limit of lists and dicts inside each other; frames have the same limit. */
export const MAX_VALUE_DEPTH = 64

/** The depth to which containers are measured: values of the greatest depth also lie in records, such as a node's outputs. */
const MAX_MEASURED_DEPTH = MAX_VALUE_DEPTH + 8

/** The size limit of a value as text, in approximate characters. Shared parts count each time. */
export const MAX_VALUE_SIZE = 256_000_000

/** Containers with more values inside are measured only once. */
const MAX_UNCACHED_VALUES = 64

/**
 * The size of a number, a boolean, null, the brackets of a container, and the overhead of bytes. It keeps millions of such values from
 * counting as nothing.
 */
const PLAIN_SIZE = 8

/** The size of a text's quotes in a container. Without it, millions of empty texts would count as nothing. */
const QUOTES_SIZE = 2

// Bytes of memory per object, as measured in the engine, without its contents. An empty object has room for four members.
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
const BYTES = 128
/** Per character: one or two bytes, depending on the text. */
const CHARACTER = 2
/** A number other than a small integer, unless it lies in a list of numbers only. */
const FRACTION = 16

export interface ValueMeasure {
  readonly depth: number
  readonly size: number
  /** Approximate bytes of memory; shared parts count each time. */
  readonly memory: number
}

const TOO_DEEP_TO_TELL: ValueMeasure = { depth: Number.POSITIVE_INFINITY, size: Number.POSITIVE_INFINITY, memory: 0 }

/** The measure of a value that contains a dict with too many keys. It counts as too large, but not as too deep. */
const TOO_MANY_KEYS: ValueMeasure = { depth: 0, size: Number.POSITIVE_INFINITY, memory: 0 }

const measureByContainer = new WeakMap<object, ValueMeasure>()
let valuesMeasured = 0

function estimatePlainSize(value: unknown): number {
  return typeof value === 'string' ? value.length : PLAIN_SIZE
}

/** Without its slot in the container. */
function estimatePlainMemory(value: unknown): number {
  if (typeof value === 'string') return TEXT + CHARACTER * value.length
  return typeof value === 'number' && (value | 0) !== value ? FRACTION : 0
}

function estimateListMemory(length: number): number {
  return length === 0 ? LIST : LIST + ELEMENTS + SLOT * length
}

function estimateObjectMemory(keys: number, key_characters: number): number {
  if (keys === 0) return EMPTY_OBJECT
  if (keys <= FEW_KEYS) return OBJECT + SLOT * keys
  const members = OBJECT + MEMBERS + SLOT * keys
  // With fewer keys, all objects with the same keys share them.
  return keys <= MANY_KEYS ? members : members + TABLE_ENTRY * keys + key_characters
}

/** Measures the contents of a container. It uses no closure per child, as every value passes through here. */
function measureInside(container: object, left: number): ValueMeasure {
  let depth = 0
  let size = PLAIN_SIZE
  let memory = 0
  /** Numbers need no memory of their own if a list holds only numbers. */
  let numbers = 0
  let fractions = 0
  const children = Array.isArray(container) ? container : Object.values(container)
  if (children !== container && children.length > MAX_OBJECT_KEYS) return TOO_MANY_KEYS
  for (const child of children) {
    if (typeof child === 'object' && child !== null) {
      const inner = measureContainer(child, left)
      if (inner.depth > depth) depth = inner.depth
      size += inner.size
      memory += inner.memory
    } else {
      valuesMeasured++
      if (typeof child === 'number') {
        size += PLAIN_SIZE
        numbers++
        if ((child | 0) !== child) fractions++
      } else {
        size += typeof child === 'string' ? QUOTES_SIZE + child.length : PLAIN_SIZE
        memory += estimatePlainMemory(child)
      }
    }
  }
  if (children === container) {
    if (numbers < children.length) memory += FRACTION * fractions
    return { depth, size, memory: memory + estimateListMemory(children.length) }
  }
  const before = size
  for (const key in container) size += key.length
  return { depth, size, memory: memory + FRACTION * fractions + estimateObjectMemory(children.length, size - before) }
}

/** The depth is Infinity as soon as it exceeds `left`. */
function measureContainer(container: object, left: number): ValueMeasure {
  if (ArrayBuffer.isView(container))
    return { depth: 0, size: PLAIN_SIZE + container.byteLength, memory: BYTES + container.byteLength }
  if (left === 0) return TOO_DEEP_TO_TELL
  valuesMeasured++
  const found = measureByContainer.get(container)
  if (found !== undefined) return found
  const before = valuesMeasured
  const { depth, size, memory } = measureInside(container, left - 1)
  const measure = { depth: depth + 1, size, memory }
  if (valuesMeasured - before > MAX_UNCACHED_VALUES && depth < Number.POSITIVE_INFINITY)
    measureByContainer.set(container, measure)
  return measure
}

/** Makes a value and measures it in steps, so that later measuring is fast. */
export function* makeMeasuredSteps<T>(steps: Steps<T>): Steps<T> {
  const value = yield* steps
  yield* measureSteps(value, MAX_MEASURED_DEPTH)
  return value
}

function* measureSteps(value: unknown, deepest: number): Steps<ValueMeasure> {
  if (
    typeof value !== 'object' ||
    value === null ||
    deepest === 0 ||
    ArrayBuffer.isView(value) ||
    isSmallValue(value)
  ) {
    const measure = measureToDepth(value, deepest)
    yield
    return measure
  }
  const found = measureByContainer.get(value)
  if (found !== undefined) return found
  const members = value as Readonly<Record<string | number, unknown>>
  const keys = Array.isArray(value) ? null : Object.keys(value)
  const sum = new MeasureSum()
  yield
  for (const { from, to, isSmall } of splitIntoSmallRanges(
    keys?.length ?? (value as unknown[]).length,
    (at) => members[keys ? keys[at]! : at],
  )) {
    for (let at = from; at < to; at++) {
      const member = members[keys ? keys[at]! : at]
      if (keys) sum.key(keys[at]!)
      sum.add(isSmall ? measureToDepth(member, deepest - 1) : yield* measureSteps(member, deepest - 1), member)
    }
    yield
  }
  return sum.close(value)
}

function measureToDepth(value: unknown, deepest: number): ValueMeasure {
  if (typeof value !== 'object' || value === null)
    return { depth: 0, size: estimatePlainSize(value), memory: estimatePlainMemory(value) }
  return measureContainer(value, deepest)
}

/** The approximate number of characters that a value adds to the text of its container. */
export function estimateSizeInside(value: unknown): number {
  return typeof value === 'string' ? QUOTES_SIZE + value.length : estimateSize(value)
}

/** The depth of a value and its approximate number of characters as text. */
export function measureValue(value: unknown): ValueMeasure {
  return measureToDepth(value, MAX_MEASURED_DEPTH)
}

/** `estimateMemory` in steps: few steps if the value was measured before. */
export function* estimateMemorySteps(container: object): Steps<number> {
  return (yield* measureSteps(container, MAX_MEASURED_DEPTH)).memory
}

/** Sums the measures of a container's members, for code that assembles the container in pieces. */
export class MeasureSum {
  #depth = 0
  #size = PLAIN_SIZE
  #memory = 0
  #members = 0
  #numbers = 0
  #fractions = 0
  #keys = 0
  #key_characters = 0

  /** The measure is that of `member`. */
  add({ depth, size, memory }: ValueMeasure, member: unknown): void {
    if (depth > this.#depth) this.#depth = depth
    this.#size += typeof member === 'string' ? QUOTES_SIZE + size : size
    this.#members++
    if (typeof member !== 'number') this.#memory += memory
    else {
      this.#numbers++
      if (memory > 0) this.#fractions++
    }
  }

  key(key: string): void {
    this.#size += key.length
    this.#key_characters += key.length
    if (++this.#keys > MAX_OBJECT_KEYS) this.#size = Number.POSITIVE_INFINITY
  }

  /** Caches the sum as the measure of the container. */
  close(container: object): ValueMeasure {
    const measure = { depth: this.#depth + 1, size: this.#size, memory: this.#memoryOf(container) }
    if (measure.depth < Number.POSITIVE_INFINITY) measureByContainer.set(container, measure)
    return measure
  }

  #memoryOf(container: object): number {
    const isNumbers = Array.isArray(container) && this.#numbers === this.#members
    const inside = this.#memory + (isNumbers ? 0 : FRACTION * this.#fractions)
    const own = Array.isArray(container)
      ? estimateListMemory(this.#members)
      : estimateObjectMemory(this.#keys, this.#key_characters)
    return inside + own
  }
}

/** Whether a value nests too deep. Costs nothing for plain values. */
export function isNestedTooDeep(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return measureContainer(value, MAX_MEASURED_DEPTH).depth > MAX_VALUE_DEPTH
}

/** The approximate number of characters of a value as text; shared parts count each time. */
export function estimateSize(value: unknown): number {
  if (typeof value !== 'object' || value === null) return estimatePlainSize(value)
  return measureContainer(value, MAX_MEASURED_DEPTH).size
}

/** Whether a list or dict contains bytes. */
export function containsBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return Object.values(value).some((member) => ArrayBuffer.isView(member) || containsBytes(member))
}

/** The approximate memory of a list or dict in bytes; shared parts count each time. */
export function estimateMemory(container: object): number {
  return measureContainer(container, MAX_MEASURED_DEPTH).memory
}

export type ValueExcess = 'too_deep' | 'too_large' | 'too_many_keys'

/** The excess of a value that is too deep, too large, or contains a dict with too many keys; else null. Measures the value once. */
export function findExcess(value: unknown, largest: number): ValueExcess | null {
  if (typeof value !== 'object' || value === null) return estimatePlainSize(value) > largest ? 'too_large' : null
  const { depth, size } = measureContainer(value, MAX_MEASURED_DEPTH)
  if (depth > MAX_VALUE_DEPTH) return 'too_deep'
  if (size === Number.POSITIVE_INFINITY) return 'too_many_keys'
  return size > largest ? 'too_large' : null
}

/** Describes a value that nests too deep. */
export const TOO_DEEP_TEXT = `nested more than ${MAX_VALUE_DEPTH} deep`

/** Describes a dict with too many keys. A function, as the first number formatted in a locale takes long. */
export const describeTooManyKeys = () => `a dict with more than ${MAX_OBJECT_KEYS.toLocaleString('en')} keys`

/** Whether a value's JSON surely has more than `most` characters. Visits no more than so many values, however large the value is. */
export function isLongerAsJson(value: unknown, most: number): boolean {
  const left = [value]
  for (let length = 0; left.length > 0; ) {
    const one = left.pop()
    if (typeof one === 'string') length += one.length + 2
    else if (typeof one !== 'object' || one === null) length += 1
    else if (ArrayBuffer.isView(one)) length += one.byteLength
    else {
      const children = Array.isArray(one) ? one : Object.values(one)
      if (children !== one) for (const key in one) length += key.length + 3
      // The brackets, and one comma less than there are children.
      length += 1 + Math.max(1, children.length)
      if (length <= most) for (const child of children) left.push(child)
    }
    if (length > most) return true
  }
  return false
}
