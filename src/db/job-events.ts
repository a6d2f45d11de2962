// Rows of job events. Only the event log writes them, and nothing changes them.
import type { JobEventTable } from './schema.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

const insert = statement<JobEventTable>()((db, p) =>
  db.insertInto('job_event').values({
    job_key: p('job_key'),
    sequence: p('sequence'),
    type: p('type'),
    payload: p('payload'),
    created_at: p('created_at'),
  }),
)

const selectAfter = statement<{ job_key: number; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .selectAll()
    .where('job_key', '=', p('job_key'))
    .where('sequence', '>', p('after'))
    .orderBy('sequence')
    .limit(p('limit') as never),
)

const selectTypeAfter = statement<{ job_key: number; type: string; after: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .selectAll()
    .where('job_key', '=', p('job_key'))
    .where('sequence', '>', p('after'))
    .where('type', '=', p('type'))
    .orderBy('sequence'),
)

export function insertJobEvent(tx: Tx, row: JobEventTable): void {
  tx.run(insert, row)
}

/** At most `limit` events with a sequence greater than `after`, in order. */
export function jobEventsAfter(tx: Tx, job_key: number, after: number, limit: number): JobEventTable[] {
  return tx.all(selectAfter, { job_key, after, limit })
}

/** All events of one type with a sequence greater than `after`, in order. */
export function jobEventsOfType(tx: Tx, job_key: number, type: string, after: number): JobEventTable[] {
  return tx.all(selectTypeAfter, { job_key, type, after })
}
