// The contents that rows name, read from outside of the process that writes them.
import { type Connection, connectForReading } from './connection.ts'

/** Bytes that lie in a file of their own. */
export interface StoredContent {
  readonly content_key: string
  readonly size: number
  readonly sha256: string | null
}

interface Naming {
  readonly table: 'asset' | 'object'
  readonly column: 'content_key' | 'thumb_key'
  readonly facts: string
}

/** Of a damaged row it may be no JSON, which would end the query. */
const METADATA = "iif(json_valid(metadata), metadata, '{}')"

/** What names contents: assets, their small pictures, and objects. */
const NAMINGS: readonly Naming[] = [
  { table: 'asset', column: 'content_key', facts: 'size, sha256' },
  {
    table: 'asset',
    column: 'thumb_key',
    facts: `${METADATA} ->> '$.thumb.size' as size, ${METADATA} ->> '$.thumb.sha256' as sha256`,
  },
  { table: 'object', column: 'content_key', facts: 'size, sha256' },
]

const BATCH = 1_000

/** Every content that rows of the database at `path` name, of each kind of rows once, in the order of the keys. */
export function* storedContents(path: string): Iterable<StoredContent> {
  for (const { table, column, facts } of NAMINGS) {
    for (let after: string | null = ''; after !== null; ) {
      // A connection for each batch: reading files takes long, and the write-ahead log must not grow meanwhile.
      const rows: StoredContent[] = looking(path, (db) =>
        db
          .prepare<[string | null], StoredContent>(
            `select ${column} as content_key, ${facts} from ${table}
              where ${column} > ? group by ${column} order by ${column} limit ${BATCH}`,
          )
          .all(after),
      )
      yield* rows
      after = rows.length < BATCH ? null : rows.at(-1)!.content_key
    }
  }
}

/** Whether a row still names this content. */
export function stillNamed(path: string, content_key: string): boolean {
  return looking(path, (db) =>
    NAMINGS.some(
      ({ table, column }) => db.prepare(`select 1 from ${table} where ${column} = ?`).get(content_key) !== undefined,
    ),
  )
}

/** Every large value that a job of the database at `path` remembers, in the order of the keys. */
export function* spilledValues(path: string): Iterable<StoredContent> {
  for (let after: string | null = ''; after !== null; ) {
    const rows: StoredContent[] = looking(path, (db) =>
      db
        .prepare<[string | null], StoredContent>(
          `select content_key, size, sha256 from spilled_value
            where content_key > ? and job_key is not null order by content_key limit ${BATCH}`,
        )
        .all(after),
    )
    yield* rows
    after = rows.length < BATCH ? null : rows.at(-1)!.content_key
  }
}

/** Whether a job still needs this value. */
export function stillRemembered(path: string, content_key: string): boolean {
  const needed = 'select 1 from spilled_value where content_key = ? and job_key is not null'
  return looking(path, (db) => db.prepare(needed).get(content_key)) !== undefined
}

function looking<T>(path: string, look: (db: Connection) => T): T {
  const db = connectForReading(path)
  try {
    return look(db)
  } finally {
    db.close()
  }
}
