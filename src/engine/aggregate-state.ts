// The aggregate of one node in one run: the firing that is open while its stream lasts, one after the other.
import { isThenable } from './firing.ts'
import type { Aggregate, Inputs } from './node-type.ts'
import type { PlanNode } from './plan-parts.ts'
import { coerced } from './results.ts'
import { isValue, type Tasks } from './tasks.ts'
import { Failure, NOTHING } from './tokens.ts'

/** Stands for a stream whose firing is skipped: its items go nowhere. */
const SKIPPED = Symbol('skipped')

export class AggregateState {
  readonly #node: PlanNode
  readonly #tasks: Tasks
  #open: Aggregate | Failure | typeof SKIPPED | null = null
  /** It takes its items one after the other: true while one is being taken. */
  pushing = false

  constructor(node: PlanNode, tasks: Tasks) {
    this.#node = node
    this.#tasks = tasks
  }

  /** Whether the present stream has its firing, or is skipped. */
  get begun(): boolean {
    return this.#open !== null
  }

  /** Whether a failure stands for the present firing: the rest of its stream is not wanted. */
  get failed(): boolean {
    return this.#open instanceof Failure
  }

  /** Begins the firing of a stream. Null: it is skipped. A failure stands for the whole firing. */
  begin(inputs: Inputs | Failure | null): void {
    const { type } = this.#node
    if (inputs === null || inputs instanceof Failure) this.#open = inputs ?? SKIPPED
    else this.#open = this.#tasks.attempt((context) => type.open!(inputs, context)) ?? SKIPPED
  }

  push(token: unknown): void {
    const aggregate = this.#open
    if (token === NOTHING || !isAggregate(aggregate)) return
    if (token instanceof Failure) {
      this.#open = token
      return
    }
    const slot = this.#node.slots[this.#node.drivers[0]!]!
    const pushed = this.#tasks.attempt(() => aggregate.push(coerced(this.#node, slot, token)))
    if (pushed instanceof Failure) this.#open = pushed
    if (this.#tasks.stopped || !isThenable(pushed)) return
    this.pushing = true
    this.#tasks.wait(pushed, null, (result) => {
      this.pushing = false
      if (result instanceof Failure && isAggregate(this.#open)) this.#open = result
    })
  }

  /** Ends the firing: what it gives, or null where it was skipped. */
  end(): { result: unknown } | null {
    const aggregate = this.#open
    this.#open = null
    if (aggregate instanceof Failure) return { result: aggregate }
    if (!isAggregate(aggregate)) return null
    const result = this.#tasks.attempt(() => aggregate.end())
    return isValue(result) || result instanceof Failure ? { result } : { result: undefined }
  }

  /** Nobody wants this firing any more. */
  drop(): void {
    this.#open = null
  }
}

function isAggregate(open: Aggregate | Failure | typeof SKIPPED | null): open is Aggregate {
  return open !== null && open !== SKIPPED && !(open instanceof Failure)
}
