// Tells whether the events that a returning client has missed are still stored.
import { findFirstEventSequence } from '../../db/jobs/removal.ts'
import type { Store } from '../../db/store.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { ServiceError } from '../../errors.ts'

/** `whole`: all events after the sequence are stored. `expired`: some of them are no longer stored. */
export type ReplayAvailability = 'whole' | 'expired'

/** Whether the events after the sequence `after` can be replayed. @throws SEQUENCE_AHEAD where the job has no such event yet */
export function checkReplayAfter(store: Store, { key, last_sequence }: JobTable, after: number): ReplayAvailability {
  if (after > last_sequence) throw new ServiceError('SEQUENCE_AHEAD')
  if (after === last_sequence) return 'whole'
  const first = store.read((tx) => findFirstEventSequence(tx, key))
  return first === null || first > after + 1 ? 'expired' : 'whole'
}
