// Retries work after transient errors, with pauses.
import { setTimeout } from 'node:timers/promises'
import { DownloadError } from './error.ts'

export interface DownloadRetryOptions {
  readonly signal: AbortSignal
  /** The first pause, in milliseconds. */
  readonly pause_ms: number
  /** Returns the progress in any unit. An attempt with progress does not count as failed. */
  progress?(): Promise<number>
}

/** Number of attempts without progress before the work fails. */
const MOST_ATTEMPTS = 5
const LONGEST_PAUSE_MS = 10_000

/** @throws the error of the last attempt; the signal's reason */
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
