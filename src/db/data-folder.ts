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
import { StartError } from '../start-error.ts'
import { type Connection, connect } from './connection.ts'
import { codeOf } from './faults.ts'
import { keepBesidePrivate, keepPrivate, namesIn, othersMode } from './private-files.ts'

export interface DataFolder extends Disposable {
  readonly path: string
  /** Where the database file lies. */
  readonly database: string
  /** A sentence for the log where other users may look into the folder; null where they may not. */
  readonly warning: string | null
}

/** Where the files of assets lie: their names come from their content, and they never change. */
export function objectsFolder(data_dir: string): string {
  return join(data_dir, 'storage', 'objects')
}

/** Where the files of large values lie that jobs remember: each has a name that was never given before, and never changes. */
export function journalFolder(data_dir: string): string {
  return join(data_dir, 'journal')
}

/** Whoever copies the data folder keeps a file here, and touches it now and then: no file of the journal is removed meanwhile. */
export function holdersFolder(data_dir: string): string {
  return join(data_dir, 'copying')
}

/** For so long after its last sign of life, in milliseconds, a holder counts. */
const HELD_MS = 3_600_000

/** Whether somebody copies the data folder. */
export function isHeld(data_dir: string): boolean {
  const folder = holdersFolder(data_dir)
  if (!existsSync(folder)) return false
  const since = Date.now() - HELD_MS
  return readdirSync(folder).some((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    return found !== undefined && found.mtimeMs > since
  })
}

/** Where `svc restore` keeps a backup that is whole, and about to be put in place. While it is there, the folder holds neither the old data nor the new. */
export function restoringFolder(data_dir: string): string {
  return join(data_dir, 'restoring')
}

/** Where `svc restore` copies a backup to before it touches anything; what an interrupted one leaves there keeps nobody away. */
export function gatheringFolder(data_dir: string): string {
  return join(data_dir, 'restore-incoming')
}

export interface Opening {
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
export function openDataFolder(path: string, owner: string, opening: Opening = {}): DataFolder {
  const { restoring = false, setting = 'SVC_DATA_DIR' } = opening
  makeFolder(path, setting)
  const database = join(path, 'svc.db')
  using locks = new DisposableStack()
  locks.use(own(`the data folder ${path}`, join(path, 'lock'), join(path, 'owner'), owner, setting))
  locks.use(lockDatabase(database, owner, setting))
  if (!restoring && existsSync(restoringFolder(path)))
    throw new StartError(`a restore into the data folder ${path} was interrupted; run "svc restore DIR" again`)
  for (const name of namesIn(path)) if (isOwn(name)) keepPrivate(join(path, name))
  keepBesidePrivate(database)
  const warning = openFolderWarning(path)
  const held = locks.move()
  return { path, database, warning, [Symbol.dispose]: () => held.dispose() }
}

/** Folders of the service in the data folder. Each file in them is made for its owner alone; of what was copied there that may not be true. */
const FOLDERS = ['storage', 'temporary', 'journal', 'copying', 'restoring', 'restore-incoming']

/** A folder of the service, one that a restore moved aside, or a key that was replaced. What the key of now needs, the vault does. */
function isOwn(name: string): boolean {
  return name.startsWith('master.key.') || FOLDERS.includes(name.replace(/\.before-.*$/, ''))
}

function openFolderWarning(path: string): string | null {
  const mode = othersMode(path)
  if (mode === null) return null
  return `other users may look into the data folder ${path} (mode ${mode.toString(8)}): its files are their owner's alone, their names and sizes are not; make it private with chmod 700`
}

/**
 * Takes the lock of a database file, unless it is the one in `folder`, which has it already.
 * @throws StartError when it cannot be written or belongs to a living process
 */
export function ownDatabase(path: string, owner: string, folder: DataFolder): Disposable {
  const isHeld = realPath(path) === realPath(folder.database)
  const lock = isHeld ? new DisposableStack() : lockDatabase(path, owner, 'SVC_DATABASE_URL')
  keepBesidePrivate(path)
  return lock
}

function lockDatabase(path: string, owner: string, setting: string): Disposable {
  const real = realPath(path)
  return own(`the database ${path}`, `${real}.lock`, `${real}.owner`, owner, setting)
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
    makeLevels(path)
  } catch (error) {
    const cure = `choose another with ${setting}`
    const file = fileAt(path)
    if (file === null)
      throw new StartError(`the data folder ${path} cannot be made (${reason(error)}); ${cure}`, { cause: error })
    const what = file === path ? 'is a file' : `lies below ${file}, which is a file`
    throw new StartError(`the data folder ${path} ${what}; ${cure}`, { cause: error })
  }
}

// Level by level: for some paths of the system Node's own recursion never returns.
function makeLevels(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeLevels(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** The first part of a path that is there and no folder; null where there is none. */
function fileAt(path: string): string | null {
  const above = dirname(path) === path ? null : fileAt(dirname(path))
  if (above !== null) return above
  try {
    return statSync(path).isDirectory() ? null : path
  } catch {
    return null
  }
}

// The garbage collector would close a connection that nobody mentions any more, and the lock would be gone.
const HELD = new Set<Connection>()

/**
 * SQLite takes advisory locks on every platform, and Node offers none: an exclusive transaction on an empty database is the lock. It never ends in a
 * commit, and needs no journal on the disk, for which a full one has no room. @throws what SQLite or the system says
 */
function lockFile(path: string): Connection {
  const lock = connect(path, { busy_ms: 0 })
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
function nameOwner(ownerFile: string, owner: string): void {
  try {
    writeFileSync(ownerFile, `${owner}\n`, { mode: 0o600 })
    keepPrivate(ownerFile)
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error))) throw error
    rmSync(ownerFile, { force: true })
  }
}

function own(what: string, file: string, ownerFile: string, owner: string, setting: string): Disposable {
  let held: Connection | null = null
  try {
    held = lockFile(file)
    nameOwner(ownerFile, owner)
  } catch (error) {
    held?.close()
    if (codeOf(error) === 'SQLITE_BUSY') {
      throw new StartError(
        `${what} belongs to a running server (${ownerOf(ownerFile)}); stop it, or choose another with ${setting}`,
      )
    }
    throw new StartError(
      `${what} cannot be written (${reason(error)}); check its owner and mode, or choose another with ${setting}`,
      { cause: error },
    )
  }
  const lock = held
  HELD.add(lock)
  return {
    [Symbol.dispose]() {
      rmSync(ownerFile, { force: true })
      lock.close()
      HELD.delete(lock)
    },
  }
}

/**
 * Holds a file for this process alone, until it is let go or the process is gone; null where another one holds it. The file stays.
 * @throws what the system throws where it cannot be written
 */
export function holdFile(path: string): Disposable | null {
  let held: Connection
  try {
    held = lockFile(path)
  } catch (error) {
    if (codeOf(error) === 'SQLITE_BUSY') return null
    throw error
  }
  HELD.add(held)
  return {
    [Symbol.dispose]() {
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
  return codeOf(error) || String(error)
}
