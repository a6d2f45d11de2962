// How deep values nest and how large they are. What a run gives has to be stored and sent, and both have an end to what they
// take. One look at a value tells both; what was found of a container is remembered, for nobody changes a value that was given.

import type { Steps } from '../../../shared/time-slices.ts'
import { MAX_OBJECT_KEYS } from '../../../shared/value-limits.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../../shared/value-size.ts'

/** How many lists and dicts may lie inside each other; as many as a frame may bring. */
export const MAX_VALUE_DEPTH = 64

/** So many containers inside each other are looked into: a value that is as deep as it may be lies in records, such as that of the outputs of a node. */
const MAX_MEASURED_DEPTH = MAX_VALUE_DEPTH + 8

/** In characters, about: what a value may be as text, where everything that is shared is written out. */
export const MAX_VALUE_SIZE = 256_000_000

/** A container with more inside of it is looked into only once. */
const MAX_UNCACHED_VALUES = 64

/** What a number, a boolean, null, or the brackets of a container count, and bytes besides what they are: there may be millions without any. */
const PLAIN_SIZE = 8

/** What a text in a container counts besides its characters: its quotes. Otherwise millions of empty ones would be nothing. */
const QUOTES_SIZE = 2

// Bytes of memory, measured: what the engine takes for each besides what is inside. An empty object has room for four members.
const SLOT = 8
const LIST = 32
const ELEMENTS = 16
const EMPTY_OBJECT = 56
const OBJECT = 24
/** An object with more keys than a few has the rest of its members beside it, and with very many it is a table that holds its keys. */
const FEW_KEYS = 4
const MEMBERS = 16
const MANY_KEYS = 1_000
const TABLE_ENTRY = 64
const TEXT = 24
const BYTES = 128
/** For each character: some take one byte, others two. */
const CHARACTER = 2
/** A number that is no small integer, where it is not in a list of numbers alone. */
const FRACTION = 16

export interface ValueMeasure {
  readonly depth: number
  readonly size: number
  /** About how many bytes of memory it takes; what is shared counts each time. */
  readonly memory: number
}

const TOO_DEEP_TO_TELL: ValueMeasure = { depth: Number.POSITIVE_INFINITY, size: Number.POSITIVE_INFINITY, memory: 0 }

/** Of what has a dict with too many keys in it. It counts as too large, and is no deeper than anything may be. */
const TOO_MANY_KEYS: ValueMeasure = { depth: 0, size: Number.POSITIVE_INFINITY, memory: 0 }

const measureByContainer = new WeakMap<object, ValueMeasure>()
let valuesMeasured = 0

function estimatePlainSize(value: unknown): number {
  return typeof value === 'string' ? value.length : PLAIN_SIZE
}

/** Besides the place in the container that it is in. */
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
  // Otherwise all objects with the same keys have them together.
  return keys <= MANY_KEYS ? members : members + TABLE_ENTRY * keys + key_characters
}

/** What is inside of a container: how deep, and how large. Not a closure for each child: it is on the way of every value. */
function measureInside(container: object, left: number): ValueMeasure {
  let depth = 0
  let size = PLAIN_SIZE
  let memory = 0
  /** Numbers that take no memory of their own where there is nothing else. */
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

/** The depth is Infinity as soon as it shows to be more than `left`. */
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

/** Makes a value, and measures it in steps, so that nobody has to look into it again. */
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
  for (const { from, to, isSmall: light } of splitIntoSmallRanges(
    keys?.length ?? (value as unknown[]).length,
    (at) => members[keys ? keys[at]! : at],
  )) {
    for (let at = from; at < to; at++) {
      const member = members[keys ? keys[at]! : at]
      if (keys) sum.key(keys[at]!)
      sum.add(light ? measureToDepth(member, deepest - 1) : yield* measureSteps(member, deepest - 1), member)
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

/** About how many characters of the text of a container a value takes in it. */
export function estimateSizeInside(value: unknown): number {
  return typeof value === 'string' ? QUOTES_SIZE + value.length : estimateSize(value)
}

/** How deep a value nests, and about how many characters it has as text. */
export function measureValue(value: unknown): ValueMeasure {
  return measureToDepth(value, MAX_MEASURED_DEPTH)
}

/** As `memoryOf`, in steps: few where it was measured before. */
export function* estimateMemorySteps(container: object): Steps<number> {
  return (yield* measureSteps(container, MAX_MEASURED_DEPTH)).memory
}

/** Adds up the measures of what is inside of one container, for whoever puts it together in pieces. */
export class MeasureSum {
  #depth = 0
  #size = PLAIN_SIZE
  #memory = 0
  #members = 0
  #numbers = 0
  #fractions = 0
  #keys = 0
  #key_characters = 0

  /** The measure is that of the member. */
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

  /** Remembers the sum as the measure of the container, so that it need not be looked into. */
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

/** Whether a value nests deeper than any may. Costs nothing for what is neither list nor dict. */
export function isNestedTooDeep(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return measureContainer(value, MAX_MEASURED_DEPTH).depth > MAX_VALUE_DEPTH
}

/** About how many characters a value has as text; what is shared counts each time. */
export function estimateSize(value: unknown): number {
  if (typeof value !== 'object' || value === null) return estimatePlainSize(value)
  return measureContainer(value, MAX_MEASURED_DEPTH).size
}

/** Whether there are bytes in a list or dict. */
export function containsBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return Object.values(value).some((member) => ArrayBuffer.isView(member) || containsBytes(member))
}

/** About how many bytes of memory a list or dict takes; what is shared counts each time. */
export function estimateMemory(container: object): number {
  return measureContainer(container, MAX_MEASURED_DEPTH).memory
}

export type ValueExcess = 'too_deep' | 'too_large' | 'too_many_keys'

/** What is wrong with a value that nests too deep, holds a dict with too many keys, or is larger than it may be; null where nothing is. Looks at it once. */
export function findExcess(value: unknown, largest: number): ValueExcess | null {
  if (typeof value !== 'object' || value === null) return estimatePlainSize(value) > largest ? 'too_large' : null
  const { depth, size } = measureContainer(value, MAX_MEASURED_DEPTH)
  if (depth > MAX_VALUE_DEPTH) return 'too_deep'
  if (size === Number.POSITIVE_INFINITY) return 'too_many_keys'
  return size > largest ? 'too_large' : null
}

/** What to say of what nests too deep. */
export const TOO_DEEP_TEXT = `nested more than ${MAX_VALUE_DEPTH} deep`

/** What to say of what has a dict with too many keys in it. Written when it is needed: the first number of a language takes long to write. */
export const describeTooManyKeys = () => `a dict with more than ${MAX_OBJECT_KEYS.toLocaleString('en')} keys`

/** Whether a value's JSON is sure to have more characters than that. Looks at no more of it than so many values, however large it is. */
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
      // Its brackets, and one comma less than there are children.
      length += 1 + Math.max(1, children.length)
      if (length <= most) for (const child of children) left.push(child)
    }
    if (length > most) return true
  }
  return false
}
