// Shares out the time of the thread: all runs of the process have one slice of synchronous work in each turn of the event loop. When
// it has passed, they wait until timers, sockets and cancels have had their turn. Owners of runs get their slices one after the other.
import type { Steps } from '../time-slices.ts'
import { Line } from './line.ts'

/** Milliseconds of work before the event loop gets its turn. */
const SLICE = 4
/** How many that wait with promises may go on in one turn, if there is time. */
const MOST = 16

/** The slice of the present turn of the event loop, and what waits for a later one. */
class ThreadTime {
  /** By owner, each in the order of their turns. No line is empty. */
  readonly #lines = new Map<string, Set<Slice>>()
  #immediate: NodeJS.Immediate | null = null
  /** When the slice began; null before the first work of a turn. */
  #start: number | null = null

  passed(now: number): boolean {
    if (this.#start === null) {
      this.#start = now
      // The work of the next turn has a slice of its own.
      this.#immediate ??= setImmediate(this.#serve)
    }
    return now - this.#start >= SLICE
  }

  join(slice: Slice): void {
    const line = this.#lines.get(slice.owner) ?? new Set()
    this.#lines.set(slice.owner, line.add(slice))
    this.#immediate ??= setImmediate(this.#serve)
  }

  leave(slice: Slice): void {
    const line = this.#lines.get(slice.owner)
    line?.delete(slice)
    if (line?.size === 0) this.#lines.delete(slice.owner)
    if (this.#lines.size > 0 || this.#start !== null || !this.#immediate) return
    clearImmediate(this.#immediate)
    this.#immediate = null
  }

  /** Gives a slice to those who wait, as far as it goes. */
  readonly #serve = (): void => {
    this.#immediate = null
    this.#start = performance.now()
    this.#serveSome()
    this.#start = null
    if (this.#lines.size === 0) return
    this.#immediate ??= setImmediate(this.#serve)
    for (let left = Math.min(this.#lines.size, MOST); left > 0; left--) setImmediate(this.#goOn)
  }

  /** Node runs what waits for promises before the next immediate, so that what the one before has used shows. */
  readonly #goOn = (): void => {
    if (this.#lines.size > 0 && !this.passed(performance.now())) this.#serveSome()
  }

  /** What waits with a promise works after this: nobody else is served before it shows how long that takes. */
  #serveSome(): void {
    for (let next = this.#next(); next; next = this.#next())
      if (next.serve() === 'promised' || this.passed(performance.now())) return
  }

  /** The next turn of its owner comes after that of all other owners. */
  #next(): Slice | undefined {
    for (const [owner, line] of this.#lines) {
      const [slice] = line
      this.#lines.delete(owner)
      line.delete(slice!)
      if (line.size > 0) this.#lines.set(owner, line)
      return slice
    }
    return undefined
  }
}

const thread = new ThreadTime()

/** Null: the work may go on. Otherwise others have to finish first what it has left to them, and it goes on when that has ended, however it does. */
export type Backlog = () => Promise<void> | null

/** What one run, and the workflows that it calls, have of the thread's time. */
export class Slice {
  /** Runs of one owner share the turns of that owner. */
  readonly owner: string
  readonly #waiting = new Set<() => void>()
  /** The same in the order in which they asked, beside some that were forgotten. */
  readonly #line = new Line<() => void>()
  /** Those among them that do nothing but keep a promise. */
  readonly #promised = new WeakSet<() => void>()
  readonly #backlog: Backlog
  /** Whether it waits for its backlog. */
  #held = false

  constructor(owner: string, backlog: Backlog = () => null) {
    this.owner = owner
    this.#backlog = backlog
  }

  /** Whether the slice of this turn has passed at a time (milliseconds of the monotonic clock), or the work waits for its backlog. */
  passed(now: number): boolean {
    return this.#isHeld() || thread.passed(now)
  }

  #isHeld(): boolean {
    if (this.#held) return true
    const caughtUp = this.#backlog()
    if (caughtUp === null) return false
    this.#held = true
    const goOn = () => {
      this.#held = false
      this.#join()
    }
    caughtUp.then(goOn, goOn)
    return true
  }

  #join(): void {
    if (this.#waiting.size > 0 && !this.#held) thread.join(this)
  }

  /** Has `work` called in a later turn of the event loop; once, however often it is asked for. */
  later(work: () => void): void {
    if (!this.#waiting.has(work)) this.#line.push(work)
    this.#waiting.add(work)
    this.#join()
  }

  forget(work: () => void): void {
    if (!this.#waiting.delete(work) || this.#waiting.size > 0) return
    this.#line.clear()
    thread.leave(this)
  }

  /** Resolves as soon as there is time left: at once, or in a later turn of the event loop. */
  async turn(): Promise<void> {
    // Those who waited before may have used the next slice up too, so it asks again.
    while (this.passed(performance.now())) await new Promise<void>((resolve) => this.#promise(resolve))
  }

  #promise(resolve: () => void): void {
    this.#promised.add(resolve)
    this.later(resolve)
  }

  /** Does all of the work, as far as the slice of each turn goes. @throws what the work throws; the signal's reason */
  work<T>(steps: Steps<T>, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      // Called when there is time, and at once: what comes with a promise would have to ask again, behind others.
      const goOn = () => {
        try {
          if (!this.#goOn(steps, signal, resolve)) this.later(goOn)
        } catch (error) {
          reject(error)
        }
      }
      if (this.passed(performance.now())) this.later(goOn)
      else goOn()
    })
  }

  /** Works until the slice has passed, at least one step; whether all is done. */
  #goOn<T>(steps: Steps<T>, signal: AbortSignal, done: (value: T) => void): boolean {
    signal.throwIfAborted()
    do {
      const step = steps.next()
      if (step.done) {
        done(step.value)
        return true
      }
    } while (!this.passed(performance.now()))
    return false
  }

  /** Gives the time that is left to those who wait. `promised`: the last of them works only after this. */
  serve(): 'promised' | 'worked' {
    let last: () => void = () => {}
    // What asks again meanwhile has its time later.
    for (let left = this.#line.length; left > 0; left--) {
      const work = this.#line.shift()
      if (!work || !this.#waiting.delete(work)) continue
      last = work
      work()
      if (this.#promised.has(work) || this.passed(performance.now())) break
    }
    this.#join()
    return this.#promised.has(last) ? 'promised' : 'worked'
  }
}
