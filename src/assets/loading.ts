// Files as nodes get them: whole, by a reference, under the rights of whoever the run belongs to.
import type { Scope } from '../db/scope.ts'
import { NodeError } from '../engine/node-error.ts'
import type { AssetAccess } from '../engine/services.ts'
import type { Files } from './files.ts'
import { isKey, isTemporary, uriOf } from './keys.ts'
import { type LoadableFile, loadedFrom, notFound, shown } from './loaded.ts'
import { packageFile, packagePathOf } from './packages.ts'
import { TEMPORARY_HOURS } from './temporary.ts'

const SCHEME = 'asset://'

/** What the nodes of one owner's runs may load. `ownUrl` gives where this server is reached: addresses there mean the same with it and without. */
export function assetAccess(files: Files, owner: Scope, ownUrl: () => string): Pick<AssetAccess, 'load'> {
  return {
    async load(reference, max_bytes, held) {
      const place = placeOf(reference, ownUrl().replace(/\/+$/, ''))
      if (place === null) throw new NodeError(`${shown(reference)} is not the address of an asset.`, 'bad_reference')
      const file = await fileAt(place, files, owner)
      const loaded = file && (await loadedFrom(file, max_bytes, held))
      if (!loaded) throw 'key' in place && isTemporary(place.key) ? notFound(reference, PASSED) : notFound(reference)
      return loaded
    },
  }
}

const PASSED = `: temporary files are kept for ${TEMPORARY_HOURS} hours after they were uploaded.`

/** `bundled` is the path of a file in the packages, which are everybody's. */
type Place = { readonly id: string } | { readonly key: string } | { readonly bundled: string }

async function fileAt(place: Place, files: Files, owner: Scope): Promise<LoadableFile | null> {
  if ('bundled' in place) return packageFile(place.bundled)
  return 'id' in place ? files.byId(owner, place.id) : files.byKey(owner, place.key)
}

function placeOf(reference: string, ownUrl: string): Place | null {
  const text = reference.trim()
  if (text.startsWith(SCHEME)) return text.length > SCHEME.length ? { id: text.slice(SCHEME.length) } : null
  const storage = uriOf('')
  const path = ownUrl !== '' && text.startsWith(`${ownUrl}/`) ? text.slice(ownUrl.length) : text
  const bundled = packagePathOf(path)
  if (bundled !== null) return { bundled }
  if (!path.startsWith(storage)) return null
  const key = decoded(path.slice(storage.length).replace(/[?#].*$/s, ''))
  return key !== null && isKey(key) ? { key } : null
}

function decoded(key: string): string | null {
  try {
    return decodeURIComponent(key)
  } catch {
    return null
  }
}
