// The edges of one run: the limits of their inboxes, and what their traffic causes elsewhere.
import type { Plan } from '../../compile/plan.ts'
import type { Scheduler } from '../scheduler.ts'
import { reportEdgeProgress } from '../streams/edge-progress.ts'
import type { Inbox } from '../streams/inbox.ts'
import type { InboxHost } from '../streams/inbox-flow-control.ts'
import type { RunMemoryAccount } from './memory-account.ts'
import type { NodeExecutors } from './node-executors.ts'
import type { RunObserver } from './observer.ts'

/** The limits of the approximate characters on edges before producers pause: in all, and at least per edge. */
const MAX_EDGES_WEIGHT = 256_000_000
const MIN_EDGE_WEIGHT = 100_000

/** The parts of a run that its edges concern. */
interface EdgesRun {
  readonly observer: RunObserver
  readonly memoryAccount: RunMemoryAccount
  readonly executors: NodeExecutors
  readonly scheduler: Scheduler
}

export class RunEdges implements InboxHost {
  readonly inboxLimit: number
  readonly inboxWeight: number
  readonly memoryAccount: RunMemoryAccount
  readonly producers: Scheduler
  readonly #executors: NodeExecutors
  readonly #observer: RunObserver

  constructor({ streamEdges }: Plan, run: EdgesRun, inboxLimit: number) {
    this.inboxLimit = inboxLimit
    this.inboxWeight = Math.max(MIN_EDGE_WEIGHT, MAX_EDGES_WEIGHT / (1 + streamEdges))
    this.memoryAccount = run.memoryAccount
    this.producers = run.scheduler
    this.#executors = run.executors
    this.#observer = run.observer
  }

  onUnsubscribed(inbox: Inbox): void {
    this.#executors.of(inbox.slot.source).onConsumerUnsubscribed()
  }

  onResubscribed(inbox: Inbox): void {
    this.#executors.of(inbox.slot.source).onConsumerResubscribed()
  }

  onTokenSent(edge_id: string, inbox: Inbox | null, token: unknown): void {
    reportEdgeProgress(this.#observer, this.producers.time, edge_id, inbox, token)
  }
}
