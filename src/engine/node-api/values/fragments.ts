// Splits large values into pieces that are cloned one by one, and reassembles them. References shared inside a value stay shared, except
// small parts, which may be copied once per piece.

import { setOwnProperty } from '../../../shared/own-property.ts'
import { estimateSize, estimateSizeInside, MeasureSum, measureValue, type ValueMeasure } from './measure.ts'

/** The size of a piece, in the units of measure.ts: cloning it takes a millisecond or two. */
export const FRAGMENT_SIZE = 50_000

/**
 * An instruction for assembling a value. `value` is a whole value; `ref` is the number of an earlier container. `list` or `dict`, their
 * contents, and `end` form a container: `items` and `entries` hold many values, `key` names the next value of a dict.
 */
export type AssemblyOp =
  | readonly ['value', unknown]
  | readonly ['ref', number]
  | readonly ['list' | 'dict' | 'end']
  | readonly ['items', readonly unknown[]]
  | readonly ['entries', readonly (readonly [string, unknown])[]]
  | readonly ['key', string]
export type ValueFragment = readonly AssemblyOp[]

interface SizedOp {
  readonly op: AssemblyOp
  readonly size: number
}

const OP_SIZE = 16

function needsSplitting(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return estimateSize(value) > FRAGMENT_SIZE
}

/** The operations for one value. `known` holds the number of each large container already split. */
function* listOps(value: unknown, known: Map<object, number>): Generator<SizedOp, void, void> {
  if (!needsSplitting(value)) return yield { op: ['value', value], size: estimateSize(value) }
  const number = known.get(value)
  if (number !== undefined) return yield { op: ['ref', number], size: OP_SIZE }
  known.set(value, known.size)
  yield { op: [Array.isArray(value) ? 'list' : 'dict'], size: OP_SIZE }
  if (Array.isArray(value)) yield* listItemOps(value, known)
  else yield* listEntryOps(value as Record<string, unknown>, known)
  yield { op: ['end'], size: OP_SIZE }
}

function* listItemOps(list: readonly unknown[], known: Map<object, number>): Generator<SizedOp, void, void> {
  let items: unknown[] = []
  let size = 0
  for (const item of list) {
    const large = needsSplitting(item)
    if (!large) size += estimateSizeInside(items[items.push(item) - 1])
    if (items.length > 0 && (large || size > FRAGMENT_SIZE)) {
      yield { op: ['items', items], size }
      items = []
      size = 0
    }
    if (large) yield* listOps(item, known)
  }
  if (items.length > 0) yield { op: ['items', items], size }
}

function* listEntryOps(dict: Record<string, unknown>, known: Map<object, number>): Generator<SizedOp, void, void> {
  let entries: [string, unknown][] = []
  let size = 0
  for (const key of Object.keys(dict)) {
    const value = dict[key]
    const large = needsSplitting(value)
    if (!large) {
      entries.push([key, value])
      size += key.length + estimateSizeInside(value)
    }
    if (entries.length > 0 && (large || size > FRAGMENT_SIZE)) {
      yield { op: ['entries', entries], size }
      entries = []
      size = 0
    }
    if (!large) continue
    yield { op: ['key', key], size: key.length }
    yield* listOps(value, known)
  }
  if (entries.length > 0) yield { op: ['entries', entries], size }
}

/** The pieces of a value, each small enough to be cloned at once. Texts and bytes are never split. There is at least one piece. */
export function* splitValue(value: unknown): Generator<ValueFragment, void, void> {
  let ops: AssemblyOp[] = []
  let sum = 0
  for (const { op, size } of listOps(value, new Map())) {
    if (ops.length > 0 && sum + size > FRAGMENT_SIZE) {
      yield ops
      ops = []
      sum = 0
    }
    ops.push(op)
    sum += size
  }
  yield ops
}

interface OpenContainer {
  readonly container: unknown[] | Record<string, unknown>
  readonly sum: MeasureSum
  key: string | null
}

/** Assembles a value; its containers are measured on the way. */
export class ValueAssembler {
  readonly #containers: { readonly value: object; measure: ValueMeasure | null }[] = []
  readonly #openContainers: { readonly at: number; readonly frame: OpenContainer }[] = []
  #whole: unknown

  add(ops: ValueFragment): void {
    for (const op of ops) this.#take(op)
  }

  /** The value, after all pieces were added. */
  get value(): unknown {
    return this.#whole
  }

  #take(op: AssemblyOp): void {
    if (op[0] === 'value') this.#put(op[1], measureValue(op[1]))
    else if (op[0] === 'ref') this.#put(this.#containers[op[1]]!.value, this.#containers[op[1]]!.measure!)
    else if (op[0] === 'items') for (const item of op[1]) this.#put(item, measureValue(item))
    else if (op[0] === 'entries') for (const [key, value] of op[1]) this.#putAs(key, value)
    else if (op[0] === 'key') this.#openContainers.at(-1)!.frame.key = op[1]
    else if (op[0] === 'end') this.#end()
    else this.#begin(op[0] === 'list' ? [] : {})
  }

  #begin(container: OpenContainer['container']): void {
    const at = this.#containers.push({ value: container, measure: null }) - 1
    this.#openContainers.push({ at, frame: { container, sum: new MeasureSum(), key: null } })
  }

  #end(): void {
    const { at, frame } = this.#openContainers.pop()!
    const measure = frame.sum.close(frame.container)
    this.#containers[at]!.measure = measure
    this.#put(frame.container, measure)
  }

  #putAs(key: string, value: unknown): void {
    this.#openContainers.at(-1)!.frame.key = key
    this.#put(value, measureValue(value))
  }

  #put(value: unknown, measure: ValueMeasure): void {
    const frame = this.#openContainers.at(-1)?.frame
    if (!frame) {
      this.#whole = value
      return
    }
    frame.sum.add(measure, value)
    if (Array.isArray(frame.container)) {
      frame.container.push(value)
      return
    }
    frame.sum.key(frame.key!)
    setOwnProperty(frame.container, frame.key!, value)
  }
}
