// Single facts about the whole database, by name.
import { statement } from './statement.ts'
import type { Store, Tx } from './store.ts'

const select = statement<{ name: string }>()((db, p) =>
  db.selectFrom('meta').select('value').where('name', '=', p('name')),
)

const upsert = statement<{ name: string; value: string }>()((db, p) =>
  db
    .insertInto('meta')
    .values({ name: p('name'), value: p('value') })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: (eb) => eb.ref('excluded.value') })),
)

const remove = statement<{ name: string }>()((db, p) => db.deleteFrom('meta').where('name', '=', p('name')))

export function readMetaValue(tx: Tx, name: string): string | null {
  return tx.get(select, { name })?.value ?? null
}

/** `value` null removes the fact. */
export function writeMetaValue(tx: Tx, name: string, value: string | null): void {
  if (value === null) tx.run(remove, { name })
  else tx.run(upsert, { name, value })
}

const DATABASE_NAME_ROW = 'database'

/** The permanent name of this database and its copies. It is created at the first call, and durable. */
export async function readOrCreateDatabaseName(
  store: Store,
  platform: { id(prefix: string): string },
): Promise<string> {
  const known = store.read((tx) => readMetaValue(tx, DATABASE_NAME_ROW))
  if (known !== null) return known
  const name = platform.id('db')
  await store.write((tx) => writeMetaValue(tx, DATABASE_NAME_ROW, name))
  return name
}
