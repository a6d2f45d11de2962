// Shares the time of the main thread: all runs of the process have one slice of synchronous work per turn of the event loop. Then they wait
// until timers, sockets and cancels had their turn. Owners of runs get slices one after the other.
import type { Steps } from '../../shared/time-slices.ts'
import { FifoQueue } from './fifo-queue.ts'

/** Milliseconds of work before the event loop gets its turn. */
const SLICE_MS = 4
/** The limit of waiters with promises that continue in one turn, if there is time. */
const MAX_PROMISED_PER_TURN = 16

/** The slice of the current turn of the event loop, and the work that waits for a later one. */
class ThreadSchedule {
  /** Waiting slices by owner, each in the order of turns. No queue is empty. */
  readonly #queues = new Map<string, Set<TimeSlice>>()
  #immediate: NodeJS.Immediate | null = null
  /** When the slice began; null before the first work of a turn. */
  #start: number | null = null

  isUsedUp(now: number): boolean {
    if (this.#start === null) {
      this.#start = now
      // The work of the next turn has its own slice.
      this.#immediate ??= setImmediate(this.#serve)
    }
    return now - this.#start >= SLICE_MS
  }

  add(slice: TimeSlice): void {
    const queue = this.#queues.get(slice.owner) ?? new Set()
    this.#queues.set(slice.owner, queue.add(slice))
    this.#immediate ??= setImmediate(this.#serve)
  }

  remove(slice: TimeSlice): void {
    const queue = this.#queues.get(slice.owner)
    queue?.delete(slice)
    if (queue?.size === 0) this.#queues.delete(slice.owner)
    if (this.#queues.size > 0 || this.#start !== null || !this.#immediate) return
    clearImmediate(this.#immediate)
    this.#immediate = null
  }

  /** Gives the time of a slice to waiting runs. */
  readonly #serve = (): void => {
    this.#immediate = null
    this.#start = performance.now()
    this.#serveSome()
    this.#start = null
    if (this.#queues.size === 0) return
    this.#immediate ??= setImmediate(this.#serve)
    for (let left = Math.min(this.#queues.size, MAX_PROMISED_PER_TURN); left > 0; left--) setImmediate(this.#goOn)
  }

  /** Node runs promise callbacks before the next immediate, so that their time is measured before more work is served. */
  readonly #goOn = (): void => {
    if (this.#queues.size > 0 && !this.isUsedUp(performance.now())) this.#serveSome()
  }

  /** Work behind a promise runs after this function: no other work is served before its time is known. */
  #serveSome(): void {
    for (let next = this.#next(); next; next = this.#next())
      if (next.serve() === 'promised' || this.isUsedUp(performance.now())) return
  }

  /** The next turn of the owner comes after those of all other owners. */
  #next(): TimeSlice | undefined {
    for (const [owner, queue] of this.#queues) {
      const [slice] = queue
      this.#queues.delete(owner)
      queue.delete(slice!)
      if (queue.size > 0) this.#queues.set(owner, queue)
      return slice
    }
    return undefined
  }
}

const threadSchedule = new ThreadSchedule()

/** Null: the work may continue. Otherwise consumers must first process its results; it continues when the promise settles. */
export type BacklogCheck = () => Promise<void> | null

/** The share of the thread's time of one run and the workflows that it calls. */
export class TimeSlice {
  /** Runs of one owner share the turns of that owner. */
  readonly owner: string
  readonly #waiting = new Set<() => void>()
  /** Waiting work in the order of requests, including some that was cancelled. */
  readonly #queue = new FifoQueue<() => void>()
  /** Waiting work that only resolves a promise. */
  readonly #promised = new WeakSet<() => void>()
  readonly #backlog: BacklogCheck
  /** Whether the work waits for its backlog. */
  #isWaitingForBacklog = false

  constructor(owner: string, backlog: BacklogCheck = () => null) {
    this.owner = owner
    this.#backlog = backlog
  }

  /** Whether the slice of this turn has passed at `now` (monotonic milliseconds), or the work waits for its backlog. */
  isUsedUp(now: number): boolean {
    return this.#mustWaitForBacklog() || threadSchedule.isUsedUp(now)
  }

  #mustWaitForBacklog(): boolean {
    if (this.#isWaitingForBacklog) return true
    const caughtUp = this.#backlog()
    if (caughtUp === null) return false
    this.#isWaitingForBacklog = true
    const goOn = () => {
      this.#isWaitingForBacklog = false
      this.#join()
    }
    caughtUp.then(goOn, goOn)
    return true
  }

  #join(): void {
    if (this.#waiting.size > 0 && !this.#isWaitingForBacklog) threadSchedule.add(this)
  }

  /** Calls `work` in a later turn of the event loop; once, however often it is requested. */
  runLater(work: () => void): void {
    if (!this.#waiting.has(work)) this.#queue.push(work)
    this.#waiting.add(work)
    this.#join()
  }

  cancel(work: () => void): void {
    if (!this.#waiting.delete(work) || this.#waiting.size > 0) return
    this.#queue.clear()
    threadSchedule.remove(this)
  }

  /** Resolves as soon as there is time left: at once, or in a later turn of the event loop. */
  async waitForTurn(): Promise<void> {
    // Earlier waiters may have used up the next slice too, so it is checked again.
    while (this.isUsedUp(performance.now())) await new Promise<void>((resolve) => this.#queuePromise(resolve))
  }

  #queuePromise(resolve: () => void): void {
    this.#promised.add(resolve)
    this.runLater(resolve)
  }

  /** Runs all steps within the slices of successive turns. @throws what a step throws; the signal's reason */
  runSteps<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      // Called directly when there is time: a promise would have to wait again, behind others.
      const goOn = () => {
        try {
          if (!this.#runSome(steps, signal, resolve)) this.runLater(goOn)
        } catch (error) {
          reject(error)
        }
      }
      if (this.isUsedUp(performance.now())) this.runLater(goOn)
      else goOn()
    })
  }

  /** Runs steps until the slice has passed, at least one; returns whether all are done. */
  #runSome<T>(steps: Steps<T>, signal: AbortSignal, done: (value: T) => void): boolean {
    signal.throwIfAborted()
    do {
      const step = steps.next()
      if (step.done) {
        done(step.value)
        return true
      }
    } while (!this.isUsedUp(performance.now()))
    return false
  }

  /** Gives the remaining time to waiting work. `promised`: the last of it runs only after this call. */
  serve(): 'promised' | 'worked' {
    let last: () => void = () => {}
    // Work that is requested again meanwhile is served later.
    for (let left = this.#queue.length; left > 0; left--) {
      const work = this.#queue.shift()
      if (!work || !this.#waiting.delete(work)) continue
      last = work
      work()
      if (this.#promised.has(work) || this.isUsedUp(performance.now())) break
    }
    this.#join()
    return this.#promised.has(last) ? 'promised' : 'worked'
  }
}
