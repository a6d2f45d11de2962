// The result of a job that is large lies in parts, each written in a transaction of its own before the row of the job counts them: in one they would hold up
// everybody. What an attempt has left that did not come so far is written over by the next one, or goes with the job.
import { dropNumbered, type More, type Numbered } from './batches.ts'
import { DamagedRow } from './damaged-row.ts'
import type { JobTable, ResultPartTable } from './schema.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

const put = statement<ResultPartTable>()((db, p) =>
  db.replaceInto('result_part').values({ job_key: p('job_key'), at: p('at'), body: p('body') }),
)

const select = statement<{ job_key: number; below: number }>()((db, p) =>
  db
    .selectFrom('result_part')
    .selectAll()
    .where('job_key', '=', p('job_key'))
    .where('at', '<', p('below'))
    .orderBy('at'),
)

const PARTS: Numbered = {
  first: statement<{ key: number }>()((db, p) =>
    db
      .selectFrom('result_part')
      .select((eb) => eb.fn.min<number | null>('at').as('number'))
      .where('job_key', '=', p('key')),
  ),
  drop: statement<{ key: number; number: number }>()((db, p) =>
    db.deleteFrom('result_part').where('job_key', '=', p('key')).where('at', '=', p('number')),
  ),
}

/** Writes a part of the text of a result, or another one in its place. */
export function putResultPart(tx: Tx, part: ResultPartTable): void {
  tx.run(put, part)
}

/** A row as it is stored: what lies in parts is not repeated in it. */
export function withoutParts(row: JobTable): JobTable {
  return row.result_parts === null ? row : { ...row, result: '' }
}

/** A stored row with its whole result. @throws DamagedRow where a part of it is missing */
export function withParts(tx: Tx, row: JobTable): JobTable {
  const whole = withSoundParts(tx, row)
  if (!whole) throw new DamagedRow('result_part', { job_key: row.key })
  return whole
}

/** The same, or undefined where a part is missing. */
export function withSoundParts(tx: Tx, row: JobTable): JobTable | undefined {
  const { key, result_parts } = row
  if (result_parts === null) return row
  const parts = tx.all(select, { job_key: key, below: result_parts })
  if (parts.length !== result_parts) return undefined
  return { ...row, result: parts.map(({ body }) => body).join('') }
}

/** Removes the parts of a removed job, at least some, and as many as there is time for; true when none is left. */
export function dropResultParts(tx: Tx, key: number, more: More): boolean {
  return dropNumbered(tx, PARTS, key, more)
}
