// Follows a job until it has ended, or waits for a person or an event.
import { findJobByKey } from '../../db/jobs/rows.ts'
import type { Store } from '../../db/store.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { ServiceError } from '../../errors.ts'
import type { EventLog } from '../../events/log.ts'
import { isTerminal } from '../state-machine.ts'
import { parseStoredWaits } from '../waits/stored-waits.ts'

interface SettledJobSources {
  readonly store: Store
  readonly events: EventLog
}

/**
 * Resolves with the row of the settled job. Delays are waited for.
 * @throws SERVICE_UNAVAILABLE where `signal` aborts, or the history ends while the process is `draining`; errors of the event log
 */
export async function waitUntilSettled(
  sources: SettledJobSources,
  row: JobTable,
  signal: AbortSignal,
  draining: AbortSignal,
): Promise<JobTable> {
  if (row.status !== 'paused' ? isTerminal(row.status) : parseStoredWaits(row).some(({ kind }) => kind !== 'delay'))
    return row
  const isSettled = await followUntilSettled(sources.events, row, signal)
  if (!isSettled && (signal.aborted || draining.aborted)) throw new ServiceError('SERVICE_UNAVAILABLE')
  const now = sources.store.read((tx) => findJobByKey(tx, row.key)) ?? row
  return waitUntilSettled(sources, now, signal, draining)
}

async function followUntilSettled(
  events: EventLog,
  { key, last_sequence }: JobTable,
  signal: AbortSignal,
): Promise<boolean> {
  for await (const { event } of events.follow(key, last_sequence, signal)) {
    if (event?.type === 'job_terminal' || (event?.type === 'job_status' && event.status === 'suspended')) return true
  }
  return false
}
