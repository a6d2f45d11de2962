// Long work of the main thread in short slices. Between two slices the event loop serves everything else; owners take turns.
import { setImmediate as soon } from 'node:timers/promises'

/** Work that may stop wherever it yields. It yields at least every millisecond or so, and does not look at the time. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Does all of it at once. */
export function runToCompletion<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Calls `each` for every item, some items to a step. */
export function* forEachSteps<T>(items: Iterable<T>, each: (item: T) => void, some = SOME): Steps<void> {
  let count = 0
  for (const item of items) {
    each(item)
    if (++count % some === 0) yield
  }
}

/** Fills `whole` with pieces, one behind the other, each in a step of its own. */
export function* joinBytesSteps<Bytes extends Uint8Array>(pieces: readonly Uint8Array[], whole: Bytes): Steps<Bytes> {
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
    yield
  }
  return whole
}

/** As `map`, some items to a step. */
export function* mapSteps<T, To>(items: readonly T[], each: (item: T, at: number) => To, some = SOME): Steps<To[]> {
  const made: To[] = []
  for (let at = 0; at < items.length; at++) {
    made.push(each(items[at]!, at))
    if (at % some === some - 1) yield
  }
  return made
}

/**
 * Resolves in a later turn of the event loop, which looks for what has come from outside before. What is called by such, as work on a request is,
 * has its first immediate still in the same turn.
 */
export async function yieldToEventLoop(): Promise<void> {
  await soon()
  await soon()
}

/** So many short pieces of work make a step: of nodes each may have ten thousand values, so that some hundred of them take long. */
const SOME = 32

/** Milliseconds of work before the event loop gets its turn. */
const SLICE_MS = 3
/** The same of work that is mostly short, in the turn in which it is asked for. */
const FIRST_MS = 1

/** The same in the turns that work has while connections come in. */
const CROWDED_MS = 1
/** Of so many turns in which a connection came in, one behind the other, work has one. */
const CROWDED_TURNS = 8

/** Connections that came in turns one behind the other, and how many of them had come when the turn before ended. */
let burst_connections = 0
let earlier_burst_connections = 0

/**
 * Called for each connection that comes in. Node takes one of them in each turn of the event loop, so that hundreds of one user keep another one's waiting
 * for as many turns: these are short until one has brought none.
 */
export function recordIncomingConnection(): void {
  if (burst_connections++ === 0) setImmediate(checkForMoreConnections)
}

function checkForMoreConnections(): void {
  if (burst_connections === earlier_burst_connections) burst_connections = 0
  else setImmediate(checkForMoreConnections)
  earlier_burst_connections = burst_connections
}

/** Whether work has this turn of the event loop: while connections come in one behind the other it has one of so many, or some in a row. */
export function hasEventLoopTurn(crowded_turns = CROWDED_TURNS, in_a_row = 1): boolean {
  return burst_connections < 2 || burst_connections % crowded_turns < in_a_row
}

/** Milliseconds that work may take of a turn that it has, where it takes so many of a `usual` one. */
export function eventLoopTurnMs(usual: number): number {
  return burst_connections < 2 ? usual : Math.min(usual, CROWDED_MS)
}

/** How many that wait with promises may go on in one turn, if there is time. */
const MOST = 128

interface Task {
  /** Goes on until `until` (milliseconds of the monotonic clock); false once it has ended. */
  goOn(until: number): boolean
  /** Whether its work comes after that, as that of a promise does. */
  readonly isPromise: boolean
}

/** One slice of one owner's work runs in each turn of the event loop, however much there is to do. */
export class TimeSliceScheduler {
  /** By owner, the next one first. The first task of an owner is the one under way. */
  readonly #tasks = new Map<string, Task[]>()
  #immediate: NodeJS.Immediate | null = null
  /** How many tasks are promises. */
  #promises = 0
  /** When the slice of this turn ends, in milliseconds of the monotonic clock. */
  #until = 0
  /** When `isTurnUsed` was first asked for in this turn, in the same milliseconds; null: it was not. */
  #first_asked: number | null = null
  readonly #slice_ms: number

  /** Others have their turn after so many milliseconds of work. */
  constructor(slice_ms = SLICE_MS) {
    this.#slice_ms = slice_ms
  }

  /** Does the work in slices, after the same owner's earlier work. */
  run<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(owner, { goOn: (until) => runUntil(steps, until, resolve, reject), isPromise: false })
    })
  }

  /** As `run`, for work that is mostly short: its first millisecond is done at once, so that it seldom waits for a turn, which may be long under load. */
  begin<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (runUntil(steps, performance.now() + FIRST_MS, resolve, reject)) this.run(owner, steps).then(resolve, reject)
    })
  }

  /** Does the work at once where that takes no longer than a slice; else the rest of it as `run` does. */
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

  /** Whether work that waits for no slice, such as telling followers, has taken the time of one in this turn of the event loop. More of it waits for a `turn`. */
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

  /** For work that is no generator, which begins now. */
  turnsOf(owner: string): OwnerTimeSlices {
    return new OwnerTimeSlices(this, owner)
  }

  /** Resolves when the owner has a slice, after the same owner's earlier work. What waits for it works until `isOver`. */
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

  /** Node runs what waits for promises before the next immediate, so that what the one before has used shows. */
  readonly #goOn = (): void => {
    if (this.#tasks.size > 0 && !this.isOver) this.#serve()
  }

  /** What waits for a promise works after this: nobody else is served before it shows how long that takes. */
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

/** The turns of one piece of work. Its first millisecond is done at once: most work is short. */
export class OwnerTimeSlices {
  readonly #slices: TimeSliceScheduler
  readonly #owner: string
  readonly #first = performance.now() + FIRST_MS

  constructor(slices: TimeSliceScheduler, owner: string) {
    this.#slices = slices
    this.#owner = owner
  }

  /** Whether others have waited long enough: it is to wait for the `next` one. */
  get over(): boolean {
    return this.#slices.isOver && performance.now() >= this.#first
  }

  /** As of the slices: what waits for no slice has taken the time of one in this turn of the event loop. It is to wait for the `next` one. */
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
