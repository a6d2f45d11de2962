// How jobs are removed: the row at once, and what it leaves behind little by little, because a job may have a hundred thousand events.
import { dropUnusedGraph } from './graphs.ts'
import { keepRemovedKey } from './jobs.ts'
import type { JobTable } from './schema.ts'
import { releaseSpilledValues } from './spilled-values.ts'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'
import { bury, unbury } from './tombstones.ts'

const deleteJobRow = statement<{ key: number }>()((db, p) => db.deleteFrom('job').where('key', '=', p('key')))

const deleteTrimmedOf = statement<{ key: number }>()((db, p) =>
  db.deleteFrom('job_trimmed').where('job_key', '=', p('key')),
)

const insertDoomed = statement<{ key: number }>()((db, p) => db.insertInto('job_doomed').values({ job_key: p('key') }))

const selectDoomed = statement()((db) => db.selectFrom('job_doomed').select('job_key').orderBy('job_key').limit(1))

const deleteDoomed = statement<{ key: number }>()((db, p) =>
  db.deleteFrom('job_doomed').where('job_key', '=', p('key')),
)

const selectFirstEvent = statement<{ key: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .select((eb) => eb.fn.min('sequence').as('sequence'))
    .where('job_key', '=', p('key')),
)

const deleteEventsBelow = statement<{ key: number; below: number }>()((db, p) =>
  db.deleteFrom('job_event').where('job_key', '=', p('key')).where('sequence', '<', p('below')),
)

const selectFirstPage = statement<{ key: number }>()((db, p) =>
  db
    .selectFrom('job_journal')
    .select((eb) => eb.fn.min('page').as('page'))
    .where('job_key', '=', p('key')),
)

const deletePagesBelow = statement<{ key: number; below: number }>()((db, p) =>
  db.deleteFrom('job_journal').where('job_key', '=', p('key')).where('page', '<', p('below')),
)

/** Whether there is time for more. */
export type More = () => boolean

/** Time for `ms` milliseconds from now on. */
export function within(ms: number): More {
  const deadline = performance.now() + ms
  return () => performance.now() < deadline
}

/** How many rows one statement removes at first, and at most: rows may be small or have megabytes. */
const FIRST_CHUNK = 64
const LARGEST_CHUNK = 512
/** A statement that takes longer, in milliseconds, is followed by a smaller one. */
const SLOW_MS = 1

type Removable = Pick<JobTable, 'key' | 'id' | 'user_id' | 'workspace_id' | 'graph_sha256'>

/** Removes a job for good; false where it is gone already. Its idempotency keys stay for their time, so that nothing runs again. The traces for which there is no time are left to `dropDoomed`. */
export function removeJob(tx: Tx, row: Removable, more: More): boolean {
  if (!dropRow(tx, row, more)) return false
  unbury(tx, row)
  return true
}

/** Removes a job past its retention, and remembers for its owner that it was there. */
export function expireJob(tx: Tx, row: Removable, expired_at: string, more: More): void {
  if (dropRow(tx, row, more)) bury(tx, row, expired_at)
}

function dropRow(tx: Tx, { key, graph_sha256 }: Removable, more: More): boolean {
  if (tx.run(deleteJobRow, { key }) === 0) return false
  keepRemovedKey(tx, key)
  tx.run(deleteTrimmedOf, { key })
  dropUnusedGraph(tx, graph_sha256)
  if (!dropTraces(tx, key, more)) tx.run(insertDoomed, { key })
  return true
}

/** True when nothing is left. */
function dropTraces(tx: Tx, key: number, more: More): boolean {
  return dropEvents(tx, key, more) && dropJournal(tx, key, more) && releaseValues(tx, key, more)
}

/** Removes the events of a job from the first on, at least some, and as many as there is time for; true when none is left. */
export function dropEvents(tx: Tx, key: number, more: More): boolean {
  return dropChunks(
    () => firstEvent(tx, key),
    (below) => tx.run(deleteEventsBelow, { key, below }),
    more,
  )
}

function dropJournal(tx: Tx, key: number, more: More): boolean {
  return dropChunks(
    () => tx.get(selectFirstPage, { key })?.page ?? null,
    (below) => tx.run(deletePagesBelow, { key, below }),
    more,
  )
}

function releaseValues(tx: Tx, key: number, more: More): boolean {
  while (releaseSpilledValues(tx, key, FIRST_CHUNK) === FIRST_CHUNK) if (!more()) return false
  return true
}

function dropChunks(first: () => number | null, dropBelow: (number: number) => void, more: More): boolean {
  let chunk = FIRST_CHUNK
  let begun = false
  for (let from = first(); from !== null; from = first()) {
    if (begun && !more()) return false
    begun = true
    const began = performance.now()
    dropBelow(from + chunk)
    chunk = performance.now() - began > SLOW_MS ? Math.ceil(chunk / 2) : Math.min(chunk * 2, LARGEST_CHUNK)
  }
  return true
}

/** Removes what doomed jobs left, as long as there is time; true when nothing is left of any. */
export function dropDoomed(tx: Tx, more: More): boolean {
  for (let doomed = tx.get(selectDoomed, {}); doomed; doomed = tx.get(selectDoomed, {})) {
    if (!dropTraces(tx, doomed.job_key, more)) return false
    tx.run(deleteDoomed, { key: doomed.job_key })
    if (!more()) return false
  }
  return true
}

/** The sequence of the first event that is still stored; null where none is. */
export function firstEvent(tx: Tx, key: number): number | null {
  return tx.get(selectFirstEvent, { key })?.sequence ?? null
}
