// Opens the stores of assets and temporary files of a server, in its data folder or in a bucket behind that.
import { join } from 'node:path'
import type { BucketSettings } from '../config/storage.ts'
import type { Store } from '../db/store.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { LocalObjectStore } from './stores/local-object-store.ts'
import type { ObjectStore } from './stores/object-store.ts'
import { SpooledBucketStore } from './stores/spooled-bucket-store.ts'
import { listTemporaryFiles } from './temporary/keys.ts'
import { listTemporaryObjects } from './temporary/object-usage.ts'
import { type QuotaEntry, TemporaryQuota } from './temporary/quota.ts'
import { TemporaryStore } from './temporary/store.ts'

/** The object stores of a server. No store contains other objects. */
export interface ObjectStores extends AsyncDisposable {
  /** The bytes of users. */
  readonly contents: ObjectStore
  readonly temporary: ObjectStore
}

export interface ObjectStoreOptions {
  /** Null if objects stay in the data folder. */
  readonly storage: BucketSettings | null
  /** The permanent name of the database that owns the files. */
  readonly owner: string
  readonly platform: Pick<Platform, 'now'>
  readonly log: Log
}

/**
 * Opens the object stores in `data_dir`, and removes the unfinished files of a process that died.
 * @throws StartError when a folder cannot be used, or the bucket refuses
 */
export async function openObjectStores(data_dir: string, options: ObjectStoreOptions): Promise<ObjectStores> {
  const { storage, owner, platform, log } = options
  const { now } = platform
  await using opened = new AsyncDisposableStack()
  const open = async (folder: string): Promise<ObjectStore> => {
    const root = join(data_dir, folder)
    if (storage === null) return new LocalObjectStore(root, now)
    return opened.use(await SpooledBucketStore.open(root, storage, { folder, owner, now, log }))
  }
  const [contents, temporary] = [await open(BLOB_FOLDER), await open('temporary')]
  const kept = opened.move()
  return { contents, temporary, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** The folder of the bytes of users. Their names in a bucket begin with it, after the prefix. */
export const BLOB_FOLDER = 'storage'

export interface TemporaryStoreOptions {
  readonly store: Store
  readonly platform: Platform
  readonly secret: Uint8Array
  /** Bytes that the temporary files of one user may take together; 0 for no limit. */
  readonly most_bytes: number
}

/** Opens the temporary store on `objects`. With another `secret`, a resumed job gives its files new names. */
export function openTemporaryStore(objects: ObjectStore, options: TemporaryStoreOptions): TemporaryStore {
  const { store, platform, secret, most_bytes: limit } = options
  const quota = new TemporaryQuota({
    limit,
    now: platform.now,
    async *listFiles(user_id): AsyncGenerator<QuotaEntry> {
      // Rows can be read even if the bucket cannot be used.
      yield* listTemporaryObjects(store, user_id)
      yield* listTemporaryFiles(objects, user_id)
    },
  })
  return new TemporaryStore({ objects, quota, platform, secret })
}
