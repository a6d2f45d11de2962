// Loads whole files by reference for nodes, under the rights of the owner of the run.
import type { OwnerScope } from '../db/owner-scope.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { AssetAccess } from '../engine/node-api/services/assets.ts'
import { findPackageFile, parsePackagePath } from './bundled-packages.ts'
import type { FileLookup } from './file-lookup.ts'
import { isObjectKey, isTemporaryKey, storageUri } from './storage-keys.ts'
import { TEMPORARY_HOURS } from './temporary/store.ts'
import { assetNotFoundError, type LoadableFile, loadVerifiedFile, shortenReference } from './verified-file-loader.ts'

const SCHEME = 'asset://'

/** Returns the loader for the nodes of one owner's runs. `ownUrl` returns the URL of this server: references may begin with it or not. */
export function createAssetLoader(
  files: FileLookup,
  owner: OwnerScope,
  ownUrl: () => string,
): Pick<AssetAccess, 'load'> {
  return {
    async load(reference, max_bytes, held) {
      const target = parseReference(reference, ownUrl().replace(/\/+$/, ''))
      if (target === null)
        throw new NodeError(`${shortenReference(reference)} is not a reference to an asset.`, 'bad_reference')
      const file = await findTarget(target, files, owner)
      const loaded = file && (await loadVerifiedFile(file, max_bytes, held))
      if (!loaded)
        throw 'key' in target && isTemporaryKey(target.key)
          ? assetNotFoundError(reference, EXPIRED_HINT)
          : assetNotFoundError(reference)
      return loaded
    },
  }
}

const EXPIRED_HINT = `: temporary files are kept for ${TEMPORARY_HOURS} hours after they were uploaded.`

/** `bundled` is the path of a file in the packages, which every user may read. */
type ReferenceTarget = { readonly id: string } | { readonly key: string } | { readonly bundled: string }

async function findTarget(target: ReferenceTarget, files: FileLookup, owner: OwnerScope): Promise<LoadableFile | null> {
  if ('bundled' in target) return findPackageFile(target.bundled)
  return 'id' in target ? files.byId(owner, target.id) : files.byKey(owner, target.key)
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
