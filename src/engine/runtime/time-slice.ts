// Shares out the time of the thread: all runs of the process have one slice of synchronous work in each turn of the event loop. When
// it has passed, they wait until timers, sockets and cancels have had their turn. Owners of runs get their slices one after the other.
import type { Steps } from '../../shared/time-slices.ts'
import { FifoQueue } from './fifo-queue.ts'

/** Milliseconds of work before the event loop gets its turn. */
const SLICE_MS = 4
/** How many that wait with promises may go on in one turn, if there is time. */
const MAX_PROMISED_PER_TURN = 16

/** The slice of the present turn of the event loop, and what waits for a later one. */
class ThreadSchedule {
  /** By owner, each in the order of their turns. No line is empty. */
  readonly #queues = new Map<string, Set<TimeSlice>>()
  #immediate: NodeJS.Immediate | null = null
  /** When the slice began; null before the first work of a turn. */
  #start: number | null = null

  isUsedUp(now: number): boolean {
    if (this.#start === null) {
      this.#start = now
      // The work of the next turn has a slice of its own.
      this.#immediate ??= setImmediate(this.#serve)
    }
    return now - this.#start >= SLICE_MS
  }

  add(slice: TimeSlice): void {
    const line = this.#queues.get(slice.owner) ?? new Set()
    this.#queues.set(slice.owner, line.add(slice))
    this.#immediate ??= setImmediate(this.#serve)
  }

  remove(slice: TimeSlice): void {
    const line = this.#queues.get(slice.owner)
    line?.delete(slice)
    if (line?.size === 0) this.#queues.delete(slice.owner)
    if (this.#queues.size > 0 || this.#start !== null || !this.#immediate) return
    clearImmediate(this.#immediate)
    this.#immediate = null
  }

  /** Gives a slice to those who wait, as far as it goes. */
  readonly #serve = (): void => {
    this.#immediate = null
    this.#start = performance.now()
    this.#serveSome()
    this.#start = null
    if (this.#queues.size === 0) return
    this.#immediate ??= setImmediate(this.#serve)
    for (let left = Math.min(this.#queues.size, MAX_PROMISED_PER_TURN); left > 0; left--) setImmediate(this.#goOn)
  }

  /** Node runs what waits for promises before the next immediate, so that what the one before has used shows. */
  readonly #goOn = (): void => {
    if (this.#queues.size > 0 && !this.isUsedUp(performance.now())) this.#serveSome()
  }

  /** What waits with a promise works after this: nobody else is served before it shows how long that takes. */
  #serveSome(): void {
    for (let next = this.#next(); next; next = this.#next())
      if (next.serve() === 'promised' || this.isUsedUp(performance.now())) return
  }

  /** The next turn of its owner comes after that of all other owners. */
  #next(): TimeSlice | undefined {
    for (const [owner, line] of this.#queues) {
      const [slice] = line
      this.#queues.delete(owner)
      line.delete(slice!)
      if (line.size > 0) this.#queues.set(owner, line)
      return slice
    }
    return undefined
  }
}

const threadSchedule = new ThreadSchedule()

/** Null: the work may go on. Otherwise others have to finish first what it has left to them, and it goes on when that has ended, however it does. */
export type BacklogCheck = () => Promise<void> | null

/** What one run, and the workflows that it calls, have of the thread's time. */
export class TimeSlice {
  /** Runs of one owner share the turns of that owner. */
  readonly owner: string
  readonly #waiting = new Set<() => void>()
  /** The same in the order in which they asked, beside some that were forgotten. */
  readonly #queue = new FifoQueue<() => void>()
  /** Those among them that do nothing but keep a promise. */
  readonly #promised = new WeakSet<() => void>()
  readonly #backlog: BacklogCheck
  /** Whether it waits for its backlog. */
  #isWaitingForBacklog = false

  constructor(owner: string, backlog: BacklogCheck = () => null) {
    this.owner = owner
    this.#backlog = backlog
  }

  /** Whether the slice of this turn has passed at a time (milliseconds of the monotonic clock), or the work waits for its backlog. */
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

  /** Has `work` called in a later turn of the event loop; once, however often it is asked for. */
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
    // Those who waited before may have used the next slice up too, so it asks again.
    while (this.isUsedUp(performance.now())) await new Promise<void>((resolve) => this.#queuePromise(resolve))
  }

  #queuePromise(resolve: () => void): void {
    this.#promised.add(resolve)
    this.runLater(resolve)
  }

  /** Does all of the work, as far as the slice of each turn goes. @throws what the work throws; the signal's reason */
  runSteps<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      // Called when there is time, and at once: what comes with a promise would have to ask again, behind others.
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

  /** Works until the slice has passed, at least one step; whether all is done. */
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

  /** Gives the time that is left to those who wait. `promised`: the last of them works only after this. */
  serve(): 'promised' | 'worked' {
    let last: () => void = () => {}
    // What asks again meanwhile has its time later.
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
