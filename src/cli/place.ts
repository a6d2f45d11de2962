// Where the data of a server lies, for the commands that check it, copy it and bring it back.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BucketSettings } from '../config/storage.ts'
import type { Config } from '../config.ts'
import { journalFolder, objectsFolder, openDataFolder, ownDatabase } from '../db/data-folder.ts'
import { CommandError, EXIT } from './terminal.ts'
import { printable } from './text.ts'

export interface Place {
  /** Where files of assets are that are not in `objects`; absent or null: nowhere. */
  readonly bucket?: BucketSettings | null
  readonly folder: string
  readonly database: string
  /** Files of assets: their names come from their content, and they never change. */
  readonly objects: string
  /** Files of large values that jobs remember: each has a name of its own, and never changes. */
  readonly journal: string
}

type Stored = Pick<Config, 'data_dir' | 'database_url' | 'storage'>

/** @throws CommandError where nothing is stored */
export function placeOf({ data_dir, database_url, storage }: Stored): Place {
  const elsewhere = database_url?.slice('sqlite:'.length) ?? null
  if (elsewhere === ':memory:')
    throw new CommandError(EXIT.failed, 'SVC_DATABASE_URL says that nothing is stored, so there is nothing to do')
  return {
    bucket: storage,
    folder: data_dir,
    database: elsewhere ?? join(data_dir, 'svc.db'),
    objects: objectsFolder(data_dir),
    journal: journalFolder(data_dir),
  }
}

/** The same, where there is a database. @throws CommandError */
export function existingPlace(config: Stored): Place {
  const place = placeOf(config)
  if (existsSync(place.database)) return place
  const shown = printable(place.database)
  throw new CommandError(EXIT.failed, `there is no database ${shown}; check SVC_DATA_DIR and SVC_DATABASE_URL`)
}

/** Keeps servers away while the place is restored. @throws StartError when one runs */
export function ownPlace(place: Place, owner: string): Disposable {
  const owned = new DisposableStack()
  try {
    const folder = owned.use(openDataFolder(place.folder, owner, { restoring: true }))
    owned.use(ownDatabase(place.database, owner, folder))
    return owned
  } catch (error) {
    owned.dispose()
    throw error
  }
}
