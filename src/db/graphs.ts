// Graphs by owner and content: src/workflows/graph-key.ts makes their keys. The text of a large graph is split into parts that are written before its
// row, each in its own transaction: a single transaction would block all other writes.
import { sql } from 'kysely'
import { chunkText } from '../shared/text-chunks.ts'
import { DamagedRowError } from './integrity/damaged-row.ts'
import { readFirstRows, type TimeBudget } from './row-batches.ts'
import { statement } from './statement.ts'
import type { Store, Tx } from './store.ts'
import type { GraphPartTable, GraphTable } from './tables/workflows.ts'

/** Characters of one part. Writing and committing a megabyte takes 2 to 6 ms. */
const PART = 1_000_000

const insert = statement<GraphTable>()((db, p) =>
  db
    .insertInto('graph')
    .values({ sha256: p('sha256'), body: p('body'), parts: p('parts') })
    .onConflict((conflict) => conflict.doNothing()),
)

/** Replaces, because a stored part may be damaged. */
const putPart = statement<GraphPartTable>()((db, p) =>
  db.replaceInto('graph_part').values({ sha256: p('sha256'), at: p('at'), body: p('body') }),
)

const select = statement<{ sha256: string }>()((db, p) =>
  db.selectFrom('graph').select(['body', 'parts']).where('sha256', '=', p('sha256')),
)

const selectKnown = statement<{ sha256: string }>()((db, p) =>
  db.selectFrom('graph').select(sql`1`.as('one')).where('sha256', '=', p('sha256')),
)

const selectParts = statement<{ sha256: string }>()((db, p) =>
  db.selectFrom('graph_part').select('body').where('sha256', '=', p('sha256')).orderBy('at'),
)

const selectPlaces = statement<{ sha256: string }>('keys')((db, p) =>
  db.selectFrom('graph_part').select('at').where('sha256', '=', p('sha256')),
)

const selectWithoutGraph = statement()((db) =>
  db
    .selectFrom('graph_part')
    .select('sha256')
    .where((eb) =>
      eb.not(
        eb.exists(eb.selectFrom('graph').select(sql`1`.as('one')).whereRef('graph.sha256', '=', 'graph_part.sha256')),
      ),
    )
    .orderBy('sha256')
    .orderBy('at'),
)

const dropParts = statement<{ sha256: string }>()((db, p) =>
  db.deleteFrom('graph_part').where('sha256', '=', p('sha256')),
)

const dropUnused = statement<{ sha256: string }>()((db, p) =>
  db
    .deleteFrom('graph')
    .where('sha256', '=', p('sha256'))
    .where((eb) =>
      eb.not(
        eb.or([
          eb.exists(eb.selectFrom('workflow').select(sql`1`.as('one')).where('graph_sha256', '=', p('sha256'))),
          eb.exists(eb.selectFrom('workflow_version').select(sql`1`.as('one')).where('graph_sha256', '=', p('sha256'))),
          eb.exists(eb.selectFrom('job').select(sql`1`.as('one')).where('graph_sha256', '=', p('sha256'))),
        ]),
      ),
    ),
)

/**
 * Writes the parts of a large graph's text unless the graph is stored; null: nothing is written. `saveGraph` then writes the row that makes them
 * count.
 */
export function writeGraphParts(store: Store, sha256: string, body: string): Promise<void> | null {
  if (body.length <= PART || store.read((tx) => isGraphStored(tx, sha256))) return null
  return writeParts(store, sha256, chunkText(body, PART))
}

async function writeParts(store: Store, sha256: string, parts: readonly string[]): Promise<void> {
  for (const [at, body] of parts.entries()) await store.write((tx) => tx.run(putPart, { sha256, at, body }))
}

/** Stores a graph's JSON text under its hash; a stored graph stays unchanged. Parts that `writeGraphParts` has not written are written here. */
export function saveGraph(tx: Tx, sha256: string, body: string): void {
  if (body.length <= PART) tx.run(insert, { sha256, body, parts: null })
  else if (!isGraphStored(tx, sha256)) saveLargeGraph(tx, sha256, chunkText(body, PART))
}

function isGraphStored(tx: Tx, sha256: string): boolean {
  return tx.get(selectKnown, { sha256 }) !== undefined
}

function saveLargeGraph(tx: Tx, sha256: string, parts: readonly string[]): void {
  const written = new Set(tx.all(selectPlaces, { sha256 }).map(({ at }) => at))
  for (const [at, body] of parts.entries()) if (!written.has(at)) tx.run(putPart, { sha256, at, body })
  tx.run(insert, { sha256, body: '', parts: parts.length })
}

/** The JSON text of a graph, or undefined. @throws DamagedRowError if a part of it is missing */
export function readGraphText(tx: Tx, sha256: string): string | undefined {
  const row = tx.get(select, { sha256 })
  if (!row || row.parts === null) return row?.body
  const parts = tx.all(selectParts, { sha256 })
  if (parts.length !== row.parts) throw new DamagedRowError('graph', { sha256, ...row })
  return parts.map(({ body }) => body).join('')
}

/** Removes a graph that no workflow, version or job refers to. */
export function deleteUnusedGraph(tx: Tx, sha256: string): void {
  if (tx.run(dropUnused, { sha256 }) > 0) tx.run(dropParts, { sha256 })
}

/** Removes parts without a graph row, as long as there is time; true when none is left. */
export function deleteOrphanedGraphParts(tx: Tx, more: TimeBudget): boolean {
  for (let part = findFirstOrphanedPart(tx); part; part = findFirstOrphanedPart(tx)) {
    tx.run(dropParts, part)
    if (!more()) return false
  }
  return true
}

/** A damaged row stays, and does not block the rows behind it. */
function findFirstOrphanedPart(tx: Tx): Pick<GraphPartTable, 'sha256'> | undefined {
  return readFirstRows(tx, { table: 'graph_part', statement: selectWithoutGraph, params: {} }, 1).at(0)
}
