// One place in a node's reorder window: a firing whose result is awaited or must wait for its turn, or an end mark
// between firings. Results leave the window in the order of their paths.

import type { OutputValues } from '../../node-api/node-type.ts'
import { estimateWeightAmongMany, type RunMemoryAccount } from '../run/memory-account.ts'
import type { IndexPath } from '../streams/position.ts'
import type { FiringResult } from '../streams/token-sender.ts'
import type { StreamEndToken } from '../streams/tokens.ts'

/** How many items of one firing are fetched ahead of the consumers. */
const MAX_ITEMS_AHEAD = 64
/** How many, where the stream could not be taken up again, or not safely, and its run has to wait. */
const MAX_EAGER_ITEMS_AHEAD = 10_000
/** About how many characters they may have together. */
const MAX_CHARACTERS_AHEAD = 16_000_000

/** The items of a streaming firing on their way out. */
export class ItemSource {
  /** Null for a streamed input: its items are pushed from outside. */
  readonly iterator: Iterator<unknown> | AsyncIterator<unknown> | null
  /** True for a plain generator, which is pulled only when its items can go out. */
  readonly isSync: boolean
  /** About how many characters wait here. */
  weight = 0
  /** A pull is in flight. */
  isPulling = false
  /** It is to be pulled when nobody else has a turn to take. */
  isPullDeferred = false
  /** No item comes after those in the queue. */
  hasEnded = false
  /** What the firing gives once its items are out, where that is known apart from the iterator. */
  result: FiringResult = null
  /** Until when it is fetched to its end if that can be, whether there is room for it or not; in milliseconds of `performance.now()`. */
  eagerUntil = 0
  /** Checks an item as it leaves; null where it was checked as it came. */
  validate: ((item: OutputValues) => OutputValues) | null = null
  readonly #items: OutputValues[] = []
  #head = 0
  /** What the run holds, once what waits here is a part of it. */
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

  /** What waits here counts among what a run holds, from now on until it leaves or is dropped. */
  countMemoryIn(held: RunMemoryAccount): void {
    this.#memoryAccount = held
    held.change(this.weight)
  }

  push(item: OutputValues): void {
    this.#addWeight(estimateItemWeight(item))
    this.#items.push(item)
  }

  /** Lets go of what waits. */
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

/** What the values of an item count. A value that nests too deep is refused as it leaves, and counts nothing until then. */
function estimateItemWeight(item: OutputValues): number {
  let weight = 0
  for (const name in item) weight += estimateWeightAmongMany(item[name])
  return weight
}

/** What is remembered of a firing, as far as its place in the window goes. */
export interface FiringControl {
  /** Has the rest of its stream fetched for so many milliseconds, whether there is room for it or not. False: that can not be. */
  fetchAll: (ms: number) => boolean
  /** Nobody wants it any more. */
  drop(): void
}

export class Firing {
  isDone: boolean
  result: FiringResult
  /** Its result counts among what the run holds. */
  isCounted = false
  /** The failure that ends its stream went out as an item. */
  isFailureSent = false
  /** Gives its place among the firings in flight, or among those that wait, back, where it holds one. */
  release: (() => void) | null = null
  /** Nobody wants it any more: what it still does comes to nothing. */
  isDropped = false
  /** What is remembered of it, in a run that remembers. */
  record: FiringControl | null = null
  readonly end: StreamEndToken | null
  /** Where it takes place; known of those whose result is awaited. */
  readonly path: IndexPath
  source: ItemSource | null = null

  constructor(done: boolean, result: FiringResult = null, end: StreamEndToken | null = null, path: IndexPath = null) {
    this.isDone = done
    this.result = result
    this.end = end
    this.path = path
  }
}

/** Whether a value is a generator: it has `next` and gives itself as its iterator. */
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
