// A job that waits in the queue, for the checks of states and of submissions.

import { cancelJob, pollJobUntil, readSnapshot, startJob, waitForJobEnd } from '../job-actions.ts'
import type { JsonMap } from '../json.ts'
import { sampleGraphs } from '../sample-graphs.ts'
import type { SuiteContext } from '../suite-context.ts'

export interface QueuedJob {
  /** The snapshots while it waits, and after its end. */
  snapshots: JsonMap[]
  /** The status before its cancellation. */
  status: unknown
  /** The job behind it, before and after it left. Null where that job did not wait. */
  behind: { before: JsonMap; after: JsonMap } | null
}

/** Creates a job that waits between two jobs of its workflow, and cancels it there. @throws CheckSkipped where no job waits */
export function createQueuedJob(t: SuiteContext): Promise<QueuedJob> {
  return t.memoize('queued job', async () => {
    t.requireOperations('submitJob')
    const stored = await t.storeWorkflow('queue', sampleGraphs.slow)
    const begin = async () => {
      const job_id = await startJob(t, stored, {}, false)
      t.cleanups.push(() => cancelJob(t, job_id))
      return job_id
    }
    const first = await begin()
    await pollJobUntil(t, first, ({ status }) => status === 'suspended' || status === 'running')
    const [second, third] = [await begin(), await begin()]
    const seen = await readSnapshot(t, second)
    const before = await readSnapshot(t, third)
    await cancelJob(t, second)
    const final = await waitForJobEnd(t, second)
    const behind = before.status === 'queued' ? { before, after: await waitForQueueMove(t, third, before) } : null
    for (const job_id of [third, first]) await cancelJob(t, job_id)
    return { snapshots: [seen, final], status: seen.status, behind }
  })
}

/** Returns the job when it has moved up, or its last snapshot at the time limit. */
async function waitForQueueMove(t: SuiteContext, job_id: string, before: JsonMap): Promise<JsonMap> {
  const deadline = performance.now() + t.target.timeout_ms
  for (;;) {
    const now = await readSnapshot(t, job_id)
    const done = now.status !== 'queued' || Number(now.queue_position) < Number(before.queue_position)
    if (done || performance.now() > deadline) return now
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
