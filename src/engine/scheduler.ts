// Whose turn it is in one run: a fair queue, the wait for places among the asynchronous firings, and the relief of
// inboxes that block the graph.
import type { Budget } from './budget.ts'
import type { Inbox } from './inbox.ts'
import { unbar } from './intake.ts'
import type { Performer } from './performer.ts'
import { inboxToGrow } from './stall.ts'

/** How many past turns are kept at least before the queue is cut, which happens once they are half of it. */
const SLACK = 1024

export class Scheduler {
  readonly #performer: (node: number) => Performer
  readonly #budget: Budget
  readonly #starved = new Set<Performer>()
  readonly #full = new Set<Inbox>()
  /** What waits until nobody has a turn to take. */
  readonly #lasts: (() => void)[] = []
  #queue: Performer[] = []
  /** Those before it had their turn. */
  #head = 0
  /** What is to be called in a later turn of the event loop. */
  #awaited: (() => void) | null = null
  /** The time at the last turn, in milliseconds of the monotonic clock. */
  time = 0

  constructor(performer: (node: number) => Performer, budget: Budget) {
    this.#performer = performer
    this.#budget = budget
  }

  /** Whether some performer waits for a place among the asynchronous firings. */
  get starving(): boolean {
    return this.#starved.size > 0
  }

  /** Whether a slice of work is still to come by itself. */
  get pending(): boolean {
    return this.#awaited !== null
  }

  /** Whether nobody waits for a turn or for a place, now or later. */
  get quiet(): boolean {
    return this.#queue.length === 0 && this.#lasts.length === 0 && !this.starving && !this.pending
  }

  schedule(performer: Performer): void {
    if (performer.queued || performer.closed) return
    performer.queued = true
    performer.region?.enter()
    this.#queue.push(performer)
  }

  afterOthers(work: () => void): void {
    this.#lasts.push(work)
  }

  admit(performer: Performer): boolean {
    if (this.#budget.free) return true
    if (!this.#starved.has(performer)) performer.region?.enter()
    this.#starved.add(performer)
    return false
  }

  filled(inbox: Inbox): void {
    this.#full.add(inbox)
    const producer = this.#performer(inbox.slot.source)
    if (!producer.closed) producer.full++
  }

  freed(inbox: Inbox): void {
    this.#full.delete(inbox)
    const producer = this.#performer(inbox.slot.source)
    if (!producer.closed && --producer.full === 0) this.schedule(producer)
  }

  /** Has `work` called in a later turn of the event loop; once, however often it is asked for. */
  later(work: () => void): void {
    if (this.#awaited) return
    this.#awaited = () => {
      this.#awaited = null
      work()
    }
    this.#budget.slice.later(this.#awaited)
  }

  /** Gives turns until nobody can go on, `over` says so, or the slice has passed; then true: there is more to do. */
  work(over: () => boolean): boolean {
    for (;;) {
      this.time = performance.now()
      if (this.#budget.slice.passed(this.time)) return true
      const end = this.#giveTurns(over)
      if (end !== 'empty') return end === 'passed'
      if (!this.#feed() && !this.#relieve() && !this.#last()) return false
      // To find an inbox to enlarge takes the longer, the more are full, and many may have to grow before somebody has a turn.
      if (over()) return false
    }
  }

  /** Gives turns until the queue is empty, `over` says so, or the slice has passed. */
  #giveTurns(over: () => boolean): 'empty' | 'over' | 'passed' {
    const { slice } = this.#budget
    for (let performer = this.#next(); performer; performer = this.#next()) {
      performer.queued = false
      performer.turn(this.time)
      if (over()) return 'over'
      performer.region?.leave()
      const now = performance.now()
      performer.paced(now - this.time)
      this.time = now
      if (slice.passed(this.time)) return 'passed'
    }
    return 'empty'
  }

  /** Forgets all that waits. */
  clear(): void {
    if (this.#awaited) this.#budget.slice.forget(this.#awaited)
    this.#awaited = null
    this.#queue = []
    this.#head = 0
    this.#lasts.length = 0
    this.#starved.clear()
    this.#full.clear()
  }

  #next(): Performer | undefined {
    const performer = this.#queue[this.#head]
    if (!performer) {
      this.#queue.length = 0
      this.#head = 0
      return undefined
    }
    if (++this.#head >= SLACK && this.#head * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    return performer
  }

  /** Lets the one who has starved longest have a free place. */
  #feed(): boolean {
    const [hungry] = this.#starved
    if (!hungry || !this.#budget.free) return false
    this.#starved.delete(hungry)
    this.schedule(hungry)
    hungry.region?.leave()
    return true
  }

  #last(): boolean {
    const work = this.#lasts.shift()
    work?.()
    return work !== undefined
  }

  /** Enlarges an inbox where the graph blocks itself. */
  #relieve(): boolean {
    const inbox = this.#full.size > 0 ? inboxToGrow(this.#performer, this.#full) : null
    if (!inbox) return false
    inbox.grow()
    unbar(this, inbox)
    return true
  }
}
