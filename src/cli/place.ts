// Where the data of a server lies, for the commands that check it, copy it and bring it back.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { objectsFolder, openDataFolder, ownDatabase } from '../db/data-folder.ts'
import { CommandError, EXIT } from './terminal.ts'
import { printable } from './text.ts'

export interface Place {
  readonly folder: string
  readonly database: string
  /** Files of assets: their names come from their content, and they never change. */
  readonly objects: string
}

/** @throws CommandError where nothing is stored */
export function placeOf({ data_dir, database_url }: Pick<Config, 'data_dir' | 'database_url'>): Place {
  const elsewhere = database_url?.slice('sqlite:'.length) ?? null
  if (elsewhere === ':memory:')
    throw new CommandError(EXIT.failed, 'SVC_DATABASE_URL says that nothing is stored, so there is nothing to do')
  return {
    folder: data_dir,
    database: elsewhere ?? join(data_dir, 'svc.db'),
    objects: objectsFolder(data_dir),
  }
}

/** The same, where there is a database. @throws CommandError */
export function existingPlace(config: Pick<Config, 'data_dir' | 'database_url'>): Place {
  const place = placeOf(config)
  if (existsSync(place.database)) return place
  const shown = printable(place.database)
  throw new CommandError(EXIT.failed, `there is no database ${shown}; check SVC_DATA_DIR and SVC_DATABASE_URL`)
}

/** Keeps servers away while the place is restored. @throws StartError when one runs */
export function ownPlace(place: Place, owner: string): Disposable {
  const owned = new DisposableStack()
  try {
    const { database } = owned.use(openDataFolder(place.folder, owner, true))
    if (place.database !== database) owned.use(ownDatabase(place.database, owner))
    return owned
  } catch (error) {
    owned.dispose()
    throw error
  }
}
