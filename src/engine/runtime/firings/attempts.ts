// Tries a firing as often and for as long as its node says: law 31 and 32 of the README beside this file.

import type { RetryPolicy } from '../../compile/plan.ts'
import { MAX_BACKOFF_MS } from '../../compile/retry-policy.ts'
import type { FailedAttempts } from '../../durability/journal.ts'
import { type Clock, readSteadyTime } from '../../node-api/clock.ts'
import {
  type LogSeverity,
  NodeError,
  NodeInterruptedError,
  NonRetryableError,
  type OutputValues,
} from '../../node-api/node-type.ts'
import { toItemSource } from './firing.ts'
import { toPublicError } from './result-validation.ts'

/** What trying asks of the run. */
export interface AttemptHost {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly stopped: boolean
  /** Whether it waits for nothing but workflows that wait themselves: no time counts then. */
  readonly isQuiescent: boolean
  log(severity: LogSeverity, content: string): void
  /** Waits without a place among the firings in flight. Rejects as soon as the run stops. */
  backOff(ms: number): Promise<void>
}

/** What is remembered of the attempts at one firing. */
export interface AttemptJournal {
  readonly failedAttempts: FailedAttempts
  /** One more has failed, and the next may begin at that time. */
  recordFailure(next_at: number): void
  /** Resolves when an attempt after one that failed may begin. Rejects where the run has stopped. */
  beginNext(): Promise<void>
}

export const NO_FAILED_ATTEMPTS: FailedAttempts = Object.freeze({ failed: 0, forgiven: 0, calls: 0, next_at: 0 })

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
  async race<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#ms === null) return await work()
    const timer = new AbortController()
    const over = this.#rejectWhenOver(this.#ms, AbortSignal.any([timer.signal, this.signal]))
    over.catch(() => {})
    try {
      return await Promise.race([work(), over])
    } finally {
      timer.abort()
    }
  }

  /** Rejects when the time is over. One that rests then is given the same time again. */
  async #rejectWhenOver(ms: number, signal: AbortSignal): Promise<never> {
    do await this.#host.clock.sleep(ms, signal)
    while (this.#host.isQuiescent)
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

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>

/** Tells a generator to end; one that is over its time may be deaf, so nobody waits for it. */
function closeIterator(iterator: AnyIterator): void {
  const ended = (async () => iterator.return?.())()
  ended.catch(() => {})
}

async function* limitItems(iterator: AnyIterator, first: IteratorResult<unknown>, limit: TimeLimit) {
  let step = first
  try {
    while (!step.done) {
      yield step.value as OutputValues
      step = await limit.race(() => iterator.next())
    }
    return step.value
  } finally {
    const over = limit.signal.aborted
    limit.end()
    if (over) closeIterator(iterator)
    else if (!step.done) await iterator.return?.()
  }
}

async function runAttempt(begin: (signal: AbortSignal) => unknown, host: AttemptHost, ms: number | null) {
  const limit = new TimeLimit(host, ms)
  let iterator: AnyIterator | null = null
  let streams = false
  try {
    const result = await limit.race(() => begin(limit.signal))
    const iterable = toItemSource(result)?.iterator
    if (!iterable) return result
    iterator = iterable
    const first = await limit.race(() => iterable.next())
    streams = true
    return limitItems(iterable, first, limit)
  } finally {
    if (!streams) limit.end()
    if (!streams && iterator) closeIterator(iterator)
  }
}

/** Waits for what an interruption has left of a pause. */
async function waitForNextAttempt(next_at: number, host: AttemptHost): Promise<void> {
  // Only a firing that is in flight has a place to give back.
  await Promise.resolve()
  const left = Math.min(next_at - readSteadyTime(host.clock), MAX_BACKOFF_MS)
  if (left > 0) await host.backOff(left)
}

function isFinal(error: unknown): boolean {
  return error instanceof NodeInterruptedError || error instanceof NonRetryableError
}

/** What a firing gives in the end. Rejects with what its last attempt threw. */
export async function runAttempts(
  policy: RetryPolicy,
  begin: (signal: AbortSignal) => unknown,
  host: AttemptHost,
  journal: AttemptJournal | null = null,
): Promise<unknown> {
  const earlier = journal?.failedAttempts ?? NO_FAILED_ATTEMPTS
  const first = earlier.failed - earlier.forgiven + 1
  if (earlier.failed > 0) await waitForNextAttempt(earlier.next_at, host)
  for (let attemptNumber = first; ; attemptNumber++) {
    try {
      if (attemptNumber > first) await journal?.beginNext()
      return await runAttempt(begin, host, policy.timeout_ms)
    } catch (error) {
      if (isFinal(error) || attemptNumber >= policy.attempts || host.stopped || host.signal.aborted) throw error
      const pause = Math.min(policy.backoff_ms * 2 ** (attemptNumber - 1), MAX_BACKOFF_MS)
      const { message } = toPublicError(error)
      journal?.recordFailure(readSteadyTime(host.clock) + pause)
      host.log(
        'warning',
        `Attempt ${attemptNumber} of ${policy.attempts} failed, the next comes in ${pause} ms: ${message}`,
      )
      await host.backOff(pause)
      if (host.stopped) throw error
    }
  }
}
