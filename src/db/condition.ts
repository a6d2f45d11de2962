// The condition of the database: which fault it has, since when it is refused, and how often the log hears of it.
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import { ADVICE, codeOf, type Fault, faultOf } from './faults.ts'

/** Every request meets the same fault; the log hears of it this often. */
const SAY_AGAIN_MS = 60_000
const RETRY_AFTER_SECONDS = '5'

export class Condition {
  readonly #path: string
  readonly #log: Log | null
  readonly #now: () => number
  readonly #said = new Map<Fault, number>()
  #fault: Fault | null = null
  #told = false

  constructor(path: string, log: Log | null, now: () => number) {
    this.#path = path
    this.#log = log
    this.#now = now
  }

  /** What is wrong; null while nothing is. */
  get fault(): Fault | null {
    return this.#fault
  }

  /** Damage never passes by itself, and writing on would spread it. */
  get damaged(): boolean {
    return this.#fault === 'damaged'
  }

  /** Takes note of a fault and gives what the client is told in its place; any other error comes back as it is. */
  meet(error: unknown): unknown {
    const fault = faultOf(error, this.#path)
    if (fault === null) return error
    if (!this.damaged) this.#fault = fault
    this.#say(fault, error)
    return unavailable()
  }

  /** A write was committed: what was wrong is over, unless it was damage. */
  passed(): void {
    if (this.#fault === null || this.damaged) return
    this.#fault = null
    if (!this.#told) return
    this.#told = false
    this.#log?.info(`${this.#path} can be written again`)
  }

  #say(fault: Fault, error: unknown): void {
    const last = this.#said.get(fault)
    if (last !== undefined && this.#now() - last < SAY_AGAIN_MS) return
    this.#said.set(fault, this.#now())
    this.#told = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#log?.error({ code: codeOf(error), reason }, ADVICE[fault](this.#path))
  }
}

/** The cause is in the log already, once; a client gets no part of it. */
export function unavailable(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': RETRY_AFTER_SECONDS } })
}
