// Pages of what jobs remember of their runs. They are written once and read together, when a job goes on after an interruption.
import type { JobJournalTable } from './schema.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

const insert = statement<JobJournalTable>()((db, p) =>
  db.insertInto('job_journal').values({
    job_key: p('job_key'),
    page: p('page'),
    attempt: p('attempt'),
    body: p('body'),
  }),
)

const selectAll = statement<{ job_key: number }>()((db, p) =>
  db.selectFrom('job_journal').selectAll().where('job_key', '=', p('job_key')).orderBy('page'),
)

export function insertJournalPage(tx: Tx, page: JobJournalTable): void {
  tx.run(insert, page)
}

/** All pages of a job, in order. */
export function journalPages(tx: Tx, job_key: number): JobJournalTable[] {
  return tx.all(selectAll, { job_key })
}
