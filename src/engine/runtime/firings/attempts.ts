// Runs the attempts of a firing within its retry policy: laws 31 and 32 in ../../README.md.

import type { RetryPolicy } from '../../compile/plan.ts'
import { MAX_BACKOFF_MS } from '../../compile/retry-policy.ts'
import type { FailedAttempts } from '../../durability/journal.ts'
import { type Clock, readSteadyTime } from '../../node-api/clock.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import type { LogSeverity } from '../../node-api/node-context.ts'
import { NodeError, NodeInterruptedError, NonRetryableError } from '../../node-api/node-error.ts'
import { toItemSource } from './firing.ts'
import { toPublicError } from './result-validation.ts'

/** The run, as seen by the attempts. */
export interface AttemptHost {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly stopped: boolean
  /** Whether the firing waits only for called workflows that wait themselves: the time limit then does not count. */
  readonly isQuiescent: boolean
  log(severity: LogSeverity, content: string): void
  /** Waits without a concurrency permit. Rejects as soon as the run stops. */
  backOff(ms: number): Promise<void>
}

/** The record of a firing's attempts. */
export interface AttemptJournal {
  readonly failedAttempts: FailedAttempts
  /** Records a failed attempt; the next one may begin at `next_at`. */
  recordFailure(next_at: number): void
  /** Resolves when the attempt after a failed one may begin. Rejects if the run has stopped. */
  beginNext(): Promise<void>
}

export const NO_FAILED_ATTEMPTS: FailedAttempts = Object.freeze({ failed: 0, forgiven: 0, calls: 0, next_at: 0 })

/** The time limit of one attempt: its signal aborts with the run's signal, or when the time is over. */
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

  /** Returns the result of the work, or throws NodeError `timed_out` as soon as the time is over. */
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

  /** Rejects when the time is over. A firing that is quiescent at that moment gets the same time again. */
  async #rejectWhenOver(ms: number, signal: AbortSignal): Promise<never> {
    do await this.#host.clock.sleep(ms, signal)
    while (this.#host.isQuiescent)
    const error = new NodeError(`The node did not finish within ${ms / 1000} s.`, 'timed_out')
    this.#firing.abort(error)
    throw error
  }

  /** Ends the attempt and aborts what is still under way in it. */
  end(): void {
    this.#host.signal.removeEventListener('abort', this.#abort)
    if (!this.signal.aborted) this.#firing.abort(new NodeError('The attempt is over.', 'cancelled'))
  }
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>

/** Ends a generator without waiting for it, as one past its time limit may not react. */
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

/** Waits for the rest of a backoff that was interrupted. */
async function waitForNextAttempt(next_at: number, host: AttemptHost): Promise<void> {
  // Only a firing in flight has a permit to release.
  await Promise.resolve()
  const left = Math.min(next_at - readSteadyTime(host.clock), MAX_BACKOFF_MS)
  if (left > 0) await host.backOff(left)
}

function isFinal(error: unknown): boolean {
  return error instanceof NodeInterruptedError || error instanceof NonRetryableError
}

/** The final result of a firing. Rejects with the error of the last attempt. */
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
