// Records the items of one firing before they are sent. Items known from before an interruption replace the first items of a stream that is
// opened again.

import type { PlanNode } from '../compile/plan.ts'
import type { OutputValues } from '../node-api/firing-forms.ts'
import type { NodeInterruptedError } from '../node-api/node-error.ts'
import { isDeepEqual } from '../node-api/values/deep-equal.ts'
import type { ItemSource } from '../runtime/firings/firing.ts'
import { validateItem, validateOutputs } from '../runtime/firings/result-validation.ts'
import { type FiringEnd, type FiringHistory, UnreadValue } from './journal.ts'

/** The firing, as seen by its items. */
interface ItemRecord {
  readonly node: PlanNode
  /** Whether the outputs are recorded. */
  readonly isRecorded: boolean
  readonly knownItems: FiringHistory['items']
  /** Whether the stream itself begins after the known items. */
  readonly canResume: boolean
  isSealed: boolean
  item(item: OutputValues): void
  end(end: FiringEnd): void
  failed(error: unknown): void
  createInterruptedError(): NodeInterruptedError
}

type ItemStep = IteratorResult<unknown>

/** The steps of a stream's iterator, validated and recorded. */
class RecordedSteps {
  readonly #record: ItemRecord
  /** How many known items were sent, and how many of the stream's own items were skipped for them. */
  #knownGiven = 0
  #skipped = 0

  constructor(record: ItemRecord) {
    this.#record = record
  }

  /** The next known item, or null after the last one. */
  nextKnown(): ItemStep | null {
    const item = this.#record.knownItems[this.#knownGiven]
    if (item === undefined) return null
    this.#knownGiven++
    return { done: false, value: UnreadValue.read(item) }
  }

  /** Whether the stream's own next item was already sent before the interruption. */
  get isBehind(): boolean {
    return !this.#record.canResume && this.#skipped < this.#record.knownItems.length
  }

  /** Compares an item with the one that was sent in its place. @throws NodeInterruptedError if they differ */
  skipKnown(step: ItemStep): void {
    const { node, knownItems } = this.#record
    const same = !step.done && isDeepEqual(validateItem(node, step.value), UnreadValue.read(knownItems[this.#skipped]))
    if (!same) throw this.#record.createInterruptedError()
    this.#skipped++
  }

  recordStep(step: ItemStep): ItemStep {
    const { node, isRecorded } = this.#record
    if (!isRecorded) this.#record.isSealed = true
    else if (step.done) this.#record.end({ outputs: validateOutputs(node, step.value) })
    else this.#record.item(validateItem(node, step.value))
    return step
  }
}

function recordItems(items: Iterator<unknown>, record: ItemRecord): Iterator<unknown> & Iterable<unknown> {
  const steps = new RecordedSteps(record)
  return {
    [Symbol.iterator]() {
      return this
    },
    next() {
      try {
        const known = steps.nextKnown()
        if (known) return known
        while (steps.isBehind) steps.skipKnown(items.next())
        return steps.recordStep(items.next())
      } catch (error) {
        record.failed(error)
        throw error
      }
    },
    return() {
      items.return?.()
      return { done: true, value: undefined }
    },
  }
}

function recordAsyncItems(
  items: AsyncIterator<unknown>,
  record: ItemRecord,
): AsyncIterator<unknown> & AsyncIterable<unknown> {
  const steps = new RecordedSteps(record)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      try {
        const known = steps.nextKnown()
        if (known) return known
        while (steps.isBehind) steps.skipKnown(await items.next())
        return steps.recordStep(await items.next())
      } catch (error) {
        record.failed(error)
        throw error
      }
    },
    async return() {
      await items.return?.()
      return { done: true, value: undefined }
    },
  }
}

/** Wraps the stream of a firing so that its items are recorded. */
export function recordStream(source: ItemSource, record: ItemRecord): Iterator<unknown> | AsyncIterator<unknown> {
  if (source.isSync) return recordItems(source.iterator as Iterator<unknown>, record)
  return recordAsyncItems(source.iterator as AsyncIterator<unknown>, record)
}
