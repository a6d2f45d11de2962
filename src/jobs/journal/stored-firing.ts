// What the journal of a job knows of one firing, built from the entries of the firing. Large values may still be in their files.
import type {
  FailedAttempts,
  FiringEnd,
  FiringHistory,
  RecordedStep,
  WaitRequest,
} from '../../engine/durability/journal.ts'
import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { EagerReadBudget, LazyValue } from '../values/lazy-value.ts'
import type { FiringEntry, JournalEntry } from './entry.ts'

/** A firing for callers that do not read its values. */
export type JournaledFiring = Omit<FiringHistory, 'items' | 'end'> & {
  readonly items: readonly unknown[]
  readonly end: object | null
}

/**
 * What a new run takes over of a firing. `all`: its end or its answer. `begun`: failed attempts, steps and the items of its stream.
 */
export type FiringReuse = 'all' | 'begun' | 'nothing'

/** Most firings have no items and no steps, and share these empty collections. No code adds to the two collections. */
const NO_ITEMS: (OutputValues | LazyValue)[] = []
const NO_STEPS = new Map<string, RecordedStep>()

export class StoredFiring implements JournaledFiring {
  started = false
  attempts: FailedAttempts | null = null
  items: (OutputValues | LazyValue)[] = NO_ITEMS
  steps: Map<string, RecordedStep> = NO_STEPS
  end: FiringEnd | LazyValue | null = null
  wait: WaitRequest | null = null
  answer: { value: unknown } | null = null
  /** Bytes that count in the memory account. */
  bytes = 0

  apply(entry: FiringEntry): void {
    ENTRY_APPLIERS[entry[0]](this, entry as never)
  }

  addItem(item: OutputValues): void {
    if (this.items === NO_ITEMS) this.items = [item]
    else this.items.push(item)
  }

  setStep(name: string, step: RecordedStep): void {
    if (this.steps === NO_STEPS) this.steps = new Map()
    this.steps.set(name, step)
  }

  /** Resolves the lazy values; items are resolved by `read` when the run takes them. @throws Error where a value cannot be read */
  toHistory(read: (value: LazyValue) => unknown): FiringHistory {
    const { started, attempts, items, steps, end, wait, answer } = this
    const whole = ([name, step]: [string, RecordedStep]): [string, RecordedStep] => [
      name,
      { ...step, end: step.end && { value: LazyValue.resolve(step.end.value) } },
    ]
    return {
      started,
      attempts,
      wait,
      items: items.map((item) => LazyValue.toUnread(item, read)),
      steps: new Map([...steps].map(whole)),
      end: LazyValue.resolve(end),
      answer: answer && { value: LazyValue.resolve(answer.value) },
    }
  }

  get hasLazyValues(): boolean {
    const { items, steps, end, answer } = this
    if (end instanceof LazyValue || answer?.value instanceof LazyValue) return true
    if (items.some((item) => item instanceof LazyValue)) return true
    for (const [, step] of steps) if (step.end?.value instanceof LazyValue) return true
    return false
  }

  /** Replaces lazy values by their content. Of the items it reads only as many as `EagerReadBudget` allows. */
  *readLazyValues(): Steps<void> {
    const { items, steps, answer } = this
    const budget = new EagerReadBudget()
    for (let at = 0; at < items.length; at++)
      if (!budget.shouldLeaveUnread(items[at])) items[at] = yield* LazyValue.resolveSteps(items[at]!)
    for (const [name, step] of steps)
      if (step.end) steps.set(name, { ...step, end: { value: yield* LazyValue.resolveSteps(step.end.value) } })
    if (answer) this.answer = { value: yield* LazyValue.resolveSteps(answer.value) }
    this.end = yield* LazyValue.resolveSteps(this.end)
  }

  /** Drops the values of a recalled firing that has not ended: `readLazyValues` may have brought many of them into memory. */
  dropValues(): void {
    this.items = NO_ITEMS
    this.steps = NO_STEPS
    if (this.answer) this.answer = { value: null }
  }

  /** The entries that a new run takes over; `firing` is the name. */
  *reusableEntries(firing: string, reuse: FiringReuse): Generator<JournalEntry> {
    if (reuse === 'nothing') return
    const { started, attempts, items, steps, end, wait, answer } = this
    if (attempts) yield ['attempt', firing, { ...attempts, forgiven: attempts.failed, next_at: 0 }]
    if (reuse === 'all' && started) yield ['start', firing]
    for (const [name, { call, end: over }] of steps) {
      yield ['step', firing, name, { call, begun: over !== null }]
      if (over) yield ['done', firing, name, over.value]
    }
    for (const item of items) yield ['item', firing, item as OutputValues]
    if (reuse === 'begun') return
    if (end) yield ['end', firing, end as FiringEnd]
    else if (wait && answer) {
      yield ['wait', firing, wait]
      yield ['answer', firing, answer.value]
    }
  }
}

type EntryApplier<Kind extends FiringEntry[0]> = (
  record: StoredFiring,
  entry: Extract<FiringEntry, readonly [Kind, ...unknown[]]>,
) => void

const ENTRY_APPLIERS: { [Kind in FiringEntry[0]]: EntryApplier<Kind> } = {
  start: (record) => {
    record.started = true
  },
  attempt: (record, [, , attempts]) => {
    for (const [name, { end }] of record.steps) if (!end) record.steps.delete(name)
    record.started = false
    record.attempts = attempts
  },
  step: (record, [, , name, step]) => record.setStep(name, { ...step, end: null }),
  done: (record, [, , name, value]) => record.setStep(name, { ...record.steps.get(name)!, end: { value } }),
  item: (record, [, , item]) => record.addItem(item),
  end: (record, [, , end]) => {
    record.end = end
    // The steps of a firing that has ended are not read again.
    record.steps = NO_STEPS
  },
  wait: (record, [, , request]) => {
    record.wait = request
  },
  answer: (record, [, , value]) => {
    record.answer = { value }
  },
}
