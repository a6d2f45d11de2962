// Trims the history of a living job that has grown too long: the oldest events are removed, and their contents counted.
import { type RawBuilder, sql } from 'kysely'
import type { TimeBudget } from '../row-batches.ts'
import { type Statement, soundRowCondition, statement } from '../statement.ts'
import type { Tx } from '../store.ts'

const SUM = sql<number>`job_trimmed.count + excluded.count`
/** The checksum of a counted row, the position of its count, and its columns. */
const OLD = sql`job_trimmed.checksum, '4', job_trimmed.job_key, job_trimmed.type, job_trimmed.name, job_trimmed.status, job_trimmed.count`

type SequenceRange = { key: number; below: number }

/** Counts removed events by a member of the payload, and adds to earlier counts. */
function buildCountStatement(type: string, name: string, status: RawBuilder<string>): Statement<SequenceRange, never> {
  const member = sql<string>`payload ->> ${sql.lit(name)}`
  return statement<SequenceRange>()((db, p) =>
    db
      .insertInto('job_trimmed')
      .columns(['job_key', 'type', 'name', 'status', 'count', 'checksum'])
      .expression((eb) =>
        eb
          .selectFrom('job_event')
          .select([
            'job_key',
            'type',
            member.as('name'),
            status.as('status'),
            (by) => by.fn.countAll<number>().as('count'),
            sql<number>`row_checksum('job_trimmed', job_key, type, ${member}, ${status}, count(*))`.as('checksum'),
          ])
          .where('job_key', '=', p('key'))
          .where('sequence', '<', p('below'))
          .where('type', '=', sql.lit(type))
          // The count gets a checksum of its own: a damaged event must not become a sound count.
          .where(soundRowCondition('job_event'))
          .groupBy(['name', 'status']),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['job_key', 'type', 'name', 'status'])
          .doUpdateSet({ count: SUM, checksum: sql<number>`row_rechecksum('job_trimmed', ${OLD}, ${SUM})` }),
      ),
  ) as Statement<SequenceRange, never>
}

const countNodes = buildCountStatement('node_status', 'node_id', sql<string>`payload ->> 'status'`)
const countOutputs = buildCountStatement('output_update', 'output_name', sql<string>`''`)

const deleteBelow = statement<SequenceRange>()((db, p) =>
  db.deleteFrom('job_event').where('job_key', '=', p('key')).where('sequence', '<', p('below')),
)

/** SQLite reads each examined row whole. */
const selectSizes = statement<SequenceRange & { limit: number }>('keys')((db, p) =>
  db
    .selectFrom('job_event')
    .select(({ fn }) => ['sequence', fn<number>('octet_length', ['payload']).as('bytes')])
    .where('job_key', '=', p('key'))
    .where('sequence', '<', p('below'))
    .orderBy('sequence')
    .limit(p('limit')),
)

const selectNodes = statement<{ key: number }>()((db, p) =>
  db
    .selectFrom('job_trimmed')
    .select(['name as node_id', 'status'])
    .where('job_key', '=', p('key'))
    .where('type', '=', sql.lit('node_status')),
)

const selectNodesBehind = statement<{ key: number; node_id: string; status: string; limit: number }>()((db, p) =>
  db
    .selectFrom('job_trimmed')
    .select(['name as node_id', 'status'])
    .where('job_key', '=', p('key'))
    .where('type', '=', sql.lit('node_status'))
    .where(sql<boolean>`(name, status) > (${p('node_id')}, ${p('status')})`)
    .orderBy('name')
    .orderBy('status')
    .limit(p('limit')),
)

const selectOutputs = statement<{ key: number }>()((db, p) =>
  db
    .selectFrom('job_trimmed')
    .select(['name as output_name', 'count'])
    .where('job_key', '=', p('key'))
    .where('type', '=', sql.lit('output_update')),
)

/** The events that are removed at once, and their total bytes if there is more than one: a megabyte takes 6 ms, for its checksum and its count. */
const CHUNK = 512
const CHUNK_BYTES = 262_144
/** Bytes that are removed even if less is added. */
const LEAST_BYTES = 1_000_000

/** The size of a history. */
export interface HistorySize {
  readonly events: number
  readonly bytes: number
}

/**
 * Removes the oldest events of a job below a sequence: as many as are added, or as many bytes, so that the history does not grow, and more while
 * there is time. A history that began with large events may be longer for a while.
 */
export function trimJobEvents(tx: Tx, key: number, below: number, added: HistorySize, more: TimeBudget): void {
  const most_bytes = Math.max(added.bytes, LEAST_BYTES)
  for (let events = 0, bytes = 0; (events < added.events && bytes < most_bytes) || more(); ) {
    const chunk = findFirstChunk(tx, key, below)
    if (chunk === null) return
    const range = { key, below: chunk.below }
    tx.run(countNodes, range)
    tx.run(countOutputs, range)
    tx.run(deleteBelow, range)
    events += chunk.events
    bytes += chunk.bytes
  }
}

/** The events to remove next; null: there are none below the sequence. */
function findFirstChunk(tx: Tx, key: number, below: number): (HistorySize & { below: number }) | null {
  let [bytes, read] = [0, 0]
  const rows = tx.upTo(selectSizes, { key, below, limit: CHUNK }, (row) => {
    read += row.bytes
    return read > CHUNK_BYTES
  })
  const whole = read > CHUNK_BYTES && rows.length > 1 ? rows.slice(0, -1) : rows
  for (const row of whole) bytes += row.bytes
  const last = whole.at(-1)
  return last ? { events: whole.length, bytes, below: last.sequence + 1 } : null
}

/** Each status of a node that was removed from the history. */
export function listTrimmedNodeStatuses(tx: Tx, key: number): { node_id: string; status: string }[] {
  return tx.all(selectNodes, { key }).map(({ node_id, status }) => ({ node_id, status }))
}

/**
 * At most `limit` of these statuses behind one of them; none: there are no more. There are some for each node, and a graph may have very many nodes.
 */
export function listTrimmedNodeStatusesAfter(
  tx: Tx,
  key: number,
  { node_id, status }: { readonly node_id: string; readonly status: string },
  limit: number,
): { node_id: string; status: string }[] {
  return tx.all(selectNodesBehind, { key, node_id, status, limit })
}

/** The number of values of each output that were removed from the history. */
export function countTrimmedOutputValues(tx: Tx, key: number): { output_name: string; count: number }[] {
  return tx.all(selectOutputs, { key }).map(({ output_name, count }) => ({ output_name, count }))
}
