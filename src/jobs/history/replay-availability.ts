// Which part of a job's history a client that comes back can still be told.
import { findFirstEventSequence } from '../../db/jobs/removal.ts'
import type { JobTable } from '../../db/schema.ts'
import type { Store } from '../../db/store.ts'
import { ServiceError } from '../../errors.ts'

/** `whole`: everything after the sequence is there, if there is anything; `expired`: some of it is not kept any more. */
export type ReplayAvailability = 'whole' | 'expired'

/** Whether what follows the event `after` can be told. @throws SEQUENCE_AHEAD where the job has no such event yet */
export function checkReplayAfter(store: Store, { key, last_sequence }: JobTable, after: number): ReplayAvailability {
  if (after > last_sequence) throw new ServiceError('SEQUENCE_AHEAD')
  if (after === last_sequence) return 'whole'
  const first = store.read((tx) => findFirstEventSequence(tx, key))
  return first === null || first > after + 1 ? 'expired' : 'whole'
}
