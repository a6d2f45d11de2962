// Waits for a followed job whose history could not be written: the job may live, and continues once it can be written.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppContext } from '../../context.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import { isDamagedDataError, toServiceError } from '../../errors.ts'

/** Milliseconds between two attempts. */
const PAUSE_MS = 1_000

/** A job of an owner. */
interface OwnedJob extends OwnerScope {
  readonly id: string
}

/**
 * Waits until a job continues; to request the job makes it continue. False if the job does not exist. `unknown` if the follower is gone, or the
 * server stops.
 * @throws DATA_DAMAGED if the job can never be read
 */
export async function awaitHistoryRecovery(
  { runs: { jobs }, lifetime }: Pick<AppContext, 'runs' | 'lifetime'>,
  job: OwnedJob,
  signal: AbortSignal,
): Promise<boolean | 'unknown'> {
  const cancelled = AbortSignal.any([signal, lifetime.stopping])
  for (;;) {
    if (cancelled.aborted) return 'unknown'
    await sleep(PAUSE_MS, null, { signal: cancelled, ref: false }).catch(() => {})
    if (cancelled.aborted || jobs.draining) return 'unknown'
    try {
      await jobs.get(job, job.id)
      return true
    } catch (thrown) {
      if (isDamagedDataError(thrown)) throw thrown
      if (toServiceError(thrown).status < 500) return false
    }
  }
}
