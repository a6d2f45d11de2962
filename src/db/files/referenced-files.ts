// Lists the files that rows refer to, for processes other than the writer of the database.
import { openReadOnlyConnection, type SqliteConnection } from '../connection.ts'

/** Bytes in a file of their own. */
export interface ReferencedFile {
  readonly content_key: string
  readonly size: number
  readonly sha256: string | null
}

interface ReferencingColumn {
  readonly table: 'asset' | 'object'
  readonly column: 'content_key' | 'thumb_key'
  readonly facts: string
}

/** The metadata of a damaged row may be invalid JSON, which would end the query. */
const METADATA = "iif(json_valid(metadata), metadata, '{}')"

/** The columns that refer to blobs: assets, their thumbnails, and objects. */
const REFERENCING_COLUMNS: readonly ReferencingColumn[] = [
  { table: 'asset', column: 'content_key', facts: 'size, sha256' },
  {
    table: 'asset',
    column: 'thumb_key',
    facts: `${METADATA} ->> '$.thumb.size' as size, ${METADATA} ->> '$.thumb.sha256' as sha256`,
  },
  { table: 'object', column: 'content_key', facts: 'size, sha256' },
]

const BATCH = 1_000

/** Every blob that rows of the database at `path` refer to, once for each kind of rows, in the order of the keys. */
export function* listReferencedBlobs(path: string): Iterable<ReferencedFile> {
  for (const { table, column, facts } of REFERENCING_COLUMNS) {
    for (let after: string | null = ''; after !== null; ) {
      // Each batch has a connection of its own: reading files takes long, and the write-ahead log must not grow meanwhile.
      const rows: ReferencedFile[] = withReadOnlyConnection(path, (db) =>
        db
          .prepare<[string | null], ReferencedFile>(
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

/** Whether a row still refers to this blob. */
export function isBlobReferenced(path: string, content_key: string): boolean {
  return withReadOnlyConnection(path, (db) =>
    REFERENCING_COLUMNS.some(
      ({ table, column }) => db.prepare(`select 1 from ${table} where ${column} = ?`).get(content_key) !== undefined,
    ),
  )
}

/** Every spilled value that a job of the database at `path` needs, in the order of the keys. */
export function* listSpilledValueFiles(path: string): Iterable<ReferencedFile> {
  for (let after: string | null = ''; after !== null; ) {
    const rows: ReferencedFile[] = withReadOnlyConnection(path, (db) =>
      db
        .prepare<[string | null], ReferencedFile>(
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
export function isSpilledValueNeeded(path: string, content_key: string): boolean {
  const needed = 'select 1 from spilled_value where content_key = ? and job_key is not null'
  return withReadOnlyConnection(path, (db) => db.prepare(needed).get(content_key)) !== undefined
}

function withReadOnlyConnection<T>(path: string, look: (db: SqliteConnection) => T): T {
  const db = openReadOnlyConnection(path)
  try {
    return look(db)
  } finally {
    db.close()
  }
}
