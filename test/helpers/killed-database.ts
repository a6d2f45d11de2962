// Changes the database of a killed server before the next one starts.
import { join } from 'node:path'
import Database from 'better-sqlite3'

/** Keeps the log. The last writable connection to close would remove the log, and the next start would report it as missing. */
export function changeKilled(data_dir: string, work: (db: Database.Database) => void): void {
  const path = join(data_dir, 'svc.db')
  const keeper = new Database(path, { readonly: true })
  keeper.prepare('select 1 from sqlite_schema').get()
  const db = new Database(path)
  // The log is not copied into the file. Otherwise commits that a test later cuts off the log would remain in the file.
  db.pragma('wal_autocheckpoint = 0')
  try {
    db.transaction(() => work(db))()
  } finally {
    db.close()
    keeper.close()
  }
}
