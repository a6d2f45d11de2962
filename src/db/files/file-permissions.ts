// Modes of files and folders in the data folder: for their owner alone, whatever mode the data folder itself has.
import { chmodSync, closeSync, openSync, readdirSync, statSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** What users other than the owner may do. */
const NON_OWNER_BITS = 0o077
/** How the name of a mark begins (`mark-file.ts`). */
const MARK_PREFIX = 'last-commit-of-'
const hasModes = platform() !== 'win32'

/**
 * Makes a database file that only its owner may use, or makes an existing one so, with what SQLite keeps beside it. Where that fails SQLite fails as
 * well, and says why.
 */
export function makeDatabasePrivate(path: string): void {
  if (!hasModes) return
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch {
    return
  }
  // SQLite gives new files beside the database the mode of the database.
  for (const end of ['', '-wal', '-shm', '-journal']) makePrivate(`${path}${end}`)
}

/** Takes from other users what they may do with a file or a folder. Where there is none, or the system refuses, nothing is done. */
export function makePrivate(path: string): void {
  const mode = modeIfNotPrivate(path)
  if (mode === null) return
  try {
    chmodSync(path, mode & ~NON_OWNER_BITS)
  } catch {
    // It is somebody else's, or the disk takes no writes: the start says so where it needs them.
  }
}

/**
 * The same for everything that belongs to a database, such as what a restore moved aside and the mark of its last commit: `x.db-wal`,
 * `x.db.before-…`, `last-commit-of-x.db.mark`. Other files that lie beside it are left alone.
 */
export function makeDatabaseFilesPrivate(path: string): void {
  const [folder, name] = [dirname(path), basename(path)]
  const isPart = (rest: string) => rest === '' || rest.startsWith('.') || /^-(wal|shm|journal)$/.test(rest)
  for (const found of listFileNames(folder)) {
    const own = found.startsWith(MARK_PREFIX) ? found.slice(MARK_PREFIX.length) : found
    if (own.startsWith(name) && isPart(own.slice(name.length))) makePrivate(join(folder, found))
  }
}

/** The names of what lies in a folder; none where it cannot be read. */
export function listFileNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** The mode of a file or a folder that other users may use; null where they may not, or there is none. */
export function modeIfNotPrivate(path: string): number | null {
  if (!hasModes) return null
  const found = statSync(path, { throwIfNoEntry: false })
  const mode = (found?.mode ?? 0) & 0o777
  return (mode & NON_OWNER_BITS) === 0 ? null : mode
}
