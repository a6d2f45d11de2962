// Rows of large values that jobs remember: which file is whose. A file is on disk before its row is committed, and goes before its row does.
import { readFirstRows } from '../row-batches.ts'
import type { SpilledValueTable } from '../schema.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'

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

/** Says of at most `limit` values of a job that it needs them no more; gives of how many. */
export function releaseSpilledValues(tx: Tx, job_key: number, limit: number): number {
  return tx.run(release, { job_key, limit })
}

/** Keys of at most `limit` values that no job needs, but for those of `except`. */
export function listReleasedSpilledValues(tx: Tx, limit: number, except: ReadonlySet<string>): string[] {
  const released = { table: 'spilled_value', statement: selectReleased, params: {} } as const
  const rows = readFirstRows(tx, released, limit, ({ content_key }) => !except.has(content_key))
  return rows.map(({ content_key }) => content_key)
}

/** Whether a job remembers large values. */
export function hasSpilledValues(tx: Tx, job_key: number): boolean {
  return tx.get(selectOfJob, { job_key }) !== undefined
}

/** Whether a row names this file, needed or not. */
export function isSpilledValueStored(tx: Tx, content_key: string): boolean {
  return tx.get(selectKnown, { content_key }) !== undefined
}

/** Forgets a value whose file is gone. */
export function deleteSpilledValue(tx: Tx, content_key: string): void {
  tx.run(remove, { content_key })
}
