// Changes to the database of a server that was killed, before the next one starts.
import { join } from 'node:path'
import Database from 'better-sqlite3'

/** The log stays: whoever is the last to close a database that may be written takes it away, and a start would rightly miss it. */
export function changeKilled(data_dir: string, work: (db: Database.Database) => void): void {
  const path = join(data_dir, 'svc.db')
  const keeper = new Database(path, { readonly: true })
  keeper.prepare('select 1 from sqlite_schema').get()
  const db = new Database(path)
  // Nothing of the log is copied into the file: what is cut off the log of a copy later would stand there all the same.
  db.pragma('wal_autocheckpoint = 0')
  try {
    db.transaction(() => work(db))()
  } finally {
    db.close()
    keeper.close()
  }
}
