// Long work of the main thread in short slices. Between two slices the event loop serves everything else; owners take turns.
import { setImmediate as soon } from 'node:timers/promises'

/** Work that may stop wherever it yields. It yields at least every millisecond or so, and does not look at the time. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Does all of it at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Calls `each` for every item, some items to a step. */
export function* forEachStep<T>(items: Iterable<T>, each: (item: T) => void, some = SOME): Steps<void> {
  let count = 0
  for (const item of items) {
    each(item)
    if (++count % some === 0) yield
  }
}

/** As `map`, some items to a step. */
export function* mapStep<T, To>(items: readonly T[], each: (item: T, at: number) => To): Steps<To[]> {
  const made: To[] = []
  for (let at = 0; at < items.length; at++) {
    made.push(each(items[at]!, at))
    if (at % SOME === SOME - 1) yield
  }
  return made
}

/**
 * Resolves in a later turn of the event loop, which looks for what has come from outside before. What is called by such, as work on a request is,
 * has its first immediate still in the same turn.
 */
export async function nextTurn(): Promise<void> {
  await soon()
  await soon()
}

/** So many short pieces of work make a step. */
const SOME = 256

/** Milliseconds of work before the event loop gets its turn. */
const SLICE_MS = 3
/** The same of work that is mostly short, in the turn in which it is asked for. */
const FIRST_MS = 1

interface Task {
  /** Goes on until `until` (milliseconds of the monotonic clock); false once it has ended. */
  goOn(until: number): boolean
}

/** One slice of one owner's work runs in each turn of the event loop, however much there is to do. */
export class TimeSlices {
  /** By owner, the next one first. The first task of an owner is the one under way. */
  readonly #tasks = new Map<string, Task[]>()
  #immediate: NodeJS.Immediate | null = null
  readonly #slice_ms: number

  /** Others have their turn after so many milliseconds of work. */
  constructor(slice_ms = SLICE_MS) {
    this.#slice_ms = slice_ms
  }

  /** Does the work in slices, after the same owner's earlier work. */
  run<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const task = { goOn: (until: number) => goOn(steps, until, resolve, reject) }
      const tasks = this.#tasks.get(owner)
      if (tasks) tasks.push(task)
      else this.#tasks.set(owner, [task])
      this.#immediate ??= setImmediate(this.#turn)
    })
  }

  /** As `run`, for work that is mostly short: its first millisecond is done at once, so that it seldom waits for a turn, which may be long under load. */
  begin<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (goOn(steps, performance.now() + FIRST_MS, resolve, reject)) this.run(owner, steps).then(resolve, reject)
    })
  }

  readonly #turn = (): void => {
    this.#immediate = null
    const until = performance.now() + this.#slice_ms
    do {
      const next = this.#tasks.entries().next()
      if (next.done) return
      const [owner, tasks] = next.value
      this.#tasks.delete(owner)
      if (!tasks[0]!.goOn(until)) tasks.shift()
      if (tasks.length > 0) this.#tasks.set(owner, tasks)
    } while (performance.now() < until)
    if (this.#tasks.size > 0) this.#immediate = setImmediate(this.#turn)
  }
}

function goOn<T>(
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
