// Tries a firing as often and for as long as its node says: law 31 and 32 of the README beside this file.
import { type Clock, steadyTime } from './clock.ts'
import { asSource } from './firing.ts'
import type { FailedAttempts } from './journal.ts'
import { Final, Interrupted, type LogSeverity, NodeError, type Outputs } from './node-type.ts'
import type { AttemptPolicy } from './plan-parts.ts'
import { LONGEST_BACKOFF_MS } from './policy.ts'
import { publicError } from './results.ts'

/** What trying asks of the run. */
export interface AttemptHost {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly stopped: boolean
  /** Whether it waits for nothing but workflows that wait themselves: no time counts then. */
  readonly resting: boolean
  log(severity: LogSeverity, content: string): void
  /** Waits without a place among the firings in flight. Rejects as soon as the run stops. */
  rest(ms: number): Promise<void>
}

/** What is remembered of the attempts at one firing. */
export interface AttemptMemory {
  readonly tried: FailedAttempts
  /** One more has failed, and the next may begin at that time. */
  triedAgain(next_at: number): void
  /** Resolves when an attempt after one that failed may begin. Rejects where the run has stopped. */
  restart(): Promise<void>
}

export const UNTRIED: FailedAttempts = Object.freeze({ failed: 0, forgiven: 0, calls: 0, next_at: 0 })

/** The time of one attempt: its signal aborts with the run's, and when the time is over. */
class TimeLimit {
  readonly #host: AttemptHost
  readonly #ms: number | null
  readonly #firing = new AbortController()
  readonly #abort = (): void => this.#firing.abort(this.#host.signal.reason)

  constructor(host: AttemptHost, ms: number | null) {
    this.#host = host
    this.#ms = ms
    if (host.signal.aborted) this.#abort()
    else host.signal.addEventListener('abort', this.#abort)
  }

  get signal(): AbortSignal {
    return this.#firing.signal
  }

  /** What the work gives, or NodeError `timed_out` as soon as the time is over. */
  async within<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#ms === null) return await work()
    const timer = new AbortController()
    const over = this.#over(this.#ms, AbortSignal.any([timer.signal, this.signal]))
    over.catch(() => {})
    try {
      return await Promise.race([work(), over])
    } finally {
      timer.abort()
    }
  }

  /** Rejects when the time is over. One that rests then is given the same time again. */
  async #over(ms: number, signal: AbortSignal): Promise<never> {
    do await this.#host.clock.sleep(ms, signal)
    while (this.#host.resting)
    const error = new NodeError(`The node was not done after ${ms / 1000} s.`, 'timed_out')
    this.#firing.abort(error)
    throw error
  }

  /** Puts the attempt away; what still goes on in it is told to end. */
  end(): void {
    this.#host.signal.removeEventListener('abort', this.#abort)
    if (!this.signal.aborted) this.#firing.abort(new NodeError('The attempt is over.', 'cancelled'))
  }
}

type Iterated = Iterator<unknown> | AsyncIterator<unknown>

/** Tells a generator to end; one that is over its time may be deaf, so nobody waits for it. */
function leave(iterator: Iterated): void {
  const ended = (async () => iterator.return?.())()
  ended.catch(() => {})
}

async function* itemsOf(iterator: Iterated, first: IteratorResult<unknown>, limit: TimeLimit) {
  let step = first
  try {
    while (!step.done) {
      yield step.value as Outputs
      step = await limit.within(() => iterator.next())
    }
    return step.value
  } finally {
    const over = limit.signal.aborted
    limit.end()
    if (over) leave(iterator)
    else if (!step.done) await iterator.return?.()
  }
}

async function attempt(begin: (signal: AbortSignal) => unknown, host: AttemptHost, ms: number | null) {
  const limit = new TimeLimit(host, ms)
  let iterator: Iterated | null = null
  let streams = false
  try {
    const result = await limit.within(() => begin(limit.signal))
    const given = asSource(result)?.iterator
    if (!given) return result
    iterator = given
    const first = await limit.within(() => given.next())
    streams = true
    return itemsOf(given, first, limit)
  } finally {
    if (!streams) limit.end()
    if (!streams && iterator) leave(iterator)
  }
}

/** Waits for what an interruption has left of a pause. */
async function restOfPause(next_at: number, host: AttemptHost): Promise<void> {
  // Only a firing that is in flight has a place to give back.
  await Promise.resolve()
  const left = Math.min(next_at - steadyTime(host.clock), LONGEST_BACKOFF_MS)
  if (left > 0) await host.rest(left)
}

function isFinal(error: unknown): boolean {
  return error instanceof Interrupted || error instanceof Final
}

/** What a firing gives in the end. Rejects with what its last attempt threw. */
export async function attempts(
  policy: AttemptPolicy,
  begin: (signal: AbortSignal) => unknown,
  host: AttemptHost,
  memory: AttemptMemory | null = null,
): Promise<unknown> {
  const tried = memory?.tried ?? UNTRIED
  const first = tried.failed - tried.forgiven + 1
  if (tried.failed > 0) await restOfPause(tried.next_at, host)
  for (let made = first; ; made++) {
    try {
      if (made > first) await memory?.restart()
      return await attempt(begin, host, policy.timeout_ms)
    } catch (error) {
      if (isFinal(error) || made >= policy.attempts || host.stopped || host.signal.aborted) throw error
      const pause = Math.min(policy.backoff_ms * 2 ** (made - 1), LONGEST_BACKOFF_MS)
      const { message } = publicError(error)
      memory?.triedAgain(steadyTime(host.clock) + pause)
      host.log('warning', `Attempt ${made} of ${policy.attempts} failed, the next comes in ${pause} ms: ${message}`)
      await host.rest(pause)
      if (host.stopped) throw error
    }
  }
}
