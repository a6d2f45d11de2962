// How deep values nest and how large they are. What a run gives has to be stored and sent, and both have an end to what they
// take. One look at a value tells both; what was found of a container is remembered, for nobody changes a value that was given.

import { isLight, lightParts } from '../light-parts.ts'
import { MOST_KEYS } from '../most-keys.ts'
import type { Steps } from '../time-slices.ts'

/** How many lists and dicts may lie inside each other; as many as a frame may bring. */
export const DEEPEST_VALUE = 64

/** In characters, about: what a value may be as text, where everything that is shared is written out. */
export const LARGEST_VALUE = 256_000_000

/** A container with more inside of it is looked into only once. */
const SMALL = 8

/** What a number, a boolean, null, or the brackets of a container count. */
const PLAIN = 8

export interface Measure {
  readonly depth: number
  readonly size: number
}

const TOO_DEEP_TO_TELL: Measure = { depth: Number.POSITIVE_INFINITY, size: Number.POSITIVE_INFINITY }

/** Of what has a dict with too many keys in it. It counts as too large, and is no deeper than anything may be. */
const TOO_MANY_KEYS: Measure = { depth: 0, size: Number.POSITIVE_INFINITY }

const known = new WeakMap<object, Measure>()
let looked = 0

function sizeOfPlain(value: unknown): number {
  return typeof value === 'string' ? value.length : PLAIN
}

/** What is inside of a container: how deep, and how large. Not a closure for each child: it is on the way of every value. */
function insideOf(container: object, left: number): Measure {
  let depth = 0
  let size = PLAIN
  const children = Array.isArray(container) ? container : Object.values(container)
  if (children !== container && children.length > MOST_KEYS) return TOO_MANY_KEYS
  for (const child of children) {
    if (typeof child === 'object' && child !== null) {
      const inner = measureOf(child, left)
      if (inner.depth > depth) depth = inner.depth
      size += inner.size
    } else {
      looked++
      size += sizeOfPlain(child)
    }
  }
  if (children !== container) for (const key in container) size += key.length
  return { depth, size }
}

/** The depth is Infinity as soon as it shows to be more than `left`. */
function measureOf(container: object, left: number): Measure {
  if (ArrayBuffer.isView(container)) return { depth: 0, size: container.byteLength }
  if (left === 0) return TOO_DEEP_TO_TELL
  looked++
  const found = known.get(container)
  if (found !== undefined) return found
  const before = looked
  const { depth, size } = insideOf(container, left - 1)
  const measure = { depth: depth + 1, size }
  if (looked - before > SMALL && depth < Number.POSITIVE_INFINITY) known.set(container, measure)
  return measure
}

/** Makes a value, and measures it in steps, so that nobody has to look into it again. */
export function* measuredSteps<T>(steps: Steps<T>): Steps<T> {
  const value = yield* steps
  yield* measureWithin(value, DEEPEST_VALUE)
  return value
}

function* measureWithin(value: unknown, deepest: number): Steps<Measure> {
  if (typeof value !== 'object' || value === null || deepest === 0 || ArrayBuffer.isView(value) || isLight(value)) {
    const measure = measuredWithin(value, deepest)
    yield
    return measure
  }
  const found = known.get(value)
  if (found !== undefined) return found
  const members = value as Readonly<Record<string | number, unknown>>
  const keys = Array.isArray(value) ? null : Object.keys(value)
  const sum = new MeasureSum()
  yield
  for (const { from, to, light } of lightParts(
    keys?.length ?? (value as unknown[]).length,
    (at) => members[keys ? keys[at]! : at],
  )) {
    for (let at = from; at < to; at++) {
      const member = members[keys ? keys[at]! : at]
      if (keys) sum.key(keys[at]!)
      sum.add(light ? measuredWithin(member, deepest - 1) : yield* measureWithin(member, deepest - 1))
    }
    yield
  }
  return sum.close(value)
}

function measuredWithin(value: unknown, deepest: number): Measure {
  if (typeof value !== 'object' || value === null) return { depth: 0, size: sizeOfPlain(value) }
  return measureOf(value, deepest)
}

/** How deep a value nests, and about how many characters it has as text. */
export function measured(value: unknown): Measure {
  return measuredWithin(value, DEEPEST_VALUE)
}

/** Adds up the measures of what is inside of one container, for whoever puts it together in pieces. */
export class MeasureSum {
  #depth = 0
  #size = PLAIN
  #keys = 0

  add({ depth, size }: Measure): void {
    if (depth > this.#depth) this.#depth = depth
    this.#size += size
  }

  key(key: string): void {
    this.#size += key.length
    if (++this.#keys > MOST_KEYS) this.#size = Number.POSITIVE_INFINITY
  }

  /** Remembers the sum as the measure of the container, so that it need not be looked into. */
  close(container: object): Measure {
    const measure = { depth: this.#depth + 1, size: this.#size }
    if (measure.depth < Number.POSITIVE_INFINITY) known.set(container, measure)
    return measure
  }
}

/** Whether a value nests deeper than any may. Costs nothing for what is neither list nor dict. */
export function isTooDeep(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return measureOf(value, DEEPEST_VALUE).depth > DEEPEST_VALUE
}

/** About how many characters a value has as text; what is shared counts each time. */
export function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return sizeOfPlain(value)
  return measureOf(value, DEEPEST_VALUE).size
}

export type Excess = 'too_deep' | 'too_large' | 'too_many_keys'

/** What is wrong with a value that nests too deep, holds a dict with too many keys, or is larger than it may be; null where nothing is. Looks at it once. */
export function excessOf(value: unknown, largest: number): Excess | null {
  if (typeof value !== 'object' || value === null) return sizeOfPlain(value) > largest ? 'too_large' : null
  const { depth, size } = measureOf(value, DEEPEST_VALUE)
  if (depth > DEEPEST_VALUE) return 'too_deep'
  if (size === Number.POSITIVE_INFINITY) return 'too_many_keys'
  return size > largest ? 'too_large' : null
}

/** What to say of what nests too deep. */
export const TOO_DEEP = `nested more than ${DEEPEST_VALUE} deep`

/** What to say of what has a dict with too many keys in it. Written when it is needed: the first number of a language takes long to write. */
export const tooManyKeys = () => `a dict with more than ${MOST_KEYS.toLocaleString('en')} keys`

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
