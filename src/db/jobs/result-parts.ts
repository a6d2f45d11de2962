// Splits large results of jobs into parts, each written in its own transaction before the row of the job counts them, because a single transaction
// would block other writes. Parts of an interrupted attempt are overwritten by the next attempt, or removed with the job.
import type { Steps } from '../../shared/time-slices.ts'
import { DamagedRowError } from '../integrity/damaged-row.ts'
import { deleteNumberedRows, type NumberedRowStatements, type TimeBudget } from '../row-batches.ts'
import { statement } from '../statement.ts'
import type { Store, Tx } from '../store.ts'
import type { JobTable, ResultPartTable } from '../tables/jobs.ts'

const put = statement<ResultPartTable>()((db, p) =>
  db.replaceInto('result_part').values({ job_key: p('job_key'), at: p('at'), body: p('body') }),
)

const select = statement<{ job_key: number; at: number }>()((db, p) =>
  db.selectFrom('result_part').selectAll().where('job_key', '=', p('job_key')).where('at', '=', p('at')),
)

const selectJob = statement<{ key: number }>()((db, p) =>
  db.selectFrom('job').select('key').where('key', '=', p('key')),
)

const PARTS: NumberedRowStatements = {
  first: statement<{ key: number }>()((db, p) =>
    db
      .selectFrom('result_part')
      .select((eb) => eb.fn.min<number | null>('at').as('number'))
      .where('job_key', '=', p('key')),
  ),
  deleteRow: statement<{ key: number; number: number }>()((db, p) =>
    db.deleteFrom('result_part').where('job_key', '=', p('key')).where('at', '=', p('number')),
  ),
}

/** Writes a part of the text of a result, replacing an earlier one. */
export function putResultPart(tx: Tx, part: ResultPartTable): void {
  tx.run(put, part)
}

/** The row as it is stored, without the text that is stored in parts. */
export function withoutPartedResult(row: JobTable): JobTable {
  return row.result_parts === null ? row : { ...row, result: '' }
}

/** A row and its result. In a row as it was read, a result in parts is the empty text. */
type ResultRow = Pick<JobTable, 'key' | 'result' | 'result_parts'>

/** Whether the result is in parts that were not read. */
export function isResultUnread({ result, result_parts }: ResultRow): boolean {
  return result_parts !== null && result === ''
}

/**
 * The text of a row's result. Each part is read in a step of its own, since many take long. Undefined: the job was removed meanwhile.
 * @throws DATA_DAMAGED if a part is damaged or missing
 */
export function* readResultSteps(store: Store, row: ResultRow): Steps<string | null | undefined> {
  if (!isResultUnread(row)) return row.result
  const bodies: string[] = []
  for (let at = 0; at < row.result_parts!; at++) {
    const part = store.read((tx) => findResultPart(tx, row.key, at))
    if (!part) return undefined
    bodies.push(part.body)
    yield
  }
  return bodies.join('')
}

/** Undefined: the job was removed. */
function findResultPart(tx: Tx, job_key: number, at: number): ResultPartTable | undefined {
  const part = tx.get(select, { job_key, at })
  if (!part && tx.get(selectJob, { key: job_key })) throw new DamagedRowError('result_part', { job_key, at })
  return part
}

/** Removes the parts of a removed job: at least some, and as many as time permits. True when none is left. */
export function deleteResultParts(tx: Tx, key: number, more: TimeBudget): boolean {
  return deleteNumberedRows(tx, PARTS, key, more)
}
