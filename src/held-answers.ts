// How much memory answers take that wait for their readers, of all connections together. Where it is too much, connections are cut: those of the owner for
// whom most is held, and of these the one first whose reader has taken nothing for the longest time. What is small is not told to it, and costs nothing.
import { memorySteps } from './engine/measure.ts'
import { ServiceError } from './errors.ts'
import type { Log } from './log.ts'
import { heapBytes } from './payloads/memory-account.ts'
import type { Steps, TimeSlices } from './time-slices.ts'

/** In bytes: what an answer holds is told from here on. */
export const LARGE_ANSWER = 262_144

/** What all of them may hold of the heap. */
const PART_OF_HEAP = 1 / 8
/** Readers that were cut are told of at most so often, in milliseconds. */
const TELL_MS = 60_000

export interface AnswerLimits {
  /** In bytes. */
  readonly most: number
  readonly tell_ms: number
}

/** What may be held where a body has at most `max_body_bytes`: two answers of one such value as a text have room in a small heap as well. */
export function heldAtMost(max_body_bytes: number): number {
  return Math.max(heapBytes(PART_OF_HEAP), 2 * 2 * max_body_bytes)
}

interface Owner {
  held: number
  /** Those for whom something is held; first who has taken nothing for the longest time. */
  readonly readers: Set<Reader>
}

/** About so many bytes of memory. How many a character takes is not to be seen. */
export function bytesOf(content: string | Uint8Array): number {
  return typeof content === 'string' ? 2 * content.length : content.byteLength
}

/** Steps of about a thousand values each. */
const STEPS_AT_ONCE = 8

/** About how many bytes a container takes: at once where it was measured before or is not very large, else in time slices of its owner, for the reader. */
export function weigh(
  container: object,
  slices: Pick<TimeSlices, 'run'>,
  owner: string,
  reader?: Reader,
): number | Promise<number> {
  const steps = memorySteps(container)
  for (let left = STEPS_AT_ONCE; left > 0; left--) {
    const step = steps.next()
    if (step.done) return step.value
  }
  return doFor(reader, steps, (work) => slices.run(owner, work))
}

/**
 * Has `run` do steps for a reader. Where its connection ends before they are done, what they work on is let go of at once: their turn may be far.
 * @throws SERVICE_UNAVAILABLE then
 */
export function doFor<T>(reader: Reader | undefined, steps: Steps<T>, run: (work: Steps<T>) => Promise<T>): Promise<T> {
  return reader ? new WorkForReaders(steps, run).doneFor(reader) : run(steps)
}

/** Steps that are done as long as any reader waits for them. */
export class WorkForReaders<T> {
  /** Null once they are done, or nobody waits for them. */
  #steps: Steps<T> | null
  #over: (() => void) | null
  #waiting = 0
  readonly #done: Promise<T>

  /** `over` is called once, when they are done or let go of. */
  constructor(steps: Steps<T>, run: (work: Steps<T>) => Promise<T>, over: () => void = () => {}) {
    this.#steps = steps
    this.#over = over
    this.#done = run(this.#work()).finally(() => this.#end())
  }

  /** What they come to. @throws SERVICE_UNAVAILABLE as soon as the connection of the reader has ended */
  doneFor(reader: Reader): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting++
    const stay = reader.whenEnded(() => {
      if (--this.#waiting === 0) this.#end()
      reject(new ServiceError('SERVICE_UNAVAILABLE'))
    })
    this.#done.then(resolve, reject).finally(stay)
    return promise
  }

  *#work(): Steps<T> {
    for (;;) {
      const step = this.#step()
      if (step.done) return step.value
      yield
    }
  }

  #step(): IteratorResult<undefined, T> {
    if (!this.#steps) throw new ServiceError('SERVICE_UNAVAILABLE')
    return this.#steps.next()
  }

  #end(): void {
    this.#steps = null
    this.#over?.()
    this.#over = null
  }
}

export class HeldAnswers {
  readonly #most: number
  readonly #owners = new Map<string, Owner>()
  /** By what is held for several: who does, the one first for whom it counts. */
  readonly #shared = new Map<object, Set<{ readonly reader: Reader }>>()
  readonly #told: () => void
  #total = 0

  constructor(log: Pick<Log, 'warn'>, { most, tell_ms = TELL_MS }: Pick<AnswerLimits, 'most'> & Partial<AnswerLimits>) {
    this.#most = most
    const text = 'connections are cut: their readers take too little of large answers'
    this.#told = seldom(tell_ms, (cut) => log.warn({ cut, most }, text))
  }

  /** Who reads from one connection, which `cut` ends. */
  reader(owner: string, cut: () => void): Reader {
    return new Reader(this, owner, cut)
  }

  /** Used by readers alone: holds so many bytes more for one, or fewer. */
  change(reader: Reader, bytes: number): void {
    if (bytes === 0) return
    const owner = this.#owners.get(reader.owner) ?? { held: 0, readers: new Set() }
    this.#owners.set(reader.owner, owner)
    reader.held += bytes
    owner.held += bytes
    this.#total += bytes
    if (reader.held > 0) owner.readers.add(reader)
    else owner.readers.delete(reader)
    if (owner.readers.size === 0) this.#owners.delete(reader.owner)
    if (bytes > 0) this.#fit(reader, bytes)
  }

  /** Used by readers alone: the same of something that is one object for all who are sent it. Counts for one of them at a time. */
  share(reader: Reader, object: object, bytes: number): () => void {
    const holders = this.#shared.get(object) ?? new Set()
    this.#shared.set(object, holders)
    const holder = { reader }
    holders.add(holder)
    if (holders.size === 1) reader.change(bytes)
    return once(() => {
      const [counting] = holders
      holders.delete(holder)
      if (holders.size === 0) this.#shared.delete(object)
      if (counting !== holder) return
      reader.change(-bytes)
      const [next] = holders
      next?.reader.change(bytes)
    })
  }

  /** Used by readers alone: one has taken something. */
  took(reader: Reader): void {
    const readers = this.#owners.get(reader.owner)?.readers
    if (readers?.delete(reader)) readers.add(reader)
  }

  /** Cuts until what is held is no longer too much. The one that more is held for stays, unless that is twice of what may be held for all. */
  #fit(comer: Reader, bytes: number): void {
    while (this.#total > this.#most) {
      const reader = this.#next(comer, bytes)
      if (!reader) return
      this.#told()
      reader.cut()
      if (reader === comer) return
    }
  }

  /** Of whoever holds most, and not only what stays. */
  #next(comer: Reader, bytes: number): Reader | undefined {
    // One answer may count in several forms until it is sent: its text, its value and its bytes.
    const spared = comer.held > 2 * this.#most ? bytes : comer.held
    let most = 0
    let readers: Iterable<Reader> = []
    for (const [key, owner] of this.#owners) {
      const isNew = key === comer.owner && owner.held === spared
      if (isNew || owner.held <= most) continue
      most = owner.held
      readers = owner.readers
    }
    for (const reader of readers) if (reader !== comer || reader.held > spared) return reader
    return
  }
}

export class Reader {
  readonly owner: string
  /** Bytes. Written by the account alone. */
  held = 0
  readonly #account: HeldAnswers
  readonly #cut: () => void
  readonly #endings = new Set<() => void>()
  #ended = false

  constructor(account: HeldAnswers, owner: string, cut: () => void) {
    this.#account = account
    this.owner = owner
    this.#cut = cut
  }

  /** Whether nothing more is sent to it. */
  get ended(): boolean {
    return this.#ended
  }

  /** Holds so many bytes until the returned function is called. */
  hold(bytes: number): () => void {
    this.change(bytes)
    return once(() => this.change(-bytes))
  }

  /** The same of what others may be sent as the very same object: it counts once. */
  share(object: object, bytes: number): () => void {
    if (this.#ended) return () => {}
    const release = this.#account.share(this, object, bytes)
    const stay = this.whenEnded(release)
    return () => {
      stay()
      release()
    }
  }

  /** Calls `ended` when its connection ends, at once where it has, and not once the returned function is called. */
  whenEnded(ended: () => void): () => void {
    if (this.#ended) ended()
    else this.#endings.add(ended)
    return () => void this.#endings.delete(ended)
  }

  /** Holds so many bytes more, or fewer. */
  change(bytes: number): void {
    if (!this.#ended) this.#account.change(this, bytes)
  }

  /** It has taken something: others who have not are cut before. */
  took(): void {
    this.#account.took(this)
  }

  /** Its connection has ended: nothing is held for it any more. */
  end(): void {
    for (const ended of this.#endings) ended()
    this.#endings.clear()
    this.change(-this.held)
    this.#ended = true
  }

  /** Ends its connection. */
  cut(): void {
    this.end()
    this.#cut()
  }
}

function once(run: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    run()
  }
}

/** Tells of the first one at once, and of those that follow within `ms` together. */
function seldom(ms: number, tell: (count: number) => void): () => void {
  let count = 0
  let waiting = false
  const now = () => {
    waiting = count > 0
    if (!waiting) return
    tell(count)
    count = 0
    setTimeout(now, ms).unref()
  }
  return () => {
    count++
    if (!waiting) now()
  }
}
