// What is removed of a living job's history when it has grown too long: the oldest events go, and it is counted what they told.
import { type RawBuilder, sql } from 'kysely'
import type { TimeBudget } from '../row-batches.ts'
import { type Statement, soundRowCondition, statement } from '../statement.ts'
import type { Tx } from '../store.ts'

const SUM = sql<number>`job_trimmed.count + excluded.count`
/** The checksum of a counted row, the place of its count, and its columns. */
const OLD = sql`job_trimmed.checksum, '4', job_trimmed.job_key, job_trimmed.type, job_trimmed.name, job_trimmed.status, job_trimmed.count`

type SequenceRange = { key: number; below: number }

/** Counts by a member of the payload, beside what was counted before. */
function buildCountStatement(type: string, name: string, status: RawBuilder<string>): Statement<SequenceRange, never> {
  const told = sql<string>`payload ->> ${sql.lit(name)}`
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
            told.as('name'),
            status.as('status'),
            (by) => by.fn.countAll<number>().as('count'),
            sql<number>`row_checksum('job_trimmed', job_key, type, ${told}, ${status}, count(*))`.as('checksum'),
          ])
          .where('job_key', '=', p('key'))
          .where('sequence', '<', p('below'))
          .where('type', '=', sql.lit(type))
          // What is counted gets a checksum of its own: a damaged event must not become a sound count.
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

/** Each row that is looked at is read whole, whatever is asked of it. */
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

/** How many events go at once, and how many bytes of them, if more than one does: a megabyte takes 6 ms, for its checksum and to be counted. */
const CHUNK = 512
const CHUNK_BYTES = 262_144
/** Bytes that go with however little that is added. */
const LEAST_BYTES = 1_000_000

/** How much of a history there is. */
export interface HistorySize {
  readonly events: number
  readonly bytes: number
}

/**
 * Removes the events of a job below a sequence, the oldest first: as many as are added, or of large ones as many bytes, so that a history does not take more room,
 * and of a longer one as many as there is time for. One that began with large events may be longer for a while.
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

/** The events that go next; null where there are none below the sequence. */
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

/** Of these at most `limit` behind one of them; none where there are no more. There are some for each node of a graph that may have very many. */
export function listTrimmedNodeStatusesAfter(
  tx: Tx,
  key: number,
  { node_id, status }: { readonly node_id: string; readonly status: string },
  limit: number,
): { node_id: string; status: string }[] {
  return tx.all(selectNodesBehind, { key, node_id, status, limit })
}

/** How many values of each output were removed from the history. */
export function countTrimmedOutputValues(tx: Tx, key: number): { output_name: string; count: number }[] {
  return tx.all(selectOutputs, { key }).map(({ output_name, count }) => ({ output_name, count }))
}
