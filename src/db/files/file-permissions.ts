// Makes files and folders in the data folder private to their owner, whatever mode the data folder itself has.
import { chmodSync, closeSync, openSync, readdirSync, statSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** The permissions of users other than the owner. */
const NON_OWNER_BITS = 0o077
/** The prefix of the names of commit mark files (`loss-detection/commit-mark-file.ts`). */
const MARK_PREFIX = 'last-commit-of-'
const hasModes = platform() !== 'win32'

/**
 * Creates a private database file, or makes an existing one private, with SQLite's files beside it. If that fails, SQLite fails as well, and reports
 * the reason.
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

/** Removes the permissions of other users from a file or a folder. A missing file, or a refusal of the system, is ignored. */
export function makePrivate(path: string): void {
  const mode = modeIfNotPrivate(path)
  if (mode === null) return
  try {
    chmodSync(path, mode & ~NON_OWNER_BITS)
  } catch {
    // The file belongs to another user, or the disk takes no writes: the start reports this if it needs to write.
  }
}

/**
 * The same for all files of a database, such as the mark of its last commit and files that a restore moved aside: `x.db-wal`, `x.db.before-…`,
 * `last-commit-of-x.db.mark`. Other files beside it are not touched.
 */
export function makeDatabaseFilesPrivate(path: string): void {
  const [folder, name] = [dirname(path), basename(path)]
  const isPart = (rest: string) => rest === '' || rest.startsWith('.') || /^-(wal|shm|journal)$/.test(rest)
  for (const found of listFileNames(folder)) {
    const own = found.startsWith(MARK_PREFIX) ? found.slice(MARK_PREFIX.length) : found
    if (own.startsWith(name) && isPart(own.slice(name.length))) makePrivate(join(folder, found))
  }
}

/** The names of the entries in a folder; none if it cannot be read. */
export function listFileNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** The mode of a file or a folder that other users may use; null: they may not, or it is missing. */
export function modeIfNotPrivate(path: string): number | null {
  if (!hasModes) return null
  const found = statSync(path, { throwIfNoEntry: false })
  const mode = (found?.mode ?? 0) & 0o777
  return (mode & NON_OWNER_BITS) === 0 ? null : mode
}
