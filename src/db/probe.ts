// Whether the database answers, and whether it can be written again once it could not.
import { sql } from 'kysely'
import type { Health } from '../../generated/types.ts'
import type { Fault } from './faults.ts'
import { statement } from './statement.ts'
import type { Store, Tx } from './store.ts'

export type DatabaseHealth = Health['services']['database']

const WORDS: Readonly<Record<Fault, DatabaseHealth>> = {
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

const put = statement<{ id: string }>()((db, p) => db.insertInto('job_tombstone').values({ ...OF_NOBODY, id: p('id') }))
const take = statement()((db) => db.deleteFrom('job_tombstone').where('user_id', '=', OF_NOBODY.user_id))

/** Puts a row of some pages and takes it away again: the pages are written all the same. */
function trial(tx: Tx): void {
  tx.run(put, { id: 'x'.repeat(TRIAL_BYTES) })
  tx.run(take, {})
}

/** Whether the database can be written, as far as is known. Where there is doubt, it is tried. It never throws. */
export function isWritable(store: Store): boolean {
  store.tryWriting(trial)
  return store.fault === null
}

/** Runs a statement that reads a page of a table, and where there is doubt, one that writes. */
export function probe(store: Store): DatabaseHealth {
  try {
    isWritable(store)
    store.read((tx) => tx.get(touch, {}))
    return store.fault === null ? ofRows(store) : WORDS[store.fault]
  } catch {
    return store.fault === null ? 'unhealthy' : WORDS[store.fault]
  }
}

function ofRows(store: Store): DatabaseHealth {
  return store.hasDamagedRows ? 'damaged' : 'healthy'
}
