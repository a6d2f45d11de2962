// Accounts the memory of answers that wait for their readers, over all connections. Beyond the limit, connections are cut: those of the
// owner with the most memory first, and of these the longest idle reader. Small answers are not counted and cost nothing.
import { estimateMemorySteps } from '../engine/node-api/values/measure.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import { heapShareBytes } from '../payloads/fair-memory-account.ts'
import type { Steps, TimeSliceScheduler } from '../shared/time-slices.ts'

/** Answers are counted from this size on, in bytes. */
export const LARGE_RESPONSE_BYTES = 262_144

/** The share of the heap that all answers may hold. */
const HEAP_FRACTION = 1 / 8
/** The shortest time between two log lines about cut readers, in milliseconds. */
const LOG_INTERVAL_MS = 60_000

export interface ResponseBufferLimits {
  /** Bytes. */
  readonly most: number
  readonly tell_ms: number
}

/** The limit in bytes, where a body has at most `max_body_bytes`. A small heap has room for two answers with one such value as text. */
export function maxResponseBufferBytes(max_body_bytes: number): number {
  return Math.max(heapShareBytes(HEAP_FRACTION), 2 * 2 * max_body_bytes)
}

interface OwnerBuffers {
  held: number
  /** The readers with held memory, the longest idle one first. */
  readonly readers: Set<ResponseReader>
}

/** Estimates the memory of a text or of bytes. How many bytes a character takes is unknown, so two are assumed. */
export function estimateBytes(content: string | Uint8Array): number {
  return typeof content === 'string' ? 2 * content.length : content.byteLength
}

/** The number of steps to try at once, of about a thousand values each. */
const STEPS_AT_ONCE = 8

/** Estimates the memory of a container: at once where it is known or small, else in the owner's time slices. */
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
 * Has `run` do steps for a reader. Where the reader's connection ends first, the
 * steps release their data at once, because their turn may come late.
 * @throws SERVICE_UNAVAILABLE then
 */
export function runForReader<T>(
  reader: ResponseReader | undefined,
  steps: Steps<T>,
  run: (work: Steps<T>) => Promise<T>,
): Promise<T> {
  return reader ? new ReaderWork(steps, run).waitFor(reader) : run(steps)
}

/** Steps that go on as long as a reader waits for them. */
export class ReaderWork<T> {
  /** Null once the steps are done, or no reader waits for them. */
  #steps: Steps<T> | null
  #onEnd: (() => void) | null
  #waiting = 0
  readonly #done: Promise<T>

  /** `over` is called once, when the steps are done or released. */
  constructor(steps: Steps<T>, run: (work: Steps<T>) => Promise<T>, over: () => void = () => {}) {
    this.#steps = steps
    this.#onEnd = over
    this.#done = run(this.#work()).finally(() => this.#end())
  }

  /** Returns the result of the steps. @throws SERVICE_UNAVAILABLE as soon as the reader's connection has ended */
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
  /** The readers of each shared object. The object counts for the first of them. */
  readonly #shared = new Map<object, Set<{ readonly reader: ResponseReader }>>()
  readonly #logCut: () => void
  #total = 0

  constructor(
    log: Pick<Log, 'warn'>,
    { most, tell_ms = LOG_INTERVAL_MS }: Pick<ResponseBufferLimits, 'most'> & Partial<ResponseBufferLimits>,
  ) {
    this.#most = most
    const text = 'connections are cut: their clients read large answers too slowly'
    this.#logCut = throttle(tell_ms, (cut) => log.warn({ cut, most }, text))
  }

  /** Creates the reader of one connection. `cut` ends the connection. */
  createReader(owner: string, cut: () => void): ResponseReader {
    return new ResponseReader(this, owner, cut)
  }

  /** Adds to, or takes from, the memory of a reader. Only readers call it. */
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

  /** Holds an object that several readers share. The object counts for one reader at a time. Only readers call it. */
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

  /** Marks a reader as the most recently active one. Only readers call it. */
  took(reader: ResponseReader): void {
    const readers = this.#owners.get(reader.owner)?.readers
    if (readers?.delete(reader)) readers.add(reader)
  }

  /**
   * Cuts readers until the total is within the limit. The reader that caused the excess stays, unless it holds more than twice the limit.
   */
  #cutUntilWithinLimit(comer: ResponseReader, bytes: number): void {
    while (this.#total > this.#most) {
      const reader = this.#chooseReaderToCut(comer, bytes)
      if (!reader) return
      this.#logCut()
      reader.disconnect()
      if (reader === comer) return
    }
  }

  /** Chooses a reader of the owner with the most memory. The newly added memory alone is no reason to cut a reader. */
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
  /** Bytes. Only the account changes it. */
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

  /** Whether the connection has ended. */
  get hasEnded(): boolean {
    return this.#ended
  }

  /** Holds bytes until the returned function is called. */
  hold(bytes: number): () => void {
    this.adjust(bytes)
    return callOnce(() => this.adjust(-bytes))
  }

  /** Holds an object that other readers may share. The object counts once. */
  share(object: object, bytes: number): () => void {
    if (this.#ended) return () => {}
    const release = this.#account.share(this, object, bytes)
    const stay = this.onEnd(release)
    return () => {
      stay()
      release()
    }
  }

  /** Calls `ended` when the connection ends, or at once where it has ended. The returned function removes the listener. */
  onEnd(ended: () => void): () => void {
    if (this.#ended) ended()
    else this.#endListeners.add(ended)
    return () => void this.#endListeners.delete(ended)
  }

  /** Adds to, or takes from, the held bytes. */
  adjust(bytes: number): void {
    if (!this.#ended) this.#account.adjust(this, bytes)
  }

  /** Records that the client has read something. Idle readers are cut before it. */
  took(): void {
    this.#account.took(this)
  }

  /** Ends the reader and releases everything that it holds. */
  end(): void {
    for (const ended of this.#endListeners) ended()
    this.#endListeners.clear()
    this.adjust(-this.heldBytes)
    this.#ended = true
  }

  /** Ends the connection. */
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

/** Reports the first event at once. Events that follow within `ms` are reported together. */
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
