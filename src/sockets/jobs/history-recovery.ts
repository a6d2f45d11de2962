// What follows when the history of a job that a socket follows could not be written: the job may live, and goes on when it can be.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppContext } from '../../context.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import { isDamagedDataError, toServiceError } from '../../errors.ts'

/** After how long a job is looked at again, in milliseconds. */
const PAUSE_MS = 1_000

/** A job of an owner. */
interface OwnedJob extends OwnerScope {
  readonly id: string
}

/**
 * Waits until a job goes on, by asking for it: that lets it go on. False: there is no such job. `unknown`: nobody waits any more, or the server stops.
 * @throws DATA_DAMAGED where the job cannot be read, and never will be
 */
export async function awaitHistoryRecovery(
  app: Pick<AppContext, 'jobs' | 'stopping'>,
  job: OwnedJob,
  signal: AbortSignal,
): Promise<boolean | 'unknown'> {
  const gone = AbortSignal.any([signal, app.stopping])
  for (;;) {
    if (gone.aborted) return 'unknown'
    await sleep(PAUSE_MS, null, { signal: gone, ref: false }).catch(() => {})
    if (gone.aborted || app.jobs.draining) return 'unknown'
    try {
      await app.jobs.get(job, job.id)
      return true
    } catch (thrown) {
      if (isDamagedDataError(thrown)) throw thrown
      if (toServiceError(thrown).status < 500) return false
    }
  }
}
