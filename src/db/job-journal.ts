// Pages of what jobs remember of their runs. They are written once and read together, when a job goes on after an interruption.
import type { JobJournalTable } from './schema.ts'
import { releaseSpilledValues } from './spilled-values.ts'
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

const removeAll = statement<{ job_key: number }>()((db, p) =>
  db.deleteFrom('job_journal').where('job_key', '=', p('job_key')),
)

export function insertJournalPage(tx: Tx, page: JobJournalTable): void {
  tx.run(insert, page)
}

/** All pages of a job, in order. */
export function journalPages(tx: Tx, job_key: number): JobJournalTable[] {
  return tx.all(selectAll, { job_key })
}

/** Forgets what a job remembers. Gives how many files of large values are released by that. */
export function removeJournal(tx: Tx, job_key: number): number {
  tx.run(removeAll, { job_key })
  return releaseSpilledValues(tx, job_key, Number.MAX_SAFE_INTEGER)
}
