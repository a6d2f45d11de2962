// Files as nodes get them: whole, by a reference, under the rights of whoever the run belongs to.
import type { OwnerScope } from '../db/owner-scope.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { AssetAccess } from '../engine/node-api/node-services.ts'
import { findPackageFile, parsePackagePath } from './bundled-packages.ts'
import type { FileLookup } from './file-lookup.ts'
import { isObjectKey, isTemporaryKey, storageUri } from './storage-keys.ts'
import { TEMPORARY_HOURS } from './temporary/store.ts'
import { assetNotFoundError, type LoadableFile, loadVerifiedFile, shortenReference } from './verified-file-loader.ts'

const SCHEME = 'asset://'

/** What the nodes of one owner's runs may load. `ownUrl` gives where this server is reached: addresses there mean the same with it and without. */
export function createAssetLoader(
  files: FileLookup,
  owner: OwnerScope,
  ownUrl: () => string,
): Pick<AssetAccess, 'load'> {
  return {
    async load(reference, max_bytes, held) {
      const place = parseReference(reference, ownUrl().replace(/\/+$/, ''))
      if (place === null)
        throw new NodeError(`${shortenReference(reference)} is not the address of an asset.`, 'bad_reference')
      const file = await findTarget(place, files, owner)
      const loaded = file && (await loadVerifiedFile(file, max_bytes, held))
      if (!loaded)
        throw 'key' in place && isTemporaryKey(place.key)
          ? assetNotFoundError(reference, EXPIRED_HINT)
          : assetNotFoundError(reference)
      return loaded
    },
  }
}

const EXPIRED_HINT = `: temporary files are kept for ${TEMPORARY_HOURS} hours after they were uploaded.`

/** `bundled` is the path of a file in the packages, which are everybody's. */
type ReferenceTarget = { readonly id: string } | { readonly key: string } | { readonly bundled: string }

async function findTarget(place: ReferenceTarget, files: FileLookup, owner: OwnerScope): Promise<LoadableFile | null> {
  if ('bundled' in place) return findPackageFile(place.bundled)
  return 'id' in place ? files.byId(owner, place.id) : files.byKey(owner, place.key)
}

function parseReference(reference: string, ownUrl: string): ReferenceTarget | null {
  const text = reference.trim()
  if (text.startsWith(SCHEME)) return text.length > SCHEME.length ? { id: text.slice(SCHEME.length) } : null
  const storage = storageUri('')
  const path = ownUrl !== '' && text.startsWith(`${ownUrl}/`) ? text.slice(ownUrl.length) : text
  const bundled = parsePackagePath(path)
  if (bundled !== null) return { bundled }
  if (!path.startsWith(storage)) return null
  const key = decodeKey(path.slice(storage.length).replace(/[?#].*$/s, ''))
  return key !== null && isObjectKey(key) ? { key } : null
}

function decodeKey(key: string): string | null {
  try {
    return decodeURIComponent(key)
  } catch {
    return null
  }
}
