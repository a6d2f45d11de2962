// Detects a database whose file is missing or empty while other files show that there was data. SQLite treats such a file as new, and deletes the
// write-ahead log with its acknowledged work. So it must not be opened, not even for reading.
import { opendirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { masterKeyPath } from '../../vault/master-key-file.ts'
import { objectsFolderPath } from '../files/data-folder.ts'

/** Whether the file exists and is empty. */
export function isEmptyFile(path: string): boolean {
  return fileSize(path) === 0
}

/**
 * What shows, beside the missing or empty database at `path`, that there was data, as a part of a sentence; null: nothing, or the database is not
 * empty. A key counts only beside an empty file: it may be put there before the first start.
 */
export function describeRemains(path: string): string | null {
  const size = fileSize(path)
  if (size !== null && size > 0) return null
  if ((fileSize(`${path}-wal`) ?? 0) > 0) return 'its write-ahead log is there'
  if (containsFile(objectsFolderPath(dirname(path)))) return 'files of assets are there'
  return size === 0 && fileSize(masterKeyPath(dirname(path))) !== null ? 'a master key is there' : null
}

/** The bytes of a file; null: there is none. */
export function fileSize(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null
}

function containsFile(folder: string): boolean {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return false
  const entries = opendirSync(folder)
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync())
      if (entry.isFile() || (entry.isDirectory() && containsFile(join(folder, entry.name)))) return true
    return false
  } finally {
    entries.closeSync()
  }
}
