// The data folder and its one owner. A process holds an operating-system lock for as long as it lives; a dead one holds nothing.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { StartError } from '../../start-error.ts'
import { openConnection, type SqliteConnection } from '../connection.ts'
import { errorCode } from '../health/database-faults.ts'
import { listFileNames, makeDatabaseFilesPrivate, makePrivate, modeIfNotPrivate } from './file-permissions.ts'

export interface DataFolder extends Disposable {
  readonly path: string
  /** Where the database file lies. */
  readonly database: string
  /** A sentence for the log where other users may look into the folder; null where they may not. */
  readonly warning: string | null
}

/** Where the files of assets lie: their names come from their content, and they never change. */
export function objectsFolderPath(data_dir: string): string {
  return join(data_dir, 'storage', 'objects')
}

/** Where the files of large values lie that jobs remember: each has a name that was never given before, and never changes. */
export function journalFolderPath(data_dir: string): string {
  return join(data_dir, 'journal')
}

/** Whoever copies the data folder keeps a file here, and touches it now and then: no file of the journal is removed meanwhile. */
export function journalLeasesFolderPath(data_dir: string): string {
  return join(data_dir, 'copying')
}

/** For so long after its last sign of life, in milliseconds, a holder counts. */
const LEASE_MS = 3_600_000

/** Whether somebody copies the data folder. */
export function hasJournalLease(data_dir: string): boolean {
  const folder = journalLeasesFolderPath(data_dir)
  if (!existsSync(folder)) return false
  const since = Date.now() - LEASE_MS
  return readdirSync(folder).some((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    return found !== undefined && found.mtimeMs > since
  })
}

/** Where `svc restore` keeps a backup that is whole, and about to be put in place. While it is there, the folder holds neither the old data nor the new. */
export function restoringFolderPath(data_dir: string): string {
  return join(data_dir, 'restoring')
}

/** Where `svc restore` copies a backup to before it touches anything; what an interrupted one leaves there keeps nobody away. */
export function restoreIncomingFolderPath(data_dir: string): string {
  return join(data_dir, 'restore-incoming')
}

export interface DataFolderOptions {
  /** Whether it is opened for a restore, which may have been interrupted. */
  readonly restoring?: boolean
  /** How whoever named the folder names another. */
  readonly setting?: string
}

/**
 * Makes the folder where it is missing and takes its lock, and that of the database in it. `owner` is what another process is told
 * (`pid 17, 127.0.0.1:7777`).
 * @throws StartError when the folder cannot be written, it or its database belongs to a living process, or a restore was interrupted in it
 */
export function openDataFolder(path: string, owner: string, opening: DataFolderOptions = {}): DataFolder {
  const { restoring = false, setting = 'SVC_DATA_DIR' } = opening
  makeFolder(path, setting)
  const database = join(path, 'svc.db')
  using locks = new DisposableStack()
  locks.use(acquireLock(`the data folder ${path}`, join(path, 'lock'), join(path, 'owner'), owner, setting))
  locks.use(lockDatabase(database, owner, setting))
  if (!restoring && existsSync(restoringFolderPath(path)))
    throw new StartError(`a restore into the data folder ${path} was interrupted; run "svc restore DIR" again`)
  for (const name of listFileNames(path)) if (isServiceName(name)) makePrivate(join(path, name))
  makeDatabaseFilesPrivate(database)
  const warning = permissionWarning(path)
  const held = locks.move()
  return { path, database, warning, [Symbol.dispose]: () => held.dispose() }
}

/** Folders of the service in the data folder. Each file in them is made for its owner alone; of what was copied there that may not be true. */
const SERVICE_FOLDERS = ['storage', 'temporary', 'journal', 'copying', 'restoring', 'restore-incoming']

/** A folder of the service, one that a restore moved aside, or a key that was replaced. What the key of now needs, the vault does. */
function isServiceName(name: string): boolean {
  return name.startsWith('master.key.') || SERVICE_FOLDERS.includes(name.replace(/\.before-.*$/, ''))
}

function permissionWarning(path: string): string | null {
  const mode = modeIfNotPrivate(path)
  if (mode === null) return null
  return `other users may look into the data folder ${path} (mode ${mode.toString(8)}): its files are their owner's alone, their names and sizes are not; make it private with chmod 700`
}

/**
 * Takes the lock of a database file, unless it is the one in `folder`, which has it already.
 * @throws StartError when it cannot be written or belongs to a living process
 */
export function acquireDatabaseLock(path: string, owner: string, folder: DataFolder): Disposable {
  const isHeld = realPath(path) === realPath(folder.database)
  const lock = isHeld ? new DisposableStack() : lockDatabase(path, owner, 'SVC_DATABASE_URL')
  makeDatabaseFilesPrivate(path)
  return lock
}

function lockDatabase(path: string, owner: string, setting: string): Disposable {
  const real = realPath(path)
  return acquireLock(`the database ${path}`, `${real}.lock`, `${real}.owner`, owner, setting)
}

/** One for all paths that lead to a file by links, also where it is not there yet. Links in place of the file itself need not lead anywhere. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path))
  }
}

function makeFolder(path: string, setting: string): void {
  try {
    makeParentFolders(path)
  } catch (error) {
    const cure = `choose another with ${setting}`
    const file = findBlockingFile(path)
    if (file === null)
      throw new StartError(`the data folder ${path} cannot be made (${errorReason(error)}); ${cure}`, { cause: error })
    const what = file === path ? 'is a file' : `lies below ${file}, which is a file`
    throw new StartError(`the data folder ${path} ${what}; ${cure}`, { cause: error })
  }
}

// Level by level: for some paths of the system Node's own recursion never returns.
function makeParentFolders(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeParentFolders(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** The first part of a path that is there and no folder; null where there is none. */
function findBlockingFile(path: string): string | null {
  const above = dirname(path) === path ? null : findBlockingFile(dirname(path))
  if (above !== null) return above
  try {
    return statSync(path).isDirectory() ? null : path
  } catch {
    return null
  }
}

// The garbage collector would close a connection that nobody mentions any more, and the lock would be gone.
const heldLocks = new Set<SqliteConnection>()

/**
 * SQLite takes advisory locks on every platform, and Node offers none: an exclusive transaction on an empty database is the lock. It never ends in a
 * commit, and needs no journal on the disk, for which a full one has no room. @throws what SQLite or the system says
 */
function openLockConnection(path: string): SqliteConnection {
  const lock = openConnection(path, { busy_ms: 0 })
  try {
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
    // Of a file that cannot be written SQLite makes one that is only read, which locks nobody out.
    accessSync(path, constants.W_OK)
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/** Says whose a lock is. It is for messages only: a full disk may have no room for it. @throws what the system says of a folder that cannot be written */
function writeOwnerFile(ownerFile: string, owner: string): void {
  try {
    writeFileSync(ownerFile, `${owner}\n`, { mode: 0o600 })
    makePrivate(ownerFile)
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(errorCode(error))) throw error
    rmSync(ownerFile, { force: true })
  }
}

function acquireLock(what: string, file: string, ownerFile: string, owner: string, setting: string): Disposable {
  let held: SqliteConnection | null = null
  try {
    held = openLockConnection(file)
    writeOwnerFile(ownerFile, owner)
  } catch (error) {
    held?.close()
    if (errorCode(error) === 'SQLITE_BUSY') {
      throw new StartError(
        `${what} belongs to a running server (${readOwnerFile(ownerFile)}); stop it, or choose another with ${setting}`,
      )
    }
    throw new StartError(
      `${what} cannot be written (${errorReason(error)}); check its owner and mode, or choose another with ${setting}`,
      { cause: error },
    )
  }
  const lock = held
  heldLocks.add(lock)
  return {
    [Symbol.dispose]() {
      rmSync(ownerFile, { force: true })
      lock.close()
      heldLocks.delete(lock)
    },
  }
}

/**
 * Holds a file for this process alone, until it is let go or the process is gone; null where another one holds it. The file stays.
 * @throws what the system throws where it cannot be written
 */
export function tryLockFile(path: string): Disposable | null {
  let held: SqliteConnection
  try {
    held = openLockConnection(path)
  } catch (error) {
    if (errorCode(error) === 'SQLITE_BUSY') return null
    throw error
  }
  heldLocks.add(held)
  return {
    [Symbol.dispose]() {
      held.close()
      heldLocks.delete(held)
    },
  }
}

function readOwnerFile(ownerFile: string): string {
  try {
    return readFileSync(ownerFile, 'utf8').trim() || 'its owner left no name'
  } catch {
    return 'its owner left no name'
  }
}

function errorReason(error: unknown): string {
  return errorCode(error) || String(error)
}
