// Long work of the main thread in short slices. Between two slices the event loop serves everything else; owners take turns.
import { setImmediate as soon } from 'node:timers/promises'

/** Work that may pause at each `yield`. It yields at least every millisecond or so, and does not look at the time. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Does all the work at once. */
export function runToCompletion<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Calls `each` for every item, `some` items per step. */
export function* forEachSteps<T>(items: Iterable<T>, each: (item: T) => void, some = SOME): Steps<void> {
  let count = 0
  for (const item of items) {
    each(item)
    if (++count % some === 0) yield
  }
}

/** Fills `whole` with the pieces in order, one piece per step. */
export function* joinBytesSteps<Bytes extends Uint8Array>(pieces: readonly Uint8Array[], whole: Bytes): Steps<Bytes> {
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
    yield
  }
  return whole
}

/** As `map`, `some` items per step. */
export function* mapSteps<T, To>(items: readonly T[], each: (item: T, at: number) => To, some = SOME): Steps<To[]> {
  const made: To[] = []
  for (let at = 0; at < items.length; at++) {
    made.push(each(items[at]!, at))
    if (at % some === some - 1) yield
  }
  return made
}

/**
 * Resolves in a later turn of the event loop, after it has polled for events. Two immediates are needed: in a callback of such an event, such as work
 * on a request, the first immediate still runs in the same turn.
 */
export async function yieldToEventLoop(): Promise<void> {
  await soon()
  await soon()
}

/** The number of items in a step: an item, such as a node, may hold ten thousand values, so some hundred of them take long. */
const SOME = 32

/** Milliseconds of work before the event loop gets its turn. */
const SLICE_MS = 3
/** Milliseconds of mostly short work that are done in the turn of its call. */
const FIRST_MS = 1

/** Milliseconds of work per turn while connections arrive. */
const CROWDED_MS = 1
/** While a connection arrives in every turn, work gets one of this many turns. */
const CROWDED_TURNS = 8

/** The number of connections that arrived in consecutive turns, and the same number at the end of the turn before. */
let burst_connections = 0
let earlier_burst_connections = 0

/**
 * Called for each incoming connection. Node accepts one connection per turn of the event loop, so hundreds of connections of one user delay those of
 * others by as many turns. Turns stay short until a turn brings no connection.
 */
export function recordIncomingConnection(): void {
  if (burst_connections++ === 0) setImmediate(checkForMoreConnections)
}

function checkForMoreConnections(): void {
  if (burst_connections === earlier_burst_connections) burst_connections = 0
  else setImmediate(checkForMoreConnections)
  earlier_burst_connections = burst_connections
}

/** Whether work has this turn of the event loop. While connections arrive one behind the other, it has `in_a_row` of `crowded_turns` turns. */
export function hasEventLoopTurn(crowded_turns = CROWDED_TURNS, in_a_row = 1): boolean {
  return burst_connections < 2 || burst_connections % crowded_turns < in_a_row
}

/** Milliseconds that work may take of its turn, where it takes `usual` without incoming connections. */
export function eventLoopTurnMs(usual: number): number {
  return burst_connections < 2 ? usual : Math.min(usual, CROWDED_MS)
}

/** The number of waiting promises that may resume in one turn, if there is time. */
const MOST = 128

interface Task {
  /** Continues until `until` (milliseconds of the monotonic clock). False: the work has ended. */
  goOn(until: number): boolean
  /** Whether the work follows after `goOn` returns, as that of a promise does. */
  readonly isPromise: boolean
}

/** Runs one slice of one owner's work in each turn of the event loop, however much work waits. */
export class TimeSliceScheduler {
  /** By owner, the next owner first. The first task of an owner is under way. */
  readonly #tasks = new Map<string, Task[]>()
  #immediate: NodeJS.Immediate | null = null
  /** The number of tasks that are promises. */
  #promises = 0
  /** When the slice of this turn ends, in milliseconds of the monotonic clock. */
  #until = 0
  /** When `isTurnUsed` was first read in this turn, in the same milliseconds; null: not yet. */
  #first_asked: number | null = null
  readonly #slice_ms: number

  /** `slice_ms`: milliseconds of work before others get their turn. */
  constructor(slice_ms = SLICE_MS) {
    this.#slice_ms = slice_ms
  }

  /** Does the work in slices, after the same owner's earlier work. */
  run<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(owner, { goOn: (until) => runUntil(steps, until, resolve, reject), isPromise: false })
    })
  }

  /** As `run`, for mostly short work: its first millisecond is done at once. So it seldom waits for a turn, which may take long under load. */
  begin<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (runUntil(steps, performance.now() + FIRST_MS, resolve, reject)) this.run(owner, steps).then(resolve, reject)
    })
  }

  /** Does the work at once if it takes no longer than a slice; otherwise does the rest as `run` does. */
  doNow<T>(owner: string, steps: Steps<T>): T | Promise<T> {
    const until = performance.now() + this.#slice_ms
    do {
      const step = steps.next()
      if (step.done) return step.value
    } while (performance.now() < until)
    return this.run(owner, steps)
  }

  /** Whether the slice of this turn is over, or none has begun. */
  get isOver(): boolean {
    return performance.now() >= this.#until
  }

  /**
   * Whether work without slices, such as sending events to followers, has used the time of a slice in this turn. More such work waits for a `turn`.
   */
  get isTurnUsed(): boolean {
    const now = performance.now()
    if (this.#first_asked !== null) return now - this.#first_asked >= this.#slice_ms
    this.#first_asked = now
    setImmediate(this.#nextTurnBegins)
    return false
  }

  readonly #nextTurnBegins = (): void => {
    this.#first_asked = null
  }

  /** Turns for work that is no generator and begins now. */
  turnsOf(owner: string): OwnerTimeSlices {
    return new OwnerTimeSlices(this, owner)
  }

  /** Resolves when the owner has a slice, after the same owner's earlier work. The caller then works until `isOver`. */
  turn(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const goOn = () => {
        resolve()
        return false
      }
      this.#add(owner, { goOn, isPromise: true })
    })
  }

  #add(owner: string, task: Task): void {
    if (task.isPromise) this.#promises++
    const tasks = this.#tasks.get(owner)
    if (tasks) tasks.push(task)
    else this.#tasks.set(owner, [task])
    this.#immediate ??= setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#immediate = null
    const isOurs = hasEventLoopTurn()
    this.#until = performance.now() + (isOurs ? eventLoopTurnMs(this.#slice_ms) : 0)
    if (isOurs) this.#serve()
    if (this.#tasks.size === 0) return
    this.#immediate ??= setImmediate(this.#turn)
    for (let left = Math.min(this.#promises, MOST); left > 0; left--) setImmediate(this.#goOn)
  }

  /** Node runs the continuations of promises before the next immediate, so the time that they used is known here. */
  readonly #goOn = (): void => {
    if (this.#tasks.size > 0 && !this.isOver) this.#serve()
  }

  /** After a promise is resolved, no other task is served: the time that its work takes is not known yet. */
  #serve(): void {
    do {
      const next = this.#tasks.entries().next()
      if (next.done) return
      const [owner, tasks] = next.value
      const [task] = tasks
      this.#tasks.delete(owner)
      if (!task!.goOn(this.#until)) tasks.shift()
      if (tasks.length > 0) this.#tasks.set(owner, tasks)
      if (!task!.isPromise) continue
      this.#promises--
      return
    } while (!this.isOver)
  }
}

/** The turns of one piece of work. Its first millisecond is done at once, since most work is short. */
export class OwnerTimeSlices {
  readonly #slices: TimeSliceScheduler
  readonly #owner: string
  readonly #first = performance.now() + FIRST_MS

  constructor(slices: TimeSliceScheduler, owner: string) {
    this.#slices = slices
    this.#owner = owner
  }

  /** Whether the time is used up: the caller then waits for `next`. */
  get over(): boolean {
    return this.#slices.isOver && performance.now() >= this.#first
  }

  /** As `isTurnUsed` of the scheduler. If it is true, the caller waits for `next`. */
  get areUsed(): boolean {
    return this.#slices.isTurnUsed
  }

  next(): Promise<void> {
    return this.#slices.turn(this.#owner)
  }
}

function runUntil<T>(
  steps: Steps<T>,
  until: number,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): boolean {
  try {
    do {
      const step = steps.next()
      if (step.done) {
        resolve(step.value)
        return false
      }
    } while (performance.now() < until)
    return true
  } catch (error) {
    reject(error)
    return false
  }
}
