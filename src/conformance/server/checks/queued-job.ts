// Jobs that wait in the queue, for the rules of states and of submissions.
import { graphs } from '../graphs.ts'
import { cancel, ended, snapshotOf, start, watch } from '../jobs.ts'
import type { JsonMap } from '../json.ts'
import type { Trial } from '../trial.ts'

export interface QueuedJob {
  /** As it waits, and as it has ended. */
  snapshots: JsonMap[]
  /** What it was before it was cancelled. */
  status: unknown
  /** The job behind it, before and after it left; null where that one did not wait. */
  behind: { before: JsonMap; after: JsonMap } | null
}

/** A job that waits behind another one of its workflow, and before a third, and is cancelled there. @throws Skip where nothing queues */
export function queuedJob(t: Trial): Promise<QueuedJob> {
  return t.once('queued job', async () => {
    t.needs('submitJob')
    const stored = await t.store('queue', graphs.slow)
    const begin = async () => {
      const job_id = await start(t, stored, {}, false)
      t.cleanups.push(() => cancel(t, job_id))
      return job_id
    }
    const first = await begin()
    await watch(t, first, ({ status }) => status === 'suspended' || status === 'running')
    const [second, third] = [await begin(), await begin()]
    const seen = await snapshotOf(t, second)
    const before = await snapshotOf(t, third)
    await cancel(t, second)
    const final = await ended(t, second)
    const behind = before.status === 'queued' ? { before, after: await moved(t, third, before) } : null
    for (const job_id of [third, first]) await cancel(t, job_id)
    return { snapshots: [seen, final], status: seen.status, behind }
  })
}

/** The job once it has moved up, or as it is when the time is over. */
async function moved(t: Trial, job_id: string, before: JsonMap): Promise<JsonMap> {
  const deadline = performance.now() + t.target.timeout_ms
  for (;;) {
    const now = await snapshotOf(t, job_id)
    const done = now.status !== 'queued' || Number(now.queue_position) < Number(before.queue_position)
    if (done || performance.now() > deadline) return now
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
