// What may go well the next time is tried again, after a pause.
import { setTimeout } from 'node:timers/promises'
import { DownloadFault } from './fault.ts'

export interface Attempts {
  readonly signal: AbortSignal
  /** The first pause, in milliseconds. */
  readonly pause_ms: number
  /** How far it has come, whatever that is counted in: an attempt that got further is none that failed. */
  progress?(): Promise<number>
}

/** It is given up after so many attempts that brought nothing. */
const MOST = 5
const LONGEST_PAUSE_MS = 10_000

/** @throws what the last attempt threw; the signal's reason */
export async function inAttempts<T>(work: () => Promise<T>, { signal, pause_ms, progress }: Attempts): Promise<T> {
  for (let failed = 0; ; ) {
    const before = (await progress?.()) ?? 0
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof DownloadFault) || !error.passing) throw error
      failed = ((await progress?.()) ?? 0) > before ? 1 : failed + 1
      if (failed >= MOST) throw error
      const pause = error.after_ms ?? Math.min(pause_ms * 2 ** (failed - 1), LONGEST_PAUSE_MS)
      await setTimeout(pause, null, { signal })
    }
  }
}
