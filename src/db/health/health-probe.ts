// Whether the database answers, and whether it can be written again once it could not.
import { sql } from 'kysely'
import type { Health } from '../../../generated/types.ts'
import { statement } from '../statement.ts'
import type { Store, Tx } from '../store.ts'
import type { DatabaseFault } from './database-faults.ts'

export type DatabaseHealthStatus = Health['services']['database']

const STATUS_BY_FAULT: Readonly<Record<DatabaseFault, DatabaseHealthStatus>> = {
  full: 'full',
  read_only: 'read_only',
  damaged: 'damaged',
  locked: 'unhealthy',
  unreachable: 'unhealthy',
}

const touch = statement()((db) =>
  db.selectNoFrom(sql<number>`(select count(*) from (select 1 from job limit 1))`.as('jobs')),
)

/** Of nobody's: no user has an empty id. */
const OF_NOBODY = { user_id: '', workspace: '', expired_at: '' }
/** As much as one would like to have room for, so that it is not called healthy for a moment only. */
const TRIAL_BYTES = 64 * 1024

const insertTrialRow = statement<{ id: string }>()((db, p) =>
  db.insertInto('job_tombstone').values({ ...OF_NOBODY, id: p('id') }),
)
const deleteTrialRow = statement()((db) => db.deleteFrom('job_tombstone').where('user_id', '=', OF_NOBODY.user_id))

/** Puts a row of some pages and takes it away again: the pages are written all the same. */
function writeTrialRow(tx: Tx): void {
  tx.run(insertTrialRow, { id: 'x'.repeat(TRIAL_BYTES) })
  tx.run(deleteTrialRow, {})
}

/** Whether the database can be written, as far as is known. Where there is doubt, it is tried. It never throws. */
export function isDatabaseWritable(store: Store): boolean {
  store.retryWriteIfFaulty(writeTrialRow)
  return store.fault === null
}

/** Runs a statement that reads a page of a table, and where there is doubt, one that writes. */
export function probeDatabaseHealth(store: Store): DatabaseHealthStatus {
  try {
    isDatabaseWritable(store)
    store.read((tx) => tx.get(touch, {}))
    return store.fault === null ? rowHealth(store) : STATUS_BY_FAULT[store.fault]
  } catch {
    return store.fault === null ? 'unhealthy' : STATUS_BY_FAULT[store.fault]
  }
}

function rowHealth(store: Store): DatabaseHealthStatus {
  return store.hasDamagedRows ? 'damaged' : 'healthy'
}
