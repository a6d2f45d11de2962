// Files count among what a run holds while they are loaded, as while they are worked on: many firings may do that at the same time.
import type { NodeContext } from '../engine/node-type.ts'
import type { LoadedAsset } from '../engine/services.ts'

/** A file that counts among what the run holds while it is loaded. @throws as `AssetAccess.load` does */
export function loaded(reference: string, max_bytes: number, context: NodeContext): Promise<LoadedAsset> {
  return context.services.assets.load(reference, max_bytes, (bytes) => context.hold(bytes))
}
