// The aggregate of one node in one run: its open firing for the current stream.

import type { PlanNode } from '../../compile/plan.ts'
import type { FiringRecord } from '../../durability/firing-record.ts'
import { restoreFiringEnd } from '../../durability/firing-replay.ts'
import type { AggregateFiring, InputValues } from '../../node-api/firing-forms.ts'
import type { FiringResult } from '../streams/token-sender.ts'
import { FailureToken, NO_VALUE } from '../streams/tokens.ts'
import { isThenable } from './firing.ts'
import type { NodeCodeRunner } from './node-code-runner.ts'
import { coerceInput } from './result-validation.ts'
import { RetainedItems } from './retained-items.ts'

/** Marks a stream whose firing is skipped: its items are dropped. */
const SKIPPED = Symbol('skipped')
/** Marks a firing whose history is still being loaded. */
const UNREAD_RECORD = Symbol('unread')

/** The result of a firing from before an interruption; null: it was unwanted and never ends. It takes no items. */
class ReplayedResult {
  readonly result: FiringResult
  constructor(result: FiringResult) {
    this.result = result
  }
}

type OpenAggregate = AggregateFiring | ReplayedResult | FailureToken | symbol

/** The end of a firing. `record` is null in a run that is not durable. */
export interface AggregateEnd {
  readonly result: unknown
  readonly record: FiringRecord | null
  /** The firing had ended before an interruption. */
  readonly isReplayed: boolean
}

export class AggregateState {
  readonly #node: PlanNode
  readonly #codeRunner: NodeCodeRunner
  #current: OpenAggregate | null = null
  #record: FiringRecord | null = null
  /** True while an asynchronous push is in progress: items are pushed one after the other. */
  isPushing = false
  readonly #retained: RetainedItems

  constructor(node: PlanNode, codeRunner: NodeCodeRunner) {
    this.#node = node
    this.#codeRunner = codeRunner
    this.#retained = new RetainedItems(node, codeRunner.memoryAccount)
  }

  /** Whether the current stream has a firing, or is skipped. */
  get hasBegun(): boolean {
    return this.#current !== null
  }

  /** Whether the current firing has failed, so that the rest of its stream is not wanted. */
  get hasFailed(): boolean {
    return this.#current instanceof FailureToken
  }

  /**
   * Begins the firing of a stream. Null: it is skipped. A failure stands for the whole firing. If the history must be loaded first, returns
   * a promise to await before `continueOpening`.
   */
  begin(inputs: InputValues | FailureToken | null): Promise<void> | null {
    if (inputs === null || inputs instanceof FailureToken) {
      this.#current = inputs ?? SKIPPED
      return null
    }
    this.#record = this.#codeRunner.createRecord(inputs)
    const reading = this.#record?.prepareRecall() ?? null
    if (reading) this.#current = UNREAD_RECORD
    else this.#current = this.#openFiring(inputs) ?? SKIPPED
    return reading
  }

  /** Opens the firing after its history was loaded. False: no consumer wants it any more. */
  continueOpening(): boolean {
    if (this.#current !== UNREAD_RECORD) return false
    this.#current = this.#openFiring(this.#record!.inputs) ?? SKIPPED
    return true
  }

  push(token: unknown): void {
    const aggregate = this.#current
    if (token === NO_VALUE || !isAggregateFiring(aggregate)) return
    if (token instanceof FailureToken) {
      this.#fail(token)
      return
    }
    const slot = this.#node.slots[this.#node.driverSlots[0]!]!
    const push = () => aggregate.push(coerceInput(this.#node, slot, token))
    const record = this.#record
    const pushed = this.#codeRunner.runCode(record ? () => record.runStep(push) : push)
    this.#retained.add(slot, token)
    if (pushed instanceof FailureToken) this.#fail(pushed)
    if (this.#codeRunner.stopped || !isThenable(pushed)) return
    this.isPushing = true
    this.#codeRunner.awaitWork(pushed, null, (result) => {
      this.isPushing = false
      if (result instanceof FailureToken && isAggregateFiring(this.#current)) this.#fail(result)
    })
  }

  /** Ends the firing and returns its result; null if it was skipped. */
  end(): AggregateEnd | null {
    const [aggregate, record] = [this.#current, this.#record]
    this.#retained.clear()
    this.#current = null
    this.#record = null
    if (aggregate instanceof FailureToken) return { result: aggregate, record, isReplayed: false }
    if (aggregate instanceof ReplayedResult) return { result: aggregate.result, record, isReplayed: true }
    if (!isAggregateFiring(aggregate)) return null
    const result = this.#codeRunner.runCode(
      record ? () => record.runToEnd(() => aggregate.end()) : () => aggregate.end(),
    )
    return { result, record, isReplayed: false }
  }

  /** Drops the firing, which no consumer wants any more. */
  drop(): void {
    this.#retained.clear()
    // A history that is not loaded yet may contain an end.
    if (this.#current !== UNREAD_RECORD) this.#record?.end({ unwanted: true })
    this.#record = null
    this.#current = null
  }

  #fail(failure: FailureToken): void {
    this.#retained.clear()
    this.#record?.endWithFailure(failure)
    this.#current = failure
  }

  #openFiring(inputs: InputValues): OpenAggregate | undefined {
    const record = this.#record
    const { type } = this.#node
    if (!record) return this.#codeRunner.runFiring((context) => type.open!(inputs, context))
    const known = record.recall()
    if (known?.end)
      return 'unwanted' in known.end
        ? new ReplayedResult(null)
        : this.#toReplayed(restoreFiringEnd(known.end, this.#codeRunner))
    if (known?.started) return this.#codeRunner.fail(record.createInterruptedError()) ?? undefined
    const opened = this.#codeRunner.runCode((context) => record.openAggregate(() => type.open!(inputs, context)))
    if (record.whenOpened) this.#codeRunner.awaitWork(record.whenOpened, null, () => {})
    return opened
  }

  #toReplayed(end: FiringResult): OpenAggregate | undefined {
    if (end instanceof FailureToken) return end
    return end === null ? undefined : new ReplayedResult(end)
  }
}

function isAggregateFiring(open: unknown): open is AggregateFiring {
  return (
    typeof open === 'object' && open !== null && !(open instanceof FailureToken) && !(open instanceof ReplayedResult)
  )
}
