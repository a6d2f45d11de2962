// What is removed of a living job's history when it has grown too long: the oldest events go, and it is counted what they told.
import { type RawBuilder, sql } from 'kysely'
import type { More } from './batches.ts'
import { isSoundRow, type Statement, statement } from './statement.ts'
import type { Tx } from './store.ts'

const SUM = sql<number>`job_trimmed.count + excluded.count`
/** The checksum of a counted row, the place of its count, and its columns. */
const OLD = sql`job_trimmed.checksum, '4', job_trimmed.job_key, job_trimmed.type, job_trimmed.name, job_trimmed.status, job_trimmed.count`

type Range = { key: number; below: number }

/** Counts by a member of the payload, beside what was counted before. */
function countOf(type: string, name: string, status: RawBuilder<string>): Statement<Range, never> {
  const told = sql<string>`payload ->> ${sql.lit(name)}`
  return statement<Range>()((db, p) =>
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
          .where(isSoundRow('job_event'))
          .groupBy(['name', 'status']),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['job_key', 'type', 'name', 'status'])
          .doUpdateSet({ count: SUM, checksum: sql<number>`row_rechecksum('job_trimmed', ${OLD}, ${SUM})` }),
      ),
  ) as Statement<Range, never>
}

const countNodes = countOf('node_status', 'node_id', sql<string>`payload ->> 'status'`)
const countOutputs = countOf('output_update', 'output_name', sql<string>`''`)

const deleteBelow = statement<Range>()((db, p) =>
  db.deleteFrom('job_event').where('job_key', '=', p('key')).where('sequence', '<', p('below')),
)

const selectFirst = statement<{ key: number }>()((db, p) =>
  db
    .selectFrom('job_event')
    .select((eb) => eb.fn.min('sequence').as('sequence'))
    .where('job_key', '=', p('key')),
)

const selectNodes = statement<{ key: number }>()((db, p) =>
  db
    .selectFrom('job_trimmed')
    .select(['name as node_id', 'status'])
    .where('job_key', '=', p('key'))
    .where('type', '=', sql.lit('node_status')),
)

const selectOutputs = statement<{ key: number }>()((db, p) =>
  db
    .selectFrom('job_trimmed')
    .select(['name as output_name', 'count'])
    .where('job_key', '=', p('key'))
    .where('type', '=', sql.lit('output_update')),
)

/** How many events go at once. */
const CHUNK = 512

/**
 * Removes the events of a job below a sequence, the oldest first: `least` of them at any rate, so that a history does not grow, and of a
 * longer one, which was kept before there was a bound, as many as there is time for.
 */
export function trimEvents(tx: Tx, key: number, below: number, least: number, more: More): void {
  let removed = 0
  for (let from = firstOf(tx, key); from < below && (removed < least || more()); ) {
    const next = Math.min(from + CHUNK, below)
    const range = { key, below: next }
    tx.run(countNodes, range)
    tx.run(countOutputs, range)
    tx.run(deleteBelow, range)
    removed += next - from
    from = next
  }
}

function firstOf(tx: Tx, key: number): number {
  return tx.get(selectFirst, { key })?.sequence ?? Number.MAX_SAFE_INTEGER
}

/** Each status of a node that was removed from the history. */
export function trimmedNodes(tx: Tx, key: number): { node_id: string; status: string }[] {
  return tx.all(selectNodes, { key }).map(({ node_id, status }) => ({ node_id, status }))
}

/** How many values of each output were removed from the history. */
export function trimmedOutputs(tx: Tx, key: number): { output_name: string; count: number }[] {
  return tx.all(selectOutputs, { key }).map(({ output_name, count }) => ({ output_name, count }))
}
