// FairMemoryAccount limits the memory that the values of large bodies and frames, or of runs, take for all owners together. A value without
// room waits for its turn before it is made. It is refused if its turn does not come in time.
import { getHeapStatistics } from 'node:v8'
import { ServiceError } from '../errors.ts'
import { FairShareLimit, RESERVED_FRACTION } from '../shared/fair-share.ts'

/** The part of the heap that values of requests may take. Values of runs, texts and garbage take the rest. */
const REQUESTS_HEAP_FRACTION = 0.5
/** The part of the heap that runs may hold. A value from a request also counts there until the request is answered. */
export const RUNS_HEAP_FRACTION = 0.375
/** How long a value waits, in milliseconds. */
const WAIT_TIMEOUT_MS = 10_000

const TOO_MANY_VALUES = 'The request contains more values than the server can read.'

/** SERVICE_UNAVAILABLE: memory for an owner did not become free in time. Other owners may still get some. */
export class MemoryUnavailableError extends ServiceError {
  constructor() {
    super('SERVICE_UNAVAILABLE')
  }
}

interface Waiter {
  readonly owner: string
  readonly bytes: number
  readonly admit: () => void
}

export class FairMemoryAccount {
  readonly #shares: FairShareLimit
  readonly #patience_ms: number
  /** In the order of arrival. */
  #waiting: Waiter[] = []
  readonly #pressureHandlers: (() => void)[] = []
  /** Releases the memory of values that were garbage collected. */
  readonly #collected = new FinalizationRegistry<() => void>((release) => release())

  constructor(limit = heapShareBytes(REQUESTS_HEAP_FRACTION), patience_ms = WAIT_TIMEOUT_MS) {
    this.#shares = new FairShareLimit(limit)
    this.#patience_ms = patience_ms
  }

  /** The most bytes that one owner may hold, while no other owner holds any. */
  get largest(): number {
    return this.#shares.limit * (1 - RESERVED_FRACTION)
  }

  /**
   * Takes memory for a value that is about to be made, and returns the function that releases it once.
   * @throws REQUEST_TOO_LARGE with the message `refusal` if the value exceeds the largest share; MemoryUnavailableError if memory is not
   * free in time
   */
  async take(owner: string, bytes: number, refusal = TOO_MANY_VALUES): Promise<() => void> {
    if (bytes > this.largest) throw new ServiceError('REQUEST_TOO_LARGE', { message: refusal })
    if (!this.#shares.hasRoom(owner, bytes)) for (const giveBack of this.#pressureHandlers) giveBack()
    const isNext = !this.#waiting.some((waiter) => waiter.owner === owner)
    if (!isNext || !this.#shares.hasRoom(owner, bytes)) await this.#waitForTurn(owner, bytes)
    else this.#shares.add(owner, bytes)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#shares.add(owner, -bytes)
      this.#admitWaiting()
    }
  }

  /** Takes more bytes for an owner, or releases some. Returns false, and takes nothing, if there is no room. */
  change(owner: string, bytes: number): boolean {
    if (bytes > 0 && !this.#shares.hasRoom(owner, bytes)) return false
    this.#shares.add(owner, bytes)
    if (bytes < 0) this.#admitWaiting()
    return true
  }

  /** Registers a function that is called when there is no room for an owner. It releases values that are only cached. */
  onPressure(giveBack: () => void): void {
    this.#pressureHandlers.push(giveBack)
  }

  /** Calls `release` once the value is garbage collected. */
  releaseOnCollection(value: object, release: () => void): void {
    this.#collected.register(value, release)
  }

  #waitForTurn(owner: string, bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { owner, bytes, admit: () => resolve() }
    this.#waiting.push(waiter)
    const late = () => {
      this.#waiting = this.#waiting.filter((one) => one !== waiter)
      reject(new MemoryUnavailableError())
      this.#admitWaiting()
    }
    const timer = setTimeout(late, this.#patience_ms).unref()
    return promise.finally(() => clearTimeout(timer))
  }

  /** Admits all waiting values that fit: the owner who holds least comes first, and the values of one owner come in order. */
  #admitWaiting(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const admitted = next
      this.#waiting = this.#waiting.filter((one) => one !== admitted)
      this.#shares.add(admitted.owner, admitted.bytes)
      admitted.admit()
    }
  }

  #next(): Waiter | undefined {
    const first = new Map<string, Waiter>()
    for (const waiter of this.#waiting) if (!first.has(waiter.owner)) first.set(waiter.owner, waiter)
    return [...first.values()]
      .sort((a, b) => this.#shares.heldBy(a.owner) - this.#shares.heldBy(b.owner))
      .find(({ owner, bytes }) => this.#shares.hasRoom(owner, bytes))
  }
}

/** The space that V8 has for new objects on 64 bits by default. It counts in V8's limit, but long-lived values have no room there. */
const YOUNG_BYTES = 192 * 1_048_576

/**
 * Returns a part of the heap that is left for long-lived values. If the limit is so low that little is left, it is a part of a quarter of
 * the limit.
 */
export function heapShareBytes(part: number): number {
  const { heap_size_limit } = getHeapStatistics()
  return Math.max(heap_size_limit - YOUNG_BYTES, heap_size_limit / 4) * part
}
