// All rows of an owner as text, so that a change by a stranger shows as a difference. The tables are those of the schema, classified by their
// columns; any other table must be listed as shared. Search indexes, which SQLite stores as tables, have no data of their own.
import type { OwnerScope } from '../../../src/db/owner-scope.ts'
import type { Statement } from '../../../src/db/statement.ts'
import type { Store, Tx } from '../../../src/db/store.ts'

/** Shared by all owners, or about the database itself. */
const NOBODYS = ['graph', 'graph_part', 'meta', 'sweep_position', 'kysely_migration', 'kysely_migration_lock']

const MINE = `user_id = ? and ifnull(workspace_id, '') = ifnull(?, '')`

/** How the rows of an owner are found, by a column of their table; the first match counts. */
const WAYS: readonly [columns: readonly string[], condition: string][] = [
  [['user_id', 'workspace_id'], MINE],
  [['user_id', 'workspace'], `user_id = ? and workspace = ifnull(?, '')`],
  [['job_key'], `job_key in (select key from job where ${MINE})`],
  [['thread_key'], `thread_key in (select key from thread where ${MINE})`],
  [['index_key'], `index_key in (select key from vector_index where user_id = ? and workspace = ifnull(?, ''))`],
  [['workflow_id'], `workflow_id in (select id from workflow where ${MINE})`],
]

export function rowsOf(store: Store, { user_id, workspace_id }: OwnerScope): string {
  return store.read((tx) =>
    queriesOf(tx)
      .map((sql) => JSON.stringify([sql, tx.all(query(sql), [user_id, workspace_id])], asText))
      .join('\n'),
  )
}

function queriesOf(tx: Tx): string[] {
  const own = `select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%'`
  const tables = tx.all(query(own), [])
  return tables
    .map(({ name }) => String(name))
    .filter((name) => !NOBODYS.includes(name))
    .map((name) => {
      const columns = tx.all(query('select name from pragma_table_info(?)'), [name]).map((row) => String(row.name))
      const way = WAYS.find(([wanted]) => wanted.every((column) => columns.includes(column)))
      if (!way) throw new Error(`whose are the rows of ${name}?`)
      return `select * from ${name} where ${way[1]}`
    })
}

function query(sql: string): Statement<readonly unknown[], Record<string, unknown>> {
  return { sql, bind: (params) => [...params] }
}

function asText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
