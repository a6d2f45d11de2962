// The aggregate of one node in one run: the firing that is open while its stream lasts, one after the other.
import { isThenable } from './firing.ts'
import { KeptItems } from './kept-items.ts'
import type { Memo } from './memo.ts'
import type { Aggregate, Inputs } from './node-type.ts'
import type { Result } from './outbox.ts'
import type { PlanNode } from './plan-parts.ts'
import { endOfKnown } from './replay.ts'
import { coerced } from './results.ts'
import type { Tasks } from './tasks.ts'
import { Failure, NOTHING } from './tokens.ts'

/** Stands for a stream whose firing is skipped: its items go nowhere. */
const SKIPPED = Symbol('skipped')
/** Stands for a firing of which something is known that is not read yet. */
const UNREAD = Symbol('unread')

/** What a firing gave before an interruption; null: it was not wanted, and never ends. It takes no items. */
class Known {
  readonly result: Result
  constructor(result: Result) {
    this.result = result
  }
}

type Open = Aggregate | Known | Failure | symbol

/** How a firing ended: null where nobody waits for that any more. */
export interface Ended {
  readonly result: unknown
  readonly memo: Memo | null
  /** It had ended before an interruption. */
  readonly known: boolean
}

export class AggregateState {
  readonly #node: PlanNode
  readonly #tasks: Tasks
  #open: Open | null = null
  #memo: Memo | null = null
  /** It takes its items one after the other: true while one is being taken. */
  pushing = false
  readonly #kept: KeptItems

  constructor(node: PlanNode, tasks: Tasks) {
    this.#node = node
    this.#tasks = tasks
    this.#kept = new KeptItems(node, tasks.held)
  }

  /** Whether the present stream has its firing, or is skipped. */
  get begun(): boolean {
    return this.#open !== null
  }

  /** Whether a failure stands for the present firing: the rest of its stream is not wanted. */
  get failed(): boolean {
    return this.#open instanceof Failure
  }

  /**
   * Begins the firing of a stream. Null: it is skipped. A failure stands for the whole firing. Gives what is to be waited for before `open`, where
   * what is known of it is read first.
   */
  begin(inputs: Inputs | Failure | null): Promise<void> | null {
    if (inputs === null || inputs instanceof Failure) {
      this.#open = inputs ?? SKIPPED
      return null
    }
    this.#memo = this.#tasks.remember(inputs)
    const reading = this.#memo?.prepareRecall() ?? null
    if (reading) this.#open = UNREAD
    else this.#open = this.#opened(inputs) ?? SKIPPED
    return reading
  }

  /** Goes on with the firing once what is known of it is read. False: nobody wants it any more. */
  open(): boolean {
    if (this.#open !== UNREAD) return false
    this.#open = this.#opened(this.#memo!.inputs) ?? SKIPPED
    return true
  }

  push(token: unknown): void {
    const aggregate = this.#open
    if (token === NOTHING || !isAggregate(aggregate)) return
    if (token instanceof Failure) {
      this.#fail(token)
      return
    }
    const slot = this.#node.slots[this.#node.drivers[0]!]!
    const push = () => aggregate.push(coerced(this.#node, slot, token))
    const memo = this.#memo
    const pushed = this.#tasks.attempt(memo ? () => memo.step(push) : push)
    this.#kept.read(slot, token)
    if (pushed instanceof Failure) this.#fail(pushed)
    if (this.#tasks.stopped || !isThenable(pushed)) return
    this.pushing = true
    this.#tasks.wait(pushed, null, (result) => {
      this.pushing = false
      if (result instanceof Failure && isAggregate(this.#open)) this.#fail(result)
    })
  }

  /** Ends the firing: what it gives, or null where it was skipped. */
  end(): Ended | null {
    const [aggregate, memo] = [this.#open, this.#memo]
    this.#kept.clear()
    this.#open = null
    this.#memo = null
    if (aggregate instanceof Failure) return { result: aggregate, memo, known: false }
    if (aggregate instanceof Known) return { result: aggregate.result, memo, known: true }
    if (!isAggregate(aggregate)) return null
    const result = this.#tasks.attempt(memo ? () => memo.guard(() => aggregate.end()) : () => aggregate.end())
    return { result, memo, known: false }
  }

  /** Nobody wants this firing any more. */
  drop(): void {
    this.#kept.clear()
    // Of one that is not read yet, the end may be known.
    if (this.#open !== UNREAD) this.#memo?.end({ unwanted: true })
    this.#memo = null
    this.#open = null
  }

  #fail(failure: Failure): void {
    this.#kept.clear()
    this.#memo?.failedWith(failure)
    this.#open = failure
  }

  #opened(inputs: Inputs): Open | undefined {
    const memo = this.#memo
    const { type } = this.#node
    if (!memo) return this.#tasks.begin((context) => type.open!(inputs, context))
    const known = memo.recall()
    if (known?.end)
      return 'unwanted' in known.end ? new Known(null) : this.#knownEnd(endOfKnown(known.end, this.#tasks))
    if (known?.started) return this.#tasks.fail(memo.interrupted()) ?? undefined
    const opened = this.#tasks.attempt((context) => memo.open(() => type.open!(inputs, context)))
    if (memo.opening) this.#tasks.wait(memo.opening, null, () => {})
    return opened
  }

  #knownEnd(end: Result): Open | undefined {
    if (end instanceof Failure) return end
    return end === null ? undefined : new Known(end)
  }
}

function isAggregate(open: unknown): open is Aggregate {
  return typeof open === 'object' && open !== null && !(open instanceof Failure) && !(open instanceof Known)
}
