// Whether the database answers.
import { sql } from 'kysely'
import { statement } from './statement.ts'
import type { Store } from './store.ts'

const touch = statement()((db) =>
  db.selectNoFrom(sql<number>`(select count(*) from (select 1 from job limit 1))`.as('jobs')),
)

/** Runs a statement that reads a page of a table. */
export function probe(store: Store): boolean {
  try {
    return store.read((tx) => tx.get(touch, {})) !== undefined
  } catch {
    return false
  }
}
