// Whose turn it is in one run: a fair queue, the wait for places among the asynchronous firings, and the relief of
// inboxes that block the graph.

import type { Schedulable } from './run/node-interfaces.ts'
import type { RunResources } from './run/resources.ts'
import type { Inbox } from './streams/inbox.ts'
import { findInboxToGrow } from './streams/inbox-deadlock.ts'
import { resumeProducer } from './streams/inbox-flow-control.ts'

/** How many past turns are kept at least before the queue is cut, which happens once they are half of it. */
const COMPACT_AFTER = 1024

export class Scheduler {
  readonly #executorOf: (node: number) => Schedulable
  readonly #resources: RunResources
  readonly #starved = new Set<Schedulable>()
  readonly #full = new Set<Inbox>()
  /** What waits until nobody has a turn to take. */
  readonly #lastTasks: (() => void)[] = []
  #queue: Schedulable[] = []
  /** Those before it had their turn. */
  #head = 0
  /** What is to be called in a later turn of the event loop. */
  #scheduledWork: (() => void) | null = null
  /** The time at the last turn, in milliseconds of the monotonic clock. */
  time = 0

  constructor(executor: (node: number) => Schedulable, resources: RunResources) {
    this.#executorOf = executor
    this.#resources = resources
  }

  /** Whether some performer waits for a place among the asynchronous firings. */
  get hasStarved(): boolean {
    return this.#starved.size > 0
  }

  /** Whether a slice of work is still to come by itself. */
  get isPending(): boolean {
    return this.#scheduledWork !== null
  }

  /** Whether nobody waits for a turn or for a place, now or later. */
  get isQuiet(): boolean {
    return this.#queue.length === 0 && this.#lastTasks.length === 0 && !this.hasStarved && !this.isPending
  }

  schedule(performer: Schedulable): void {
    if (performer.isQueued || performer.closed) return
    performer.isQueued = true
    performer.region?.beginWork()
    this.#queue.push(performer)
  }

  runLast(work: () => void): void {
    this.#lastTasks.push(work)
  }

  admit(performer: Schedulable): boolean {
    if (this.#resources.hasFreePermit) return true
    if (!this.#starved.has(performer)) performer.region?.beginWork()
    this.#starved.add(performer)
    return false
  }

  filled(inbox: Inbox): void {
    this.#full.add(inbox)
    const producer = this.#executorOf(inbox.slot.source)
    if (!producer.closed) producer.fullInboxes++
  }

  freed(inbox: Inbox): void {
    this.#full.delete(inbox)
    const producer = this.#executorOf(inbox.slot.source)
    if (!producer.closed && --producer.fullInboxes === 0) this.schedule(producer)
  }

  /** Has `work` called in a later turn of the event loop; once, however often it is asked for. */
  runLater(work: () => void): void {
    if (this.#scheduledWork) return
    this.#scheduledWork = () => {
      this.#scheduledWork = null
      work()
    }
    this.#resources.timeSlice.runLater(this.#scheduledWork)
  }

  /** Gives turns until nobody can go on, `over` says so, or the slice has passed; then true: there is more to do. */
  work(over: () => boolean): boolean {
    for (;;) {
      this.time = performance.now()
      if (this.#resources.timeSlice.isUsedUp(this.time)) return true
      const end = this.#giveTurns(over)
      if (end !== 'empty') return end === 'passed'
      if (!this.#admitStarved() && !this.#growInbox() && !this.#runLastTask()) return false
      // To find an inbox to enlarge takes the longer, the more are full, and many may have to grow before somebody has a turn.
      if (over()) return false
    }
  }

  /** Gives turns until the queue is empty, `over` says so, or the slice has passed. */
  #giveTurns(over: () => boolean): 'empty' | 'over' | 'passed' {
    const { timeSlice: slice } = this.#resources
    for (let performer = this.#next(); performer; performer = this.#next()) {
      performer.isQueued = false
      performer.takeTurn(this.time)
      if (over()) return 'over'
      performer.region?.endWork()
      const now = performance.now()
      performer.adjustPace(now - this.time)
      this.time = now
      if (slice.isUsedUp(this.time)) return 'passed'
    }
    return 'empty'
  }

  /** Forgets all that waits. */
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
    const performer = this.#queue[this.#head]
    if (!performer) {
      this.#queue.length = 0
      this.#head = 0
      return undefined
    }
    if (++this.#head >= COMPACT_AFTER && this.#head * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    return performer
  }

  /** Lets the one who has starved longest have a free place. */
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

  /** Enlarges an inbox where the graph blocks itself. */
  #growInbox(): boolean {
    const inbox = this.#full.size > 0 ? findInboxToGrow(this.#executorOf, this.#full) : null
    if (!inbox) return false
    inbox.grow()
    resumeProducer(this, inbox)
    return true
  }
}
