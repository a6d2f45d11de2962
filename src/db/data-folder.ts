// The data folder and its one owner. A process holds an operating-system lock for as long as it lives; a dead one holds nothing.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { StartError } from '../start-error.ts'

export interface DataFolder extends Disposable {
  readonly path: string
  /** Where the database file lies. */
  readonly database: string
}

/**
 * Makes the folder where it is missing and takes its lock. `owner` is what another process is told (`pid 17, 127.0.0.1:7777`).
 * @throws StartError when the folder cannot be written or belongs to a living process
 */
export function openDataFolder(path: string, owner: string): DataFolder {
  makeFolder(path)
  const lock = takeLock(path)
  const ownerFile = join(path, 'owner')
  writeFileSync(ownerFile, `${owner}\n`)
  return {
    path,
    database: join(path, 'svc.db'),
    [Symbol.dispose]() {
      rmSync(ownerFile, { force: true })
      lock.close()
    },
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartError(
      `the data folder ${path} cannot be made (${reason(error)}); choose another with SVC_DATA_DIR`,
      {
        cause: error,
      },
    )
  }
}

// SQLite takes advisory locks on every platform, and Node offers none: an exclusive transaction on an empty database is the lock.
function takeLock(path: string): Database.Database {
  const file = join(path, 'lock')
  let lock: Database.Database | null = null
  try {
    lock = new Database(file, { timeout: 0 })
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock?.close()
    if ((error as { code?: unknown }).code === 'SQLITE_BUSY') {
      throw new StartError(
        `the data folder ${path} belongs to a running server (${ownerOf(path)}); stop it, or choose another with SVC_DATA_DIR`,
      )
    }
    throw new StartError(
      `the data folder ${path} cannot be written (${reason(error)}); check its owner and mode, or choose another with SVC_DATA_DIR`,
      {
        cause: error,
      },
    )
  }
}

function ownerOf(path: string): string {
  try {
    return readFileSync(join(path, 'owner'), 'utf8').trim() || 'its owner left no name'
  } catch {
    return 'its owner left no name'
  }
}

function reason(error: unknown): string {
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' ? code : String(error)
}
