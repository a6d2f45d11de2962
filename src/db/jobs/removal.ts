// Removes jobs: the row at once, and the rest in steps, because a job may have a hundred thousand events. The journal of a completed job is removed
// in steps as well: it may have gigabytes.
import { sql } from 'kysely'
import { deleteUnusedGraph } from '../graphs.ts'
import {
  deleteNumberedRows,
  findFirstNumber,
  type NumberedRowStatements,
  readFirstRows,
  type TimeBudget,
} from '../row-batches.ts'
import { statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { JobDoomedTable, JobTable } from '../tables/jobs.ts'
import { deleteResultParts } from './result-parts.ts'
import { recordRemovedJobKey } from './rows.ts'
import { releaseSpilledValues } from './spilled-values.ts'
import { deleteTombstone, insertTombstone } from './tombstones.ts'

const deleteJobRow = statement<{ key: number }>()((db, p) => db.deleteFrom('job').where('key', '=', p('key')))

const deleteTrimmedOf = statement<{ key: number }>()((db, p) =>
  db.deleteFrom('job_trimmed').where('job_key', '=', p('key')),
)

// A completed job may be removed while its journal is still being removed.
const insertDoomed = statement<{ key: number }>()((db, p) =>
  db
    .insertInto('job_doomed')
    .values({ job_key: p('key') })
    .onConflict((conflict) => conflict.doNothing()),
)

const selectDoomed = statement()((db) => db.selectFrom('job_doomed').selectAll().orderBy('job_key'))

const deleteDoomed = statement<{ key: number }>()((db, p) =>
  db.deleteFrom('job_doomed').where('job_key', '=', p('key')),
)

const selectKept = statement<{ key: number }>()((db, p) =>
  db.selectFrom('job').select(sql`1`.as('one')).where('key', '=', p('key')),
)

const EVENTS: NumberedRowStatements = {
  first: statement<{ key: number }>()((db, p) =>
    db
      .selectFrom('job_event')
      .select((eb) => eb.fn.min<number | null>('sequence').as('number'))
      .where('job_key', '=', p('key')),
  ),
  deleteRow: statement<{ key: number; number: number }>()((db, p) =>
    db.deleteFrom('job_event').where('job_key', '=', p('key')).where('sequence', '=', p('number')),
  ),
}

const PAGES: NumberedRowStatements = {
  first: statement<{ key: number }>()((db, p) =>
    db
      .selectFrom('job_journal')
      .select((eb) => eb.fn.min<number | null>('page').as('number'))
      .where('job_key', '=', p('key')),
  ),
  deleteRow: statement<{ key: number; number: number }>()((db, p) =>
    db.deleteFrom('job_journal').where('job_key', '=', p('key')).where('page', '=', p('number')),
  ),
}

const deleteJournal = statement<{ key: number }>()((db, p) =>
  db.deleteFrom('job_journal').where('job_key', '=', p('key')),
)

const NONE: ReadonlySet<number> = new Set()

/** Values of a job that one statement releases. */
const CHUNK_VALUES = 64

/** A journal up to this many bytes is removed at once; nearly all are smaller. */
const SMALL_JOURNAL = 262_144

type RemovableJob = Pick<JobTable, 'key' | 'id' | 'user_id' | 'workspace_id' | 'graph_sha256'>

/**
 * Removes a job for good; false: it does not exist. Its idempotency keys stay for their time, so that no submission runs twice. If time runs out,
 * `purgeRemovedJobs` removes the rest.
 */
export function purgeJob(tx: Tx, row: RemovableJob, more: TimeBudget): boolean {
  if (!removeJobRow(tx, row, more)) return false
  deleteTombstone(tx, row)
  return true
}

/** Removes a job past its retention, and leaves a tombstone for its owner. */
export function expireJob(tx: Tx, row: RemovableJob, expired_at: string, more: TimeBudget): void {
  if (removeJobRow(tx, row, more)) insertTombstone(tx, row, expired_at)
}

function removeJobRow(tx: Tx, { key, graph_sha256 }: RemovableJob, more: TimeBudget): boolean {
  if (tx.run(deleteJobRow, { key }) === 0) return false
  recordRemovedJobKey(tx, key)
  tx.run(deleteTrimmedOf, { key })
  deleteUnusedGraph(tx, graph_sha256)
  if (!purgeTraces(tx, key, more)) tx.run(insertDoomed, { key })
  return true
}

/**
 * Removes the journal of a completed job, which has `bytes` bytes: a small journal at once, a larger one in `purgeRemovedJobs`. Returns how many
 * spilled values are released at once.
 */
export function deleteCompletedJournal(tx: Tx, key: number, bytes: number): number {
  const released = releaseSpilledValues(tx, key, CHUNK_VALUES)
  if (bytes <= SMALL_JOURNAL && released < CHUNK_VALUES) tx.run(deleteJournal, { key })
  else tx.run(insertDoomed, { key })
  return released
}

/** Has `purgeRemovedJobs` remove everything that is stored of a job, unless `cancelJobRemoval` is called before. */
export function scheduleJobRemoval(tx: Tx, key: number): void {
  tx.run(insertDoomed, { key })
}

export function cancelJobRemoval(tx: Tx, key: number): void {
  tx.run(deleteDoomed, { key })
}

/** True when nothing is left. */
function purgeTraces(tx: Tx, key: number, more: TimeBudget): boolean {
  return deleteJobEvents(tx, key, more) && deleteResultParts(tx, key, more) && purgeJournal(tx, key, more)
}

/** Removes the events of a job from the first on: at least some, and as many as time permits. True when none is left. */
export function deleteJobEvents(tx: Tx, key: number, more: TimeBudget): boolean {
  return deleteNumberedRows(tx, EVENTS, key, more)
}

/** Values are removed before the pages that name them: a kept job must not have values without a page. */
function purgeJournal(tx: Tx, key: number, more: TimeBudget): boolean {
  while (releaseSpilledValues(tx, key, CHUNK_VALUES) === CHUNK_VALUES) if (!more()) return false
  return deleteNumberedRows(tx, PAGES, key, more)
}

/**
 * Removes the rest of removed jobs, and journals of completed jobs, as long as there is time. True when nothing is left, except of jobs with the keys
 * in `except`.
 */
export function purgeRemovedJobs(tx: Tx, more: TimeBudget, except: ReadonlySet<number> = NONE): boolean {
  for (let doomed = findFirstDoomed(tx, except); doomed; doomed = findFirstDoomed(tx, except)) {
    const key = doomed.job_key
    const drop = tx.get(selectKept, { key }) ? purgeJournal : purgeTraces
    if (!drop(tx, key, more)) return false
    cancelJobRemoval(tx, key)
    if (!more()) return false
  }
  return true
}

/** A damaged row stays, and does not block the rows behind it. */
function findFirstDoomed(tx: Tx, except: ReadonlySet<number>): JobDoomedTable | undefined {
  const doomed = { table: 'job_doomed', statement: selectDoomed, params: {} } as const
  return readFirstRows(tx, doomed, 1, ({ job_key }) => !except.has(job_key)).at(0)
}

/** The sequence of the first stored event; null: there is none. */
export function findFirstEventSequence(tx: Tx, key: number): number | null {
  return findFirstNumber(tx, EVENTS, key)
}
