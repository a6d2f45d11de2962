// What may go well the next time is tried again, after a pause.
import { setTimeout } from 'node:timers/promises'
import { DownloadError } from './error.ts'

export interface DownloadRetryOptions {
  readonly signal: AbortSignal
  /** The first pause, in milliseconds. */
  readonly pause_ms: number
  /** How far it has come, whatever that is counted in: an attempt that got further is none that failed. */
  progress?(): Promise<number>
}

/** It is given up after so many attempts that brought nothing. */
const MOST_ATTEMPTS = 5
const LONGEST_PAUSE_MS = 10_000

/** @throws what the last attempt threw; the signal's reason */
export async function retryTransient<T>(
  work: () => Promise<T>,
  { signal, pause_ms, progress }: DownloadRetryOptions,
): Promise<T> {
  for (let failed = 0; ; ) {
    const before = (await progress?.()) ?? 0
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof DownloadError) || !error.isTransient) throw error
      failed = ((await progress?.()) ?? 0) > before ? 1 : failed + 1
      if (failed >= MOST_ATTEMPTS) throw error
      const pause = error.retry_after_ms ?? Math.min(pause_ms * 2 ** (failed - 1), LONGEST_PAUSE_MS)
      await setTimeout(pause, null, { signal })
    }
  }
}
