// Checks whether the assets that a run refers to exist for its owner. Assets of other owners are reported as missing, like assets that
// never existed.
import { findPackageFile } from '../../assets/bundled-packages.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Log } from '../../log.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'
import { type AssetReferences, assetIdOf, bundledPathOf, MOST_REFERENCES, storageKeyOf } from './asset-references.ts'
import type { RequirementSet, RunRequirement } from './requirements.ts'

export interface AssetInfo {
  readonly name: string
  readonly content_type: string
  readonly size: number
  /** Null if the asset is kept until it is deleted. */
  readonly expires_at: string | null
}

/** Finds assets with the rights of the owner. */
export interface AssetLookup {
  byId(owner: OwnerScope, asset_id: string): Promise<AssetInfo | null>
  byKey(owner: OwnerScope, storage_key: string): Promise<AssetInfo | null>
}

/** Milliseconds for all assets of one run. Assets that were not looked up by then are `unknown`. */
export const ASSET_LOOKUP_MS = 5_000
/** Number of assets that are looked up before other work may get its turn. */
const AT_ONCE = 64

type AssetLookupResult = AssetInfo | null | 'failed' | 'late'

interface AssetRequirementParts {
  readonly source: AssetLookup
  readonly log: Log
  readonly turns: AbortableTimeSlices
}

/** Looks up every reference, and adds the resulting requirements. */
export async function addAssetRequirements(
  { source, log, turns }: AssetRequirementParts,
  owner: OwnerScope,
  references: AssetReferences,
  into: RequirementSet,
): Promise<void> {
  const until = performance.now() + ASSET_LOOKUP_MS
  const entries = [...references.found]
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    const late = performance.now() > until
    const look = async (id: string): Promise<AssetLookupResult> => (late ? 'late' : lookUpAsset(source, owner, id, log))
    const some = entries.slice(at, at + AT_ONCE).map(async ([id, blocking]) => {
      into.add(toAssetRequirement(id, blocking, await look(id)))
    })
    await Promise.all(some)
    await turns.next()
  }
  if (references.hasMore) into.add(omittedAssetsRequirement())
}

async function lookUpAsset(
  source: AssetLookup,
  owner: OwnerScope,
  reference: string,
  log: Log,
): Promise<AssetLookupResult> {
  const [asset_id, key, bundled] = [assetIdOf(reference), storageKeyOf(reference), bundledPathOf(reference)]
  try {
    if (bundled !== null) return findPackageFile(bundled)
    if (asset_id !== null) return await source.byId(owner, asset_id)
    return key === null ? null : await source.byKey(owner, key)
  } catch (err) {
    log.warn({ err }, 'an asset could not be looked up before a run')
    return 'failed'
  }
}

function toAssetRequirement(reference: string, blocking: boolean, looked: AssetLookupResult): RunRequirement {
  const common = { kind: 'asset', id: reference, name: reference, blocking } as const
  if (looked === null) return { ...common, status: 'missing', message: 'The asset does not exist, or no longer does.' }
  if (looked === 'failed') return { ...common, status: 'unknown', message: 'The asset could not be looked up.' }
  if (looked === 'late') return { ...common, status: 'unknown', message: 'There was no time to look up the asset.' }
  const { name, content_type, size, expires_at } = looked
  return { ...common, name, status: 'available', message: null, details: { content_type, size, expires_at } }
}

function omittedAssetsRequirement(): RunRequirement {
  const message = `The run refers to more than ${MOST_REFERENCES} assets: the others were not looked up.`
  return { kind: 'asset', id: 'others', name: 'Further assets', status: 'unknown', blocking: true, message }
}
