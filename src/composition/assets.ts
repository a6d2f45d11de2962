// Assets and files: their stores, the services above these, and the work in the background.
import type { AssetServices } from '../assets/asset-services.ts'
import { AssetStore } from '../assets/asset-store.ts'
import { FileLookup } from '../assets/file-lookup.ts'
import { FolderRemovals } from '../assets/folder-removals.ts'
import { PreviewScheduler } from '../assets/previews/scheduler.ts'
import { AssetService } from '../assets/service.ts'
import { openTemporaryStore } from '../assets/store-factory.ts'
import { StoredObjectService } from '../assets/stored-object-service.ts'
import { BlobStore } from '../assets/stores/blob-store.ts'
import { UrlSigner } from '../assets/url-signer.ts'
import type { MediaAccess } from '../engine/node-api/services/media.ts'
import type { Foundation } from './foundation.ts'
import type { Storage } from './storage.ts'

/** The number of files that one round of a sweep looks at. */
const FILES_PER_SWEEP = 500

export function composeAssets(
  { config, platform, log, schedulers: { slices } }: Foundation,
  { store, vault, cursors, object_stores }: Storage,
  media: MediaAccess,
): AssetServices {
  const contents = new BlobStore(store, object_stores.contents, platform.now)
  const signatures = new UrlSigner(vault.signingKey('storage'))
  const previews = new PreviewScheduler({ store, contents, media, log })
  const folder_removals = new FolderRemovals({ store, contents, log })
  const temporary = openTemporaryStore(object_stores.temporary, {
    store,
    platform,
    secret: vault.signingKey('temporary'),
    most_bytes: config.max_temporary_bytes_per_user,
  })
  const shared = { store, contents, platform, signatures, previews }
  const assets = new AssetStore({ ...shared, secret: vault.signingKey('assets') })
  const objects = new StoredObjectService(store, contents, platform, temporary.quota)
  const files = new FileLookup(assets, objects, temporary)
  const service = new AssetService({ ...shared, slices, files, cursors, folder_removals })
  return { service, store: assets, objects, temporary, files, contents, previews, folder_removals }
}

/** Each removes some files that no row needs. */
export function listFileSweeps(
  { objects, folder_removals, contents, temporary }: AssetServices,
  { stopping }: Foundation,
): (() => Promise<unknown>)[] {
  return [
    () => objects.sweep(FILES_PER_SWEEP, stopping),
    () => folder_removals.finish(),
    () => contents.sweepUnreferenced(FILES_PER_SWEEP),
    () => temporary.sweep(FILES_PER_SWEEP, stopping),
  ]
}
