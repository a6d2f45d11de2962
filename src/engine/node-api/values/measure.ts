// Measures how deep values nest and how large they are, as storing and sending values have limits. One pass finds both and caches them per
// container, because values are never changed once they were passed on.

import type { Steps } from '../../../shared/time-slices.ts'
import { MAX_OBJECT_KEYS } from '../../../shared/value-limits.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../../shared/value-size.ts'
import {
  BYTES_MEMORY,
  estimateListMemory,
  estimateObjectMemory,
  estimatePlainMemory,
  FRACTION_MEMORY,
} from './object-memory.ts'

/** The limit of lists and dicts inside each other; frames have the same limit. */
export const MAX_VALUE_DEPTH = 64

/** The depth to which containers are measured: values of the greatest depth also lie in records, such as a node's outputs. */
const MAX_MEASURED_DEPTH = MAX_VALUE_DEPTH + 8

/** Containers with more values inside are measured only once. */
const MAX_UNCACHED_VALUES = 64

/**
 * The size of a number, a boolean, null, the brackets of a container, and the overhead of bytes. It keeps millions of such values from
 * counting as nothing.
 */
const PLAIN_SIZE = 8

/** The size of a text's quotes in a container. Without it, millions of empty texts would count as nothing. */
const QUOTES_SIZE = 2

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
    if (numbers < children.length) memory += FRACTION_MEMORY * fractions
    return { depth, size, memory: memory + estimateListMemory(children.length) }
  }
  const before = size
  for (const key in container) size += key.length
  return {
    depth,
    size,
    memory: memory + FRACTION_MEMORY * fractions + estimateObjectMemory(children.length, size - before),
  }
}

/** The depth is Infinity as soon as it exceeds `left`. */
function measureContainer(container: object, left: number): ValueMeasure {
  if (ArrayBuffer.isView(container))
    return { depth: 0, size: PLAIN_SIZE + container.byteLength, memory: BYTES_MEMORY + container.byteLength }
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
    const inside = this.#memory + (isNumbers ? 0 : FRACTION_MEMORY * this.#fractions)
    const own = Array.isArray(container)
      ? estimateListMemory(this.#members)
      : estimateObjectMemory(this.#keys, this.#key_characters)
    return inside + own
  }
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
