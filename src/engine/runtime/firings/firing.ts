// An entry in a node's reorder buffer: a firing whose result is pending or waits for its turn, or an end mark between firings. Results
// leave the buffer in the order of their paths.

import type { OutputValues } from '../../node-api/firing-forms.ts'
import { estimateWeightAmongMany, type RunMemoryAccount } from '../run/memory-account.ts'
import type { IndexPath } from '../streams/position.ts'
import type { FiringResult } from '../streams/token-sender.ts'
import type { StreamEndToken } from '../streams/tokens.ts'

/** The limit of items fetched ahead of the consumers, per firing. */
const MAX_ITEMS_AHEAD = 64
/** The limit for a stream that cannot be resumed (safely) while its run has to wait. */
const MAX_EAGER_ITEMS_AHEAD = 10_000
/** The limit of the approximate characters of items fetched ahead. */
const MAX_CHARACTERS_AHEAD = 16_000_000

/** The items of a streaming firing that are not sent yet. */
export class ItemSource {
  /** Null for a streamed input, whose items are pushed from outside. */
  readonly iterator: Iterator<unknown> | AsyncIterator<unknown> | null
  /** True for a plain generator, which is advanced only when its items can be sent. */
  readonly isSync: boolean
  /** The approximate number of characters that wait here. */
  weight = 0
  /** A call of `next` is in flight. */
  isPulling = false
  /** The next item will be fetched when no other node has work. */
  isPullDeferred = false
  /** No item follows those in the queue. */
  hasEnded = false
  /** The firing's result after its items, if it does not come from the iterator. */
  result: FiringResult = null
  /** Until then the stream is fetched to its end even without room, in milliseconds of `performance.now()`. */
  eagerUntil = 0
  /** Validates an item when it leaves; null if it was validated on arrival. */
  validate: ((item: OutputValues) => OutputValues) | null = null
  readonly #items: OutputValues[] = []
  #head = 0
  /** The memory account of the run, once waiting items count in it. */
  #memoryAccount: RunMemoryAccount | null = null

  constructor(iterator: Iterator<unknown> | AsyncIterator<unknown> | null, sync: boolean) {
    this.iterator = iterator
    this.isSync = sync
  }

  get size(): number {
    return this.#items.length - this.#head
  }

  get isEager(): boolean {
    return this.eagerUntil > 0 && performance.now() < this.eagerUntil
  }

  get hasRoom(): boolean {
    const most = this.isEager ? MAX_EAGER_ITEMS_AHEAD : MAX_ITEMS_AHEAD
    return this.size < most && this.weight < MAX_CHARACTERS_AHEAD
  }

  /** From now on, waiting items count as memory held by the run. */
  countMemoryIn(held: RunMemoryAccount): void {
    this.#memoryAccount = held
    held.change(this.weight)
  }

  push(item: OutputValues): void {
    this.#addWeight(estimateItemWeight(item))
    this.#items.push(item)
  }

  /** Drops the waiting items. */
  drop(): void {
    this.#addWeight(-this.weight)
    this.#items.length = 0
    this.#head = 0
  }

  shift(): OutputValues {
    const item = this.#items[this.#head++]!
    this.#addWeight(-estimateItemWeight(item))
    if (this.#head === this.#items.length || this.#head >= 1024) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return this.validate ? this.validate(item) : item
  }

  #addWeight(change: number): void {
    this.weight += change
    this.#memoryAccount?.change(change)
  }
}

/** The weight of an item's values. A value that nests too deep weighs nothing; it is refused when it leaves. */
function estimateItemWeight(item: OutputValues): number {
  let weight = 0
  for (const name in item) weight += estimateWeightAmongMany(item[name])
  return weight
}

/** The record of a firing, as far as the reorder buffer uses it. */
export interface FiringControl {
  /** Fetches the rest of the stream for up to `ms` milliseconds, even without room. False: that is impossible. */
  fetchAll: (ms: number) => boolean
  /** No consumer wants the firing any more. */
  drop(): void
}

export class Firing {
  isDone: boolean
  result: FiringResult
  /** Whether the result counts as memory held by the run. */
  isCounted = false
  /** Whether the failure that ends the stream was sent as an item. */
  isFailureSent = false
  /** Releases the firing's permit, or its wait, if it holds one. */
  release: (() => void) | null = null
  /** No consumer wants the firing any more: further results are discarded. */
  isDropped = false
  /** The record of the firing in a durable run. */
  record: FiringControl | null = null
  readonly end: StreamEndToken | null
  /** The index path of the firing; only known if its result is pending. */
  readonly path: IndexPath
  source: ItemSource | null = null

  constructor(done: boolean, result: FiringResult = null, end: StreamEndToken | null = null, path: IndexPath = null) {
    this.isDone = done
    this.result = result
    this.end = end
    this.path = path
  }
}

/** Wraps a generator: a value with `next` that is its own iterator. Null for other values. */
export function toItemSource(value: unknown): ItemSource | null {
  if (typeof value !== 'object' || value === null) return null
  const candidate = value as Partial<Iterator<unknown> & Iterable<unknown> & AsyncIterable<unknown>>
  if (typeof candidate.next !== 'function') return null
  if (typeof candidate[Symbol.asyncIterator] === 'function')
    return new ItemSource(value as AsyncIterator<unknown>, false)
  if (typeof candidate[Symbol.iterator] === 'function') return new ItemSource(value as Iterator<unknown>, true)
  return null
}

export function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
