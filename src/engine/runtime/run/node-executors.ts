// The executors of one run's nodes. They are created when they have work, and released when they are closed: each costs memory in between.
import { forEachSteps, type Steps } from '../../../shared/time-slices.ts'
import type { PlanNode } from '../../compile/plan.ts'
import type { DeliverToken } from '../streams/token-sender.ts'
import { CLOSED_PARTICIPANT, type Schedulable } from './participant.ts'

export class NodeExecutors {
  readonly deliver: DeliverToken = (node, slot, token) => this.of(node).receive(slot, token)
  readonly #nodes: readonly PlanNode[]
  readonly #create: (node: PlanNode) => Schedulable
  readonly #executors: (Schedulable | undefined)[]
  /** The number of nodes not yet closed. */
  openCount: number

  constructor(nodes: readonly PlanNode[], create: (node: PlanNode) => Schedulable) {
    this.#nodes = nodes
    this.#create = create
    this.#executors = new Array(nodes.length)
    this.openCount = nodes.length
  }

  of(node: number): Schedulable {
    const known = this.#executors[node]
    if (known) return known
    const executor = this.#create(this.#nodes[node]!)
    this.#executors[node] = executor
    return executor
  }

  /** Creates all nodes that a node feeds, in steps. */
  *createTargetSteps({ ports }: PlanNode): Steps<void> {
    for (const { targets } of ports) yield* forEachSteps(targets, ({ node }) => this.of(node))
  }

  /** Releases the executor of a closed node. */
  close({ index }: PlanNode): void {
    this.openCount--
    this.#executors[index] = CLOSED_PARTICIPANT
  }

  /** Ends all open generators when the run is over. */
  abandon(): void {
    for (const executor of this.#executors) if (executor && !executor.closed) executor.abandon()
  }
}
