// The database for the vectors of a run in the terminal. It is loaded at the first use of vectors: most runs need no database.
import { LOCAL_PRINCIPAL } from '../../access/principal.ts'
import { openDataFolder } from '../../db/files/data-folder.ts'
import { IN_MEMORY } from '../../db/open-database.ts'
import { Store } from '../../db/store.ts'
import type { VectorAccess } from '../../engine/node-api/services/vectors.ts'
import { systemPlatform } from '../../platform.ts'
import { VectorStore } from '../../vectors/vector-store.ts'

export interface VectorDatabase extends AsyncDisposable {
  readonly vectors: VectorAccess
}

const FOLDER_LOCK = { owner: 'svc run', setting: '--data' }

/**
 * The local user's vectors in a data folder, which is created if it is missing and locked until the vectors are disposed of; null: in memory.
 * @throws StartError if a server uses the folder, or it cannot be used
 */
export async function openVectorDatabase(data_dir: string | null): Promise<VectorDatabase> {
  await using opened = new AsyncDisposableStack()
  const path =
    data_dir === null ? IN_MEMORY : opened.use(openDataFolder(data_dir, FOLDER_LOCK.owner, FOLDER_LOCK)).database
  const store = opened.use(await Store.open(path))
  const vectors = new VectorStore(LOCAL_PRINCIPAL, { store, platform: systemPlatform() })
  const kept = opened.move()
  return { vectors, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}
