// Rows of the spilled values of job journals: which job each file belongs to. A file is on disk before its row is committed, and is removed before
// its row.
import { readFirstRows } from '../row-batches.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { SpilledValueTable } from '../tables/jobs.ts'

const insert = statement<SpilledValueTable>()((db, p) =>
  db.insertInto('spilled_value').values({
    content_key: p('content_key'),
    job_key: p('job_key'),
    size: p('size'),
    sha256: p('sha256'),
  }),
)

const release = statement<{ job_key: number; limit: number }>()((db, p) =>
  db
    .updateTable('spilled_value')
    .set({ job_key: null })
    .where('content_key', 'in', (eb) =>
      eb.selectFrom('spilled_value').select('content_key').where('job_key', '=', p('job_key')).limit(p('limit')),
    ),
)

const selectReleased = statement()((db) =>
  db.selectFrom('spilled_value').select('content_key').where('job_key', 'is', null),
)

const selectKnown = statement<{ content_key: string }>()((db, p) =>
  db.selectFrom('spilled_value').selectAll().where('content_key', '=', p('content_key')),
)

const selectOfJob = statement<{ job_key: number }>('keys')((db, p) =>
  db.selectFrom('spilled_value').select('content_key').where('job_key', '=', p('job_key')).limit(1),
)

const remove = statement<{ content_key: string }>()((db, p) =>
  db.deleteFrom('spilled_value').where('content_key', '=', p('content_key')),
)

export function insertSpilledValue(tx: Tx, row: SpilledValueTable): void {
  tx.run(insert, row)
}

/** Marks at most `limit` values of a job as no longer needed; returns their number. */
export function releaseSpilledValues(tx: Tx, job_key: number, limit: number): number {
  return tx.run(release, { job_key, limit })
}

/** Keys of at most `limit` values that no job needs, except those in `except`. */
export function listReleasedSpilledValues(tx: Tx, limit: number, except: ReadonlySet<string>): string[] {
  const released = { table: 'spilled_value', statement: selectReleased, params: {} } as const
  const rows = readFirstRows(tx, released, limit, ({ content_key }) => !except.has(content_key))
  return rows.map(({ content_key }) => content_key)
}

/** Whether the journal of a job has spilled values. */
export function hasSpilledValues(tx: Tx, job_key: number): boolean {
  return tx.get(selectOfJob, { job_key }) !== undefined
}

/** Whether a row names this file, needed or not. */
export function isSpilledValueStored(tx: Tx, content_key: string): boolean {
  return tx.get(selectKnown, { content_key }) !== undefined
}

/** Removes the row of a value whose file is removed. */
export function deleteSpilledValue(tx: Tx, content_key: string): void {
  tx.run(remove, { content_key })
}
