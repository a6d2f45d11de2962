// The data folder and its one owner. A process holds an operating-system lock for as long as it lives; a dead one holds nothing.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StartError } from '../start-error.ts'
import { type Connection, connect } from './connection.ts'

export interface DataFolder extends Disposable {
  readonly path: string
  /** Where the database file lies. */
  readonly database: string
}

/** Where the files of assets lie: their names come from their content, and they never change. */
export function objectsFolder(data_dir: string): string {
  return join(data_dir, 'storage', 'objects')
}

/** Where `svc restore` keeps a backup that is whole, and about to be put in place. While it is there, the folder holds neither the old data nor the new. */
export function restoringFolder(data_dir: string): string {
  return join(data_dir, 'restoring')
}

/** Where `svc restore` copies a backup to before it touches anything; what an interrupted one leaves there keeps nobody away. */
export function gatheringFolder(data_dir: string): string {
  return join(data_dir, 'restore-incoming')
}

/**
 * Makes the folder where it is missing and takes its lock. `owner` is what another process is told (`pid 17, 127.0.0.1:7777`).
 * @throws StartError when the folder cannot be written, belongs to a living process, or was left by an interrupted restore,
 * unless `restoring` is what it is opened for
 */
export function openDataFolder(path: string, owner: string, restoring = false): DataFolder {
  makeFolder(path)
  const lock = own(`the data folder ${path}`, join(path, 'lock'), join(path, 'owner'), owner, 'SVC_DATA_DIR')
  if (!restoring && existsSync(restoringFolder(path))) {
    lock[Symbol.dispose]()
    throw new StartError(`a restore into the data folder ${path} was interrupted; run "svc restore DIR" again`)
  }
  return { path, database: join(path, 'svc.db'), [Symbol.dispose]: () => lock[Symbol.dispose]() }
}

/**
 * Takes the lock of a database file that lies outside the data folder.
 * @throws StartError when it cannot be written or belongs to a living process
 */
export function ownDatabase(path: string, owner: string): Disposable {
  return own(`the database ${path}`, `${path}.lock`, `${path}.owner`, owner, 'SVC_DATABASE_URL')
}

// Level by level: for some paths of the system Node's own recursion never returns.
function makeFolder(path: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
    if (dirname(path) !== path) makeFolder(dirname(path))
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(
      `the data folder ${path} cannot be made (${reason(error)}); choose another with SVC_DATA_DIR`,
      { cause: error },
    )
  }
}

// The garbage collector would close a connection that nobody mentions any more, and the lock would be gone.
const HELD = new Set<Connection>()

// SQLite takes advisory locks on every platform, and Node offers none: an exclusive transaction on an empty database is the lock.
function own(what: string, lockFile: string, ownerFile: string, owner: string, setting: string): Disposable {
  let lock: Connection | null = null
  try {
    lock = connect(lockFile, { busy_ms: 0 })
    lock.exec('BEGIN EXCLUSIVE')
    writeFileSync(ownerFile, `${owner}\n`)
  } catch (error) {
    lock?.close()
    if ((error as { code?: unknown }).code === 'SQLITE_BUSY') {
      throw new StartError(
        `${what} belongs to a running server (${ownerOf(ownerFile)}); stop it, or choose another with ${setting}`,
      )
    }
    throw new StartError(
      `${what} cannot be written (${reason(error)}); check its owner and mode, or choose another with ${setting}`,
      { cause: error },
    )
  }
  const held = lock
  HELD.add(held)
  return {
    [Symbol.dispose]() {
      rmSync(ownerFile, { force: true })
      held.close()
      HELD.delete(held)
    },
  }
}

function ownerOf(ownerFile: string): string {
  try {
    return readFileSync(ownerFile, 'utf8').trim() || 'its owner left no name'
  } catch {
    return 'its owner left no name'
  }
}

function reason(error: unknown): string {
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' ? code : String(error)
}
