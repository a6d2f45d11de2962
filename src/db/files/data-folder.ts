// The data folder and its exclusive lock. A process holds a lock of the operating system for as long as it lives.
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
  /** The path of the database file. */
  readonly database: string
  /** A sentence for the log if other users may list the folder; null: they may not. */
  readonly warning: string | null
}

/** The folder of asset files: their names come from their content, and they never change. */
export function objectsFolderPath(data_dir: string): string {
  return join(data_dir, 'storage', 'objects')
}

/** The folder of spilled values of job journals: their names are never reused, and they never change. */
export function journalFolderPath(data_dir: string): string {
  return join(data_dir, 'journal')
}

/**
 * The folder of journal leases. A program that copies the data folder keeps a file here and touches it regularly: meanwhile no file of the journal is
 * removed.
 */
export function journalLeasesFolderPath(data_dir: string): string {
  return join(data_dir, 'copying')
}

/** A lease is valid for this long after its last touch, in milliseconds. */
const LEASE_MS = 3_600_000

/** Whether a program is copying the data folder. */
export function hasJournalLease(data_dir: string): boolean {
  const folder = journalLeasesFolderPath(data_dir)
  if (!existsSync(folder)) return false
  const since = Date.now() - LEASE_MS
  return readdirSync(folder).some((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    return found !== undefined && found.mtimeMs > since
  })
}

/**
 * Where `svc restore` keeps a complete backup that is about to be put in place. While this folder exists, the data folder holds neither the old data
 * nor the new.
 */
export function restoringFolderPath(data_dir: string): string {
  return join(data_dir, 'restoring')
}

/** Where `svc restore` copies a backup to before it changes anything; leftovers of an interrupted restore do not block a start. */
export function restoreIncomingFolderPath(data_dir: string): string {
  return join(data_dir, 'restore-incoming')
}

export interface DataFolderOptions {
  /** Whether the folder is opened for a restore, which may have been interrupted. */
  readonly restoring?: boolean
  /** The setting or option that names the folder, for messages. */
  readonly setting?: string
}

/**
 * Creates the folder if it is missing, and takes its lock and that of its database. `owner` describes this process to others (`pid 17,
 * 127.0.0.1:7777`).
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

/** Folders of the service in the data folder. Their files are created private to the user, but copied files may not be. */
const SERVICE_FOLDERS = ['storage', 'temporary', 'journal', 'copying', 'restoring', 'restore-incoming']

/**
 * Whether this is a folder of the service, a folder that a restore moved aside, or a replaced key. The vault checks the permissions of the current
 * key.
 */
function isServiceName(name: string): boolean {
  return name.startsWith('master.key.') || SERVICE_FOLDERS.includes(name.replace(/\.before-.*$/, ''))
}

function permissionWarning(path: string): string | null {
  const mode = modeIfNotPrivate(path)
  if (mode === null) return null
  return `other users may list the data folder ${path} (mode ${mode.toString(8)}): they see the names and sizes of its files, but not the contents; make it private with chmod 700`
}

/**
 * Takes the lock of a database file, unless it is the file in `folder`, which is locked already.
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

/** The same path for all links to a file, even if the file is missing. A dangling link in place of the file is not followed. */
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

// Level by level: for some system paths Node's own recursion never returns.
function makeParentFolders(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeParentFolders(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** The first part of a path that exists and is not a folder; null: there is none. */
function findBlockingFile(path: string): string | null {
  const above = dirname(path) === path ? null : findBlockingFile(dirname(path))
  if (above !== null) return above
  try {
    return statSync(path).isDirectory() ? null : path
  } catch {
    return null
  }
}

// The garbage collector would close an unreferenced connection, and so release the lock.
const heldLocks = new Set<SqliteConnection>()

/**
 * Takes an advisory lock. SQLite has them on every platform, and Node has none: the lock is an exclusive transaction on an empty database. It never
 * commits, and needs no journal on the disk, which may be full. @throws the error of SQLite or the system
 */
function openLockConnection(path: string): SqliteConnection {
  const lock = openConnection(path, { busy_ms: 0 })
  try {
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
    // SQLite opens a file that is not writable as read-only, and then the lock has no effect.
    accessSync(path, constants.W_OK)
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * Writes the owner of a lock, which is only for messages: a full disk may have no room for it. @throws the error of the system if the folder cannot
 * be written
 */
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
 * Locks a file for this process, until the lock is released or the process ends; null: another process holds the lock. The file stays.
 * @throws the error of the system if it cannot be written
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
