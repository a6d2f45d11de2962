// Jobs that wait in the queue, for the rules of states and of submissions.

import { cancelJob, pollJobUntil, readSnapshot, startJob, waitForJobEnd } from '../job-actions.ts'
import type { JsonMap } from '../json.ts'
import { sampleGraphs } from '../sample-graphs.ts'
import type { SuiteContext } from '../suite-context.ts'

export interface QueuedJob {
  /** As it waits, and as it has ended. */
  snapshots: JsonMap[]
  /** What it was before it was cancelled. */
  status: unknown
  /** The job behind it, before and after it left; null where that one did not wait. */
  behind: { before: JsonMap; after: JsonMap } | null
}

/** A job that waits behind another one of its workflow, and before a third, and is cancelled there. @throws CheckSkipped where nothing queues */
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

/** The job once it has moved up, or as it is when the time is over. */
async function waitForQueueMove(t: SuiteContext, job_id: string, before: JsonMap): Promise<JsonMap> {
  const deadline = performance.now() + t.target.timeout_ms
  for (;;) {
    const now = await readSnapshot(t, job_id)
    const done = now.status !== 'queued' || Number(now.queue_position) < Number(before.queue_position)
    if (done || performance.now() > deadline) return now
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
