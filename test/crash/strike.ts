// The moment between the request for a cancellation and its end is short: most jobs settle in the same commit. One that is about to begin
// calls that must not run twice does not, and its database row is watched until the request is stored.
import { setImmediate as turn } from 'node:timers/promises'
import { cancel } from './attend.ts'
import { Peephole } from './census.ts'
import type { TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'

/** Calls that a burst makes before it is cancelled. */
const UNDER_WAY = 30
/** How long the burst, and then the request, is waited for, in milliseconds. */
const PATIENCE_MS = 1_500
const MOMENT_MS = 1_000

/** Returns in that moment, with true, so that the caller can kill the server; false where it was missed. */
export async function strike(life: Life, job: TrackedJob, data_dir: string): Promise<boolean> {
  const { label } = job.work
  const patience = performance.now() + PATIENCE_MS
  const begun = () => job.acknowledged && life.ledger.counter.of(label).length >= UNDER_WAY
  await life.until(() => begun() || performance.now() > patience)
  if (!begun()) return false
  using peephole = new Peephole(data_dir)
  life.spawn(`the cancel of ${job.job_id}`, () => cancel(life, job))
  const deadline = performance.now() + MOMENT_MS
  while (performance.now() < deadline) {
    const status = peephole.status(job.job_id!)
    if (status === 'cancel_requested') return true
    if (status === 'cancelled') return false
    await turn()
  }
  return false
}
