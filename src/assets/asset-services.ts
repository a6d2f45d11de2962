// The assets and files of users: the services that transports call, the stores below them, and the work in the background.
import type { AssetStore } from './asset-store.ts'
import type { FileLookup } from './file-lookup.ts'
import type { FolderRemovals } from './folder-removals.ts'
import type { PreviewScheduler } from './previews/scheduler.ts'
import type { AssetService } from './service.ts'
import type { StoredObjectService } from './stored-object-service.ts'
import type { BlobStore } from './stores/blob-store.ts'
import type { TemporaryStore } from './temporary/store.ts'

export interface AssetServices {
  /** Lists, folders, creation and changes of assets, for callers. */
  readonly service: AssetService
  readonly store: AssetStore
  /** Objects that callers store under keys of their own. */
  readonly objects: StoredObjectService
  /** Files that callers uploaded for their runs. */
  readonly temporary: TemporaryStore
  /** Finds the files of assets, objects and temporary files by their URLs. */
  readonly files: FileLookup
  /** The bytes of assets and objects. */
  readonly contents: BlobStore
  /** Makes thumbnails and reads facts of assets. */
  readonly previews: PreviewScheduler
  readonly folder_removals: FolderRemovals
}
