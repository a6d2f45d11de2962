// How much memory answers take that wait for their readers, of all connections together. Where it is too much, connections are cut: those of the owner for
// whom most is held, and of these the one first whose reader has taken nothing for the longest time. What is small is not told to it, and costs nothing.
import { estimateMemorySteps } from '../engine/node-api/values/measure.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import { heapShareBytes } from '../payloads/fair-memory-account.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'

/** In bytes: what an answer holds is told from here on. */
export const LARGE_RESPONSE_BYTES = 262_144

/** What all of them may hold of the heap. */
const HEAP_FRACTION = 1 / 8
/** Readers that were cut are told of at most so often, in milliseconds. */
const LOG_INTERVAL_MS = 60_000

export interface ResponseBufferLimits {
  /** In bytes. */
  readonly most: number
  readonly tell_ms: number
}

/** What may be held where a body has at most `max_body_bytes`: two answers of one such value as a text have room in a small heap as well. */
export function maxResponseBufferBytes(max_body_bytes: number): number {
  return Math.max(heapShareBytes(HEAP_FRACTION), 2 * 2 * max_body_bytes)
}

interface OwnerBuffers {
  held: number
  /** Those for whom something is held; first who has taken nothing for the longest time. */
  readonly readers: Set<ResponseReader>
}

/** About so many bytes of memory. How many a character takes is not to be seen. */
export function estimateBytes(content: string | Uint8Array): number {
  return typeof content === 'string' ? 2 * content.length : content.byteLength
}

/** Steps of about a thousand values each. */
const STEPS_AT_ONCE = 8

/** About how many bytes a container takes: at once where it was measured before or is not very large, else in time slices of its owner, for the reader. */
export function estimateContainerBytes(
  container: object,
  slices: Pick<TimeSliceScheduler, 'run'>,
  owner: string,
  reader?: ResponseReader,
): number | Promise<number> {
  const steps = estimateMemorySteps(container)
  for (let left = STEPS_AT_ONCE; left > 0; left--) {
    const step = steps.next()
    if (step.done) return step.value
  }
  return runForReader(reader, steps, (work) => slices.run(owner, work))
}

/**
 * Has `run` do steps for a reader. Where its connection ends before they are done, what they work on is let go of at once: their turn may be far.
 * @throws SERVICE_UNAVAILABLE then
 */
export function runForReader<T>(
  reader: ResponseReader | undefined,
  steps: Steps<T>,
  run: (work: Steps<T>) => Promise<T>,
): Promise<T> {
  return reader ? new ReaderWork(steps, run).waitFor(reader) : run(steps)
}

/** Steps that are done as long as any reader waits for them. */
export class ReaderWork<T> {
  /** Null once they are done, or nobody waits for them. */
  #steps: Steps<T> | null
  #onEnd: (() => void) | null
  #waiting = 0
  readonly #done: Promise<T>

  /** `over` is called once, when they are done or let go of. */
  constructor(steps: Steps<T>, run: (work: Steps<T>) => Promise<T>, over: () => void = () => {}) {
    this.#steps = steps
    this.#onEnd = over
    this.#done = run(this.#work()).finally(() => this.#end())
  }

  /** What they come to. @throws SERVICE_UNAVAILABLE as soon as the connection of the reader has ended */
  waitFor(reader: ResponseReader): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting++
    const stay = reader.onEnd(() => {
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
    this.#onEnd?.()
    this.#onEnd = null
  }
}

export class ResponseBuffers {
  readonly #most: number
  readonly #owners = new Map<string, OwnerBuffers>()
  /** By what is held for several: who does, the one first for whom it counts. */
  readonly #shared = new Map<object, Set<{ readonly reader: ResponseReader }>>()
  readonly #logCut: () => void
  #total = 0

  constructor(
    log: Pick<Log, 'warn'>,
    { most, tell_ms = LOG_INTERVAL_MS }: Pick<ResponseBufferLimits, 'most'> & Partial<ResponseBufferLimits>,
  ) {
    this.#most = most
    const text = 'connections are cut: their readers take too little of large answers'
    this.#logCut = throttle(tell_ms, (cut) => log.warn({ cut, most }, text))
  }

  /** Who reads from one connection, which `cut` ends. */
  createReader(owner: string, cut: () => void): ResponseReader {
    return new ResponseReader(this, owner, cut)
  }

  /** Used by readers alone: holds so many bytes more for one, or fewer. */
  adjust(reader: ResponseReader, bytes: number): void {
    if (bytes === 0) return
    const owner = this.#owners.get(reader.owner) ?? { held: 0, readers: new Set() }
    this.#owners.set(reader.owner, owner)
    reader.heldBytes += bytes
    owner.held += bytes
    this.#total += bytes
    if (reader.heldBytes > 0) owner.readers.add(reader)
    else owner.readers.delete(reader)
    if (owner.readers.size === 0) this.#owners.delete(reader.owner)
    if (bytes > 0) this.#cutUntilWithinLimit(reader, bytes)
  }

  /** Used by readers alone: the same of something that is one object for all who are sent it. Counts for one of them at a time. */
  share(reader: ResponseReader, object: object, bytes: number): () => void {
    const holders = this.#shared.get(object) ?? new Set()
    this.#shared.set(object, holders)
    const holder = { reader }
    holders.add(holder)
    if (holders.size === 1) reader.adjust(bytes)
    return callOnce(() => {
      const [counting] = holders
      holders.delete(holder)
      if (holders.size === 0) this.#shared.delete(object)
      if (counting !== holder) return
      reader.adjust(-bytes)
      const [next] = holders
      next?.reader.adjust(bytes)
    })
  }

  /** Used by readers alone: one has taken something. */
  took(reader: ResponseReader): void {
    const readers = this.#owners.get(reader.owner)?.readers
    if (readers?.delete(reader)) readers.add(reader)
  }

  /** Cuts until what is held is no longer too much. The one that more is held for stays, unless that is twice of what may be held for all. */
  #cutUntilWithinLimit(comer: ResponseReader, bytes: number): void {
    while (this.#total > this.#most) {
      const reader = this.#chooseReaderToCut(comer, bytes)
      if (!reader) return
      this.#logCut()
      reader.disconnect()
      if (reader === comer) return
    }
  }

  /** Of whoever holds most, and not only what stays. */
  #chooseReaderToCut(comer: ResponseReader, bytes: number): ResponseReader | undefined {
    // One answer may count in several forms until it is sent: its text, its value and its bytes.
    const spared = comer.heldBytes > 2 * this.#most ? bytes : comer.heldBytes
    let most = 0
    let readers: Iterable<ResponseReader> = []
    for (const [key, owner] of this.#owners) {
      const isNew = key === comer.owner && owner.held === spared
      if (isNew || owner.held <= most) continue
      most = owner.held
      readers = owner.readers
    }
    for (const reader of readers) if (reader !== comer || reader.heldBytes > spared) return reader
    return
  }
}

export class ResponseReader {
  readonly owner: string
  /** Bytes. Written by the account alone. */
  heldBytes = 0
  readonly #account: ResponseBuffers
  readonly #disconnect: () => void
  readonly #endListeners = new Set<() => void>()
  #ended = false

  constructor(account: ResponseBuffers, owner: string, cut: () => void) {
    this.#account = account
    this.owner = owner
    this.#disconnect = cut
  }

  /** Whether nothing more is sent to it. */
  get hasEnded(): boolean {
    return this.#ended
  }

  /** Holds so many bytes until the returned function is called. */
  hold(bytes: number): () => void {
    this.adjust(bytes)
    return callOnce(() => this.adjust(-bytes))
  }

  /** The same of what others may be sent as the very same object: it counts once. */
  share(object: object, bytes: number): () => void {
    if (this.#ended) return () => {}
    const release = this.#account.share(this, object, bytes)
    const stay = this.onEnd(release)
    return () => {
      stay()
      release()
    }
  }

  /** Calls `ended` when its connection ends, at once where it has, and not once the returned function is called. */
  onEnd(ended: () => void): () => void {
    if (this.#ended) ended()
    else this.#endListeners.add(ended)
    return () => void this.#endListeners.delete(ended)
  }

  /** Holds so many bytes more, or fewer. */
  adjust(bytes: number): void {
    if (!this.#ended) this.#account.adjust(this, bytes)
  }

  /** It has taken something: others who have not are cut before. */
  took(): void {
    this.#account.took(this)
  }

  /** Its connection has ended: nothing is held for it any more. */
  end(): void {
    for (const ended of this.#endListeners) ended()
    this.#endListeners.clear()
    this.adjust(-this.heldBytes)
    this.#ended = true
  }

  /** Ends its connection. */
  disconnect(): void {
    this.end()
    this.#disconnect()
  }
}

function callOnce(run: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    run()
  }
}

/** Tells of the first one at once, and of those that follow within `ms` together. */
function throttle(ms: number, tell: (count: number) => void): () => void {
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
