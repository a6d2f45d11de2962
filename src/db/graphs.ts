// Graphs by content.
import { sql } from 'kysely'
import { statement } from './statement.ts'
import type { Tx } from './store.ts'

const insert = statement<{ sha256: string; body: string }>()((db, p) =>
  db
    .insertInto('graph')
    .values({ sha256: p('sha256'), body: p('body') })
    .onConflict((conflict) => conflict.doNothing()),
)

const select = statement<{ sha256: string }>()((db, p) =>
  db.selectFrom('graph').select('body').where('sha256', '=', p('sha256')),
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

/** Keeps a graph's JSON text under its hash; a known one is left as it is. */
export function keepGraph(tx: Tx, sha256: string, body: string): void {
  tx.run(insert, { sha256, body })
}

/** The JSON text of a graph, or undefined. */
export function graphBody(tx: Tx, sha256: string): string | undefined {
  return tx.get(select, { sha256 })?.body
}

/** Removes a graph that no workflow, version or job names any more. */
export function dropUnusedGraph(tx: Tx, sha256: string): void {
  tx.run(dropUnused, { sha256 })
}
