// The scheduler of one run: a fair queue of nodes, the wait for concurrency permits, and the growth of inboxes that block the graph.

import type { NodeExecutors } from './run/node-executors.ts'
import type { Schedulable } from './run/participant.ts'
import type { RunResources } from './run/resources.ts'
import type { Inbox } from './streams/inbox.ts'
import { findInboxToGrow } from './streams/inbox-deadlock.ts'
import { resumeProducer } from './streams/inbox-flow-control.ts'

/** The queue is compacted once at least this many entries, and half of it, were served. */
const COMPACT_AFTER = 1024

export class Scheduler {
  readonly #executors: NodeExecutors
  readonly #resources: RunResources
  readonly #starved = new Set<Schedulable>()
  readonly #full = new Set<Inbox>()
  /** Work that waits until no node has a turn to take. */
  readonly #lastTasks: (() => void)[] = []
  #queue: Schedulable[] = []
  /** Entries before this index had their turn. */
  #head = 0
  /** Work for a later turn of the event loop. */
  #scheduledWork: (() => void) | null = null
  /** The time of the last turn, in milliseconds of the monotonic clock. */
  time = 0

  constructor(executors: NodeExecutors, resources: RunResources) {
    this.#executors = executors
    this.#resources = resources
  }

  /** Whether an executor waits for a permit. */
  get hasStarved(): boolean {
    return this.#starved.size > 0
  }

  /** Whether work is scheduled for a later turn of the event loop. */
  get isPending(): boolean {
    return this.#scheduledWork !== null
  }

  /** Whether no executor waits for a turn or a permit. */
  get isQuiet(): boolean {
    return this.#queue.length === 0 && this.#lastTasks.length === 0 && !this.hasStarved && !this.isPending
  }

  schedule(executor: Schedulable): void {
    if (executor.isQueued || executor.closed) return
    executor.isQueued = true
    executor.region?.beginWork()
    this.#queue.push(executor)
  }

  /** Calls `work` when no node has a turn to take. */
  runLast(work: () => void): void {
    this.#lastTasks.push(work)
  }

  /** Whether an asynchronous firing may begin; if not, the executor is scheduled again when one may. */
  admit(executor: Schedulable): boolean {
    if (this.#resources.hasFreePermit) return true
    if (!this.#starved.has(executor)) executor.region?.beginWork()
    this.#starved.add(executor)
    return false
  }

  filled(inbox: Inbox): void {
    this.#full.add(inbox)
    const producer = this.#executors.of(inbox.slot.source)
    if (!producer.closed) producer.fullInboxes++
  }

  freed(inbox: Inbox): void {
    this.#full.delete(inbox)
    const producer = this.#executors.of(inbox.slot.source)
    if (!producer.closed && --producer.fullInboxes === 0) this.schedule(producer)
  }

  /** Calls `work` in a later turn of the event loop; once, however often it is requested. */
  runLater(work: () => void): void {
    if (this.#scheduledWork) return
    this.#scheduledWork = () => {
      this.#scheduledWork = null
      work()
    }
    this.#resources.timeSlice.runLater(this.#scheduledWork)
  }

  /** Gives turns until no node can continue, `over` returns true, or the slice has passed. True: there is more to do. */
  work(over: () => boolean): boolean {
    for (;;) {
      this.time = performance.now()
      if (this.#resources.timeSlice.isUsedUp(this.time)) return true
      const end = this.#giveTurns(over)
      if (end !== 'empty') return end === 'passed'
      if (!this.#admitStarved() && !this.#growInbox() && !this.#runLastTask()) return false
      // Finding an inbox to enlarge takes longer the more are full, and many may have to grow before a node can continue.
      if (over()) return false
    }
  }

  /** Gives turns until the queue is empty, `over` returns true, or the slice has passed. */
  #giveTurns(over: () => boolean): 'empty' | 'over' | 'passed' {
    const { timeSlice } = this.#resources
    for (let executor = this.#next(); executor; executor = this.#next()) {
      executor.isQueued = false
      executor.takeTurn(this.time)
      if (over()) return 'over'
      executor.region?.endWork()
      const now = performance.now()
      executor.adjustPace(now - this.time)
      this.time = now
      if (timeSlice.isUsedUp(this.time)) return 'passed'
    }
    return 'empty'
  }

  /** Drops all waiting work. */
  clear(): void {
    if (this.#scheduledWork) this.#resources.timeSlice.cancel(this.#scheduledWork)
    this.#scheduledWork = null
    this.#queue = []
    this.#head = 0
    this.#lastTasks.length = 0
    this.#starved.clear()
    this.#full.clear()
  }

  #next(): Schedulable | undefined {
    const executor = this.#queue[this.#head]
    if (!executor) {
      this.#queue.length = 0
      this.#head = 0
      return undefined
    }
    if (++this.#head >= COMPACT_AFTER && this.#head * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    return executor
  }

  /** Schedules the executor that has waited longest, if a permit is free. */
  #admitStarved(): boolean {
    const [starved] = this.#starved
    if (!starved || !this.#resources.hasFreePermit) return false
    this.#starved.delete(starved)
    this.schedule(starved)
    starved.region?.endWork()
    return true
  }

  #runLastTask(): boolean {
    const work = this.#lastTasks.shift()
    work?.()
    return work !== undefined
  }

  /** Enlarges an inbox if the graph blocks itself. */
  #growInbox(): boolean {
    const inbox = this.#full.size > 0 ? findInboxToGrow(this.#executors, this.#full) : null
    if (!inbox) return false
    inbox.grow()
    resumeProducer(this, inbox)
    return true
  }
}
