// The items of one firing as they come: each is remembered before it goes out, and those that had come before an interruption take the
// place of the first ones of a stream that is opened anew.
import type { ItemSource } from './firing.ts'
import { type FiringEnd, type Remembered, Unread } from './journal.ts'
import type { Interrupted, Outputs } from './node-type.ts'
import type { PlanNode } from './plan-parts.ts'
import { checkedItem, checkedOutputs } from './results.ts'
import { sameValue } from './same-value.ts'

/** The firing, as its items know it. */
interface Keeper {
  readonly node: PlanNode
  /** Whether what it gives is remembered. */
  readonly keeps: boolean
  readonly known: Remembered['items']
  /** Whether it begins behind the known items by itself. */
  readonly resumes: boolean
  sealed: boolean
  item(item: Outputs): void
  end(end: FiringEnd): void
  failed(error: unknown): void
  interrupted(): Interrupted
}

type Step = IteratorResult<unknown>

/** The steps of a stream, judged and remembered. */
class Steps {
  readonly #keeper: Keeper
  /** How many of the known items went out, and how many of the stream's own were passed over for them. */
  #given = 0
  #passed = 0

  constructor(keeper: Keeper) {
    this.#keeper = keeper
  }

  /** The next known item, or null after the last one. */
  known(): Step | null {
    const item = this.#keeper.known[this.#given]
    if (item === undefined) return null
    this.#given++
    return { done: false, value: Unread.now(item) }
  }

  /** Whether the stream's own next item has gone out before. */
  get behind(): boolean {
    return !this.#keeper.resumes && this.#passed < this.#keeper.known.length
  }

  /** Compares an item with the one that went out in its place. @throws Interrupted */
  pass(step: Step): void {
    const { node, known } = this.#keeper
    const same = !step.done && sameValue(checkedItem(node, step.value), Unread.now(known[this.#passed]))
    if (!same) throw this.#keeper.interrupted()
    this.#passed++
  }

  take(step: Step): Step {
    const { node, keeps } = this.#keeper
    if (!keeps) this.#keeper.sealed = true
    else if (step.done) this.#keeper.end({ outputs: checkedOutputs(node, step.value) })
    else this.#keeper.item(checkedItem(node, step.value))
    return step
  }
}

function itemsNow(items: Iterator<unknown>, keeper: Keeper): Iterator<unknown> & Iterable<unknown> {
  const steps = new Steps(keeper)
  return {
    [Symbol.iterator]() {
      return this
    },
    next() {
      try {
        const known = steps.known()
        if (known) return known
        while (steps.behind) steps.pass(items.next())
        return steps.take(items.next())
      } catch (error) {
        keeper.failed(error)
        throw error
      }
    },
    return() {
      items.return?.()
      return { done: true, value: undefined }
    },
  }
}

function itemsLater(items: AsyncIterator<unknown>, keeper: Keeper): AsyncIterator<unknown> & AsyncIterable<unknown> {
  const steps = new Steps(keeper)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      try {
        const known = steps.known()
        if (known) return known
        while (steps.behind) steps.pass(await items.next())
        return steps.take(await items.next())
      } catch (error) {
        keeper.failed(error)
        throw error
      }
    },
    async return() {
      await items.return?.()
      return { done: true, value: undefined }
    },
  }
}

/** A generator that remembers what it gives. */
export function rememberedItems(source: ItemSource, keeper: Keeper): Iterator<unknown> | AsyncIterator<unknown> {
  if (source.sync) return itemsNow(source.iterator as Iterator<unknown>, keeper)
  return itemsLater(source.iterator as AsyncIterator<unknown>, keeper)
}
