// A database whose file is missing or empty while other files say that there was data. SQLite takes such a file for a new one, and
// deletes the write-ahead log beside it, acknowledged work and all: it must not be opened, not even to be read.
import { opendirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { keyFile } from '../vault/master-key.ts'
import { objectsFolder } from './data-folder.ts'

/** Whether there is a file, and nothing in it. */
export function isEmpty(path: string): boolean {
  return sizeOf(path) === 0
}

/**
 * What beside the missing or empty database at `path` says that there was data, as a part of a sentence; null where nothing does, and
 * where the database holds anything. A key alone says it only of an empty file: it may be put there before the first start.
 */
export function remainsOf(path: string): string | null {
  const size = sizeOf(path)
  if (size !== null && size > 0) return null
  if ((sizeOf(`${path}-wal`) ?? 0) > 0) return 'its write-ahead log is there'
  if (holdsFile(objectsFolder(dirname(path)))) return 'files of assets are there'
  return size === 0 && sizeOf(keyFile(dirname(path))) !== null ? 'a master key is there' : null
}

/** How many bytes a file has; null where there is none. */
export function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null
}

function holdsFile(folder: string): boolean {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return false
  const entries = opendirSync(folder)
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync())
      if (entry.isFile() || (entry.isDirectory() && holdsFile(join(folder, entry.name)))) return true
    return false
  } finally {
    entries.closeSync()
  }
}
