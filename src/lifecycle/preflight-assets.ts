// The assets that a run refers to: whether each is there for whoever would run it. What is somebody else's is missing, as what never was.
import { packageFile } from '../assets/packages.ts'
import type { Scope } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { assetIdOf, bundledPathOf, MOST_REFERENCES, type References, storageKeyOf } from './preflight-references.ts'
import type { Requirement, Requirements } from './preflight-requirements.ts'
import type { Turns } from './preflight-turns.ts'

export interface FoundAsset {
  readonly name: string
  readonly content_type: string
  readonly size: number
  /** Null for one that is kept until somebody removes it. */
  readonly expires_at: string | null
}

/** Where assets are found, by the owner's rights. */
export interface AssetSource {
  byId(owner: Scope, asset_id: string): Promise<FoundAsset | null>
  byKey(owner: Scope, storage_key: string): Promise<FoundAsset | null>
}

/** Milliseconds for all assets of one run; those that were not looked at by then are `unknown`. */
export const ASSETS_MS = 5_000
/** So many are looked up before others may have their turn. */
const AT_ONCE = 64

type Looked = FoundAsset | null | 'failed' | 'late'

interface AssetTools {
  readonly source: AssetSource
  readonly log: Log
  readonly turns: Turns
}

/** Looks up every reference, and adds what it came to. */
export async function requireAssets(
  { source, log, turns }: AssetTools,
  owner: Scope,
  references: References,
  into: Requirements,
): Promise<void> {
  const until = performance.now() + ASSETS_MS
  const entries = [...references.found]
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    const late = performance.now() > until
    const look = async (id: string): Promise<Looked> => (late ? 'late' : lookedUp(source, owner, id, log))
    const some = entries.slice(at, at + AT_ONCE).map(async ([id, blocking]) => {
      into.add(requirement(id, blocking, await look(id)))
    })
    await Promise.all(some)
    await turns.next()
  }
  if (references.overflowing) into.add(others())
}

async function lookedUp(source: AssetSource, owner: Scope, reference: string, log: Log): Promise<Looked> {
  const [asset_id, key, bundled] = [assetIdOf(reference), storageKeyOf(reference), bundledPathOf(reference)]
  try {
    if (bundled !== null) return packageFile(bundled)
    if (asset_id !== null) return await source.byId(owner, asset_id)
    return key === null ? null : await source.byKey(owner, key)
  } catch (err) {
    log.warn({ err }, 'an asset could not be looked up before a run')
    return 'failed'
  }
}

function requirement(reference: string, blocking: boolean, looked: Looked): Requirement {
  const common = { kind: 'asset', id: reference, name: reference, blocking } as const
  if (looked === null) return { ...common, status: 'missing', message: 'There is no such asset, or no longer.' }
  if (looked === 'failed') return { ...common, status: 'unknown', message: 'The asset could not be looked up.' }
  if (looked === 'late') return { ...common, status: 'unknown', message: 'There was no time to look for it.' }
  const { name, content_type, size, expires_at } = looked
  return { ...common, name, status: 'available', message: null, details: { content_type, size, expires_at } }
}

function others(): Requirement {
  const message = `The run refers to more than ${MOST_REFERENCES} assets: the others were not looked up.`
  return { kind: 'asset', id: 'others', name: 'Further assets', status: 'unknown', blocking: true, message }
}
