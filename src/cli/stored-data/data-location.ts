// The location of a server's data, for the commands that check, copy and restore it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BucketSettings } from '../../config/storage.ts'
import type { Config } from '../../config.ts'
import {
  acquireDatabaseLock,
  journalFolderPath,
  objectsFolderPath,
  openDataFolder,
} from '../../db/files/data-folder.ts'
import { CommandError, EXIT_CODES } from '../shared/terminal.ts'
import { replaceControlCharacters } from '../shared/terminal-text.ts'

export interface DataLocation {
  /** The bucket of asset files that are not in `objects`; absent or null: there is none. */
  readonly bucket?: BucketSettings | null
  readonly folder: string
  readonly database: string
  /** The folder of asset files: their names come from their content, and they never change. */
  readonly objects: string
  /** The folder of spilled values of job journals: each has a name of its own, and never changes. */
  readonly journal: string
}

type StorageConfig = Pick<Config, 'data_dir' | 'database_url' | 'storage'>

/** @throws CommandError for a database in memory */
export function resolveDataLocation({ data_dir, database_url, storage }: StorageConfig): DataLocation {
  const elsewhere = database_url?.slice('sqlite:'.length) ?? null
  if (elsewhere === ':memory:')
    throw new CommandError(EXIT_CODES.failed, 'SVC_DATABASE_URL names a database in memory, so no stored data exists')
  return {
    bucket: storage,
    folder: data_dir,
    database: elsewhere ?? join(data_dir, 'svc.db'),
    objects: objectsFolderPath(data_dir),
    journal: journalFolderPath(data_dir),
  }
}

/** The same for an existing database. @throws CommandError */
export function requireDataLocation(config: StorageConfig): DataLocation {
  const place = resolveDataLocation(config)
  if (existsSync(place.database)) return place
  const shown = replaceControlCharacters(place.database)
  throw new CommandError(EXIT_CODES.failed, `there is no database ${shown}; check SVC_DATA_DIR and SVC_DATABASE_URL`)
}

/** Keeps servers from starting while a command changes the data. @throws StartError when a server runs */
export function lockDataLocation(place: DataLocation, owner: string): Disposable {
  const owned = new DisposableStack()
  try {
    const folder = owned.use(openDataFolder(place.folder, owner, { restoring: true }))
    owned.use(acquireDatabaseLock(place.database, owner, folder))
    return owned
  } catch (error) {
    owned.dispose()
    throw error
  }
}
