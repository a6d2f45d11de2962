// How much memory the values of large bodies and frames take, or those of runs, all owners together. Where there is no room for another one, it waits for its
// turn before anything is made of it, and is refused where its turn does not come in time.
import { getHeapStatistics } from 'node:v8'
import { ServiceError } from '../errors.ts'
import { FairShareLimit, RESERVED_FRACTION } from '../shared/fair-share.ts'

/** What values of requests may take of the heap: values of runs, texts and garbage take the rest. */
const REQUESTS_HEAP_FRACTION = 0.5
/** What runs may hold of it. What a request brought counts as well for as long as it is answered. */
export const RUNS_HEAP_FRACTION = 0.375
/** How long one waits, in milliseconds. */
const WAIT_TIMEOUT_MS = 10_000

const TOO_MANY_VALUES = 'The request holds more values than can be read.'

/** SERVICE_UNAVAILABLE: an owner waited for memory, and it did not come in time. Others may find some. */
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
  /** In the order of their turns. */
  #waiting: Waiter[] = []
  readonly #pressureHandlers: (() => void)[] = []
  /** Gives back what was taken for a value that is garbage by now. */
  readonly #collected = new FinalizationRegistry<() => void>((release) => release())

  constructor(limit = heapShareBytes(REQUESTS_HEAP_FRACTION), patience_ms = WAIT_TIMEOUT_MS) {
    this.#shares = new FairShareLimit(limit)
    this.#patience_ms = patience_ms
  }

  /** How many bytes one owner may hold at the most, while nobody else holds any. */
  get largest(): number {
    return this.#shares.limit * (1 - RESERVED_FRACTION)
  }

  /**
   * Takes memory for a value that is about to be made, and gives what gives it back, once.
   * @throws REQUEST_TOO_LARGE where there never is so much, in the words of `refusal`; NoRoom where there is not for too long
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

  /** Takes so many bytes more for an owner at once, or gives some back. False: there is no room for more, and nothing was taken. */
  change(owner: string, bytes: number): boolean {
    if (bytes > 0 && !this.#shares.hasRoom(owner, bytes)) return false
    this.#shares.add(owner, bytes)
    if (bytes < 0) this.#admitWaiting()
    return true
  }

  /** Has `giveBack` called where there is no room for somebody: it gives back what is only kept because it may be of use. */
  onPressure(giveBack: () => void): void {
    this.#pressureHandlers.push(giveBack)
  }

  /** Has `release` called once nothing refers to the value any more. */
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

  /** Admits all that fit. Whoever holds least comes first, and of one owner whoever waits longest. */
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

/** What V8 has for new objects on 64 bits unless it is told otherwise, and counts as part of its limit: values that last have no room there. */
const YOUNG_BYTES = 192 * 1_048_576

/** So much of the heap that the process may have for what lasts; a quarter where the limit leaves room for little but new objects. */
export function heapShareBytes(part: number): number {
  const { heap_size_limit } = getHeapStatistics()
  return Math.max(heap_size_limit - YOUNG_BYTES, heap_size_limit / 4) * part
}
