// The contents that rows of assets name, read from outside of the process that writes them.
import { type Connection, connectForReading } from './connection.ts'

/** Bytes that lie in a file of their own. */
export interface StoredContent {
  readonly content_key: string
  readonly size: number
  readonly sha256: string | null
}

const BATCH = 1_000

/** Every content that an asset of the database at `path` names, once, in the order of the keys. */
export function* storedContents(path: string): Iterable<StoredContent> {
  for (let after = ''; ; ) {
    // A connection for each batch: reading files takes long, and the write-ahead log must not grow meanwhile.
    const rows = looking(path, (db) =>
      db
        .prepare(`select content_key, size, sha256 from asset where content_key > ?
          group by content_key order by content_key limit ${BATCH}`)
        .all(after),
    ) as StoredContent[]
    yield* rows
    if (rows.length < BATCH) return
    after = rows.at(-1)!.content_key
  }
}

/** Whether an asset still names this content. */
export function stillNamed(path: string, content_key: string): boolean {
  return looking(path, (db) => db.prepare('select 1 from asset where content_key = ?').get(content_key)) !== undefined
}

function looking<T>(path: string, look: (db: Connection) => T): T {
  const db = connectForReading(path)
  try {
    return look(db)
  } finally {
    db.close()
  }
}
