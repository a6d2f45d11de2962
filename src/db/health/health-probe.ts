// Tells whether the database answers, and whether it can be written again after a fault.
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

/** No user has an empty id. */
const OF_NOBODY = { user_id: '', workspace: '', expired_at: '' }
/** Enough bytes that a database on a nearly full disk is not reported healthy. */
const TRIAL_BYTES = 64 * 1024

const insertTrialRow = statement<{ id: string }>()((db, p) =>
  db.insertInto('job_tombstone').values({ ...OF_NOBODY, id: p('id') }),
)
const deleteTrialRow = statement()((db) => db.deleteFrom('job_tombstone').where('user_id', '=', OF_NOBODY.user_id))

/** Inserts and deletes a row of some pages: the pages are written nevertheless. */
function writeTrialRow(tx: Tx): void {
  tx.run(insertTrialRow, { id: 'x'.repeat(TRIAL_BYTES) })
  tx.run(deleteTrialRow, {})
}

/** Whether the database can be written, as far as is known. In doubt it tries a write. It never throws. */
export function isDatabaseWritable(store: Store): boolean {
  store.retryWriteIfFaulty(writeTrialRow)
  return store.fault === null
}

/** Runs a statement that reads a page of a table, and in doubt one that writes. */
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
