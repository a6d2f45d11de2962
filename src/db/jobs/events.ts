// Rows of job events. Only the event log inserts them, and they never change.
import { sql } from 'kysely'
import { computeRowChecksum } from '../integrity/row-checksum.ts'
import { isOverRowLimits } from '../row-batches.ts'
import { queryBuilder, type Statement, soundRowCondition, statement } from '../statement.ts'
import type { Tx } from '../store.ts'
import type { JobEventTable } from '../tables/jobs.ts'

/** The number of events that are examined, or read of one type, at once. */
const OF_TYPE = 1_000

/** Numbers of rows that one statement inserts, the largest first: each of eight rows costs two thirds of a single insert. */
const WIDTHS = [8, 4, 2, 1] as const

const inserts = new Map(WIDTHS.map((width) => [width, buildInsert(width)]))

function buildInsert(width: number): Statement<readonly JobEventTable[], never> {
  const row = { job_key: 0, sequence: 0, type: '', payload: '', created_at: '', checksum: 0 }
  const { sql } = queryBuilder
    .insertInto('job_event')
    .values(Array.from({ length: width }, () => row))
    .compile()
  return {
    sql,
    bind: (rows) => {
      const values: unknown[] = []
      for (const { job_key, sequence, type, payload, created_at } of rows) {
        const start = values.length
        values.push(job_key, sequence, type, payload, created_at)
        values.push(computeRowChecksum('job_event', (place) => values[start + place]))
      }
      return values
    },
  }
}

const selectAfter = statement<{ job_key: number; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .selectAll()
    .where('job_key', '=', p('job_key'))
    .where('sequence', '>', p('after'))
    .orderBy('sequence')
    .limit(p('limit') as never),
)

const selectTypeAfter = statement<{ job_key: number; type: string; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .selectAll()
    .where('job_key', '=', p('job_key'))
    .where('sequence', '>', p('after'))
    .where('type', '=', p('type'))
    .orderBy('sequence')
    .limit(p('limit') as never),
)

const selectScanSizes = statement<{ job_key: number; after: number; limit: number }>('keys')((db, p) =>
  db
    .selectFrom('job_event')
    .select(({ fn }) => ['sequence', fn<number>('octet_length', ['payload']).as('bytes')])
    .where('job_key', '=', p('job_key'))
    .where('sequence', '>', p('after'))
    .orderBy('sequence')
    .limit(p('limit')),
)

const selectTypeBetween = statement<{ job_key: number; type: string; after: number; to: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .selectAll()
    .where('job_key', '=', p('job_key'))
    .where('sequence', '>', p('after'))
    .where('sequence', '<=', p('to'))
    .where('type', '=', p('type'))
    .orderBy('sequence'),
)

const selectNodes = statement<{ job_key: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .select([sql<string>`payload ->> 'node_id'`.as('node_id'), sql<string>`payload ->> 'status'`.as('status')])
    .where('job_key', '=', p('job_key'))
    .where('type', '=', 'node_status')
    .where(soundRowCondition('job_event')),
)

const countOutputs = statement<{ job_key: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .select((eb) => [sql<string>`payload ->> 'output_name'`.as('output_name'), eb.fn.countAll<number>().as('count')])
    .where('job_key', '=', p('job_key'))
    .where('type', '=', 'output_update')
    .where(soundRowCondition('job_event'))
    .groupBy('output_name'),
)

/** SQLite reads each examined row whole. */
const selectSizes = statement<{ job_key: number; limit: number }>('keys')((db, p) =>
  db
    .selectFrom('job_event')
    .select(({ fn }) => fn<number>('octet_length', ['payload']).as('bytes'))
    .where('job_key', '=', p('job_key'))
    .limit(p('limit')),
)

/** Whether a job has more events than `most`, or more bytes in their payloads than `most_bytes`. */
export function hasMoreEventsThan(tx: Tx, job_key: number, most: number, most_bytes: number): boolean {
  return isOverRowLimits(tx, selectSizes, { job_key, limit: most + 1 }, most_bytes)
}

/** Each status that a node of the job had, as far as the history has it. */
export function listNodeStatuses(tx: Tx, job_key: number): { node_id: string; status: string }[] {
  return tx.all(selectNodes, { job_key })
}

/** The number of values of each output in the history. */
export function countOutputValues(tx: Tx, job_key: number): { output_name: string; count: number }[] {
  return tx.all(countOutputs, { job_key })
}

export function insertJobEvent(tx: Tx, row: JobEventTable): void {
  insertJobEvents(tx, [row])
}

export function insertJobEvents(tx: Tx, rows: readonly JobEventTable[]): void {
  let at = 0
  for (const width of WIDTHS) {
    for (; rows.length - at >= width; at += width) tx.run(inserts.get(width)!, rows.slice(at, at + width))
  }
}

/** Characters of payloads that are read at once; at least one event is read. A megabyte takes some milliseconds. */
const READ_AT_ONCE = 1_000_000

/** At most `limit` events with a sequence greater than `after`, in order; fewer where they are large, but at least one. */
export function listJobEventsAfter(tx: Tx, job_key: number, after: number, limit: number): JobEventTable[] {
  return tx.upTo(selectAfter, { job_key, after, limit }, startReadLimit())
}

/** The first events of one type with a sequence greater than `after`, in order; none: there are no more. All events between them are examined. */
export function listJobEventsOfType(tx: Tx, job_key: number, type: string, after: number): JobEventTable[] {
  return tx.upTo(selectTypeAfter, { job_key, type, after, limit: OF_TYPE }, startReadLimit())
}

/**
 * The last event up to which a history may be examined at once, from behind `after` on; null: there is none. SQLite reads each examined event whole,
 * of any type.
 */
export function findScanEnd(tx: Tx, job_key: number, after: number): number | null {
  let left = READ_AT_ONCE
  const rows = tx.upTo(selectScanSizes, { job_key, after, limit: OF_TYPE }, ({ bytes }) => {
    left -= bytes
    return left <= 0
  })
  return rows.at(-1)?.sequence ?? null
}

/** The events of one type behind `after` and up to `to`, in order. `findScanEnd` limits the range. */
export function listJobEventsBetween(
  tx: Tx,
  job_key: number,
  type: string,
  after: number,
  to: number,
): JobEventTable[] {
  return tx.all(selectTypeBetween, { job_key, type, after, to })
}

function startReadLimit(): (row: JobEventTable) => boolean {
  let left = READ_AT_ONCE
  return ({ payload }) => {
    left -= payload.length
    return left <= 0
  }
}
