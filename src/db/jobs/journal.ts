// Pages of the job journal. A page is written once; all are read when a job resumes after an interruption.
import { isOverRowLimits } from '../row-batches.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { JobJournalTable } from '../tables/jobs.ts'

const insert = statement<JobJournalTable>()((db, p) =>
  db.insertInto('job_journal').values({
    job_key: p('job_key'),
    page: p('page'),
    attempt: p('attempt'),
    body: p('body'),
  }),
)

const selectSome = statement<{ job_key: number; from: number; limit: number }>()((db, p) =>
  db
    .selectFrom('job_journal')
    .selectAll()
    .where('job_key', '=', p('job_key'))
    .where('page', '>=', p('from'))
    .orderBy('page')
    .limit(p('limit')),
)

const selectSizes = statement<{ job_key: number; limit: number }>('keys')((db, p) =>
  db
    .selectFrom('job_journal')
    .select(({ fn }) => fn<number>('length', ['body']).as('bytes'))
    .where('job_key', '=', p('job_key'))
    .limit(p('limit')),
)

const selectLast = statement<{ job_key: number }>('keys')((db, p) =>
  db.selectFrom('job_journal').select('page').where('job_key', '=', p('job_key')).orderBy('page', 'desc').limit(1),
)

export function insertJournalPage(tx: Tx, page: JobJournalTable): void {
  tx.run(insert, page)
}

/** The pages of a job in order, from a number on; at most `limit` of them, or all if it is negative. */
export function listJournalPages(tx: Tx, job_key: number, from = 0, limit = -1): JobJournalTable[] {
  return tx.all(selectSome, { job_key, from, limit })
}

/** Whether a job has more pages than `most`, or more bytes in them than `most_bytes`. */
export function hasMorePagesThan(tx: Tx, job_key: number, most: number, most_bytes: number): boolean {
  return isOverRowLimits(tx, selectSizes, { job_key, limit: most + 1 }, most_bytes)
}

/** The number of pages of a job, by the number of the last page. */
export function countJournalPages(tx: Tx, job_key: number): number {
  const last = tx.get(selectLast, { job_key })
  return last ? last.page + 1 : 0
}
