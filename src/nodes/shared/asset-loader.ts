// Files count among what a run holds while they are loaded, as while they are worked on: many firings may do that at the same time.

import type { LoadedAsset } from '../../engine/node-api/node-services.ts'
import type { NodeContext } from '../../engine/node-api/node-type.ts'

/** A file that counts among what the run holds while it is loaded. @throws as `AssetAccess.load` does */
export function loadAsset(reference: string, max_bytes: number, context: NodeContext): Promise<LoadedAsset> {
  return context.services.assets.load(reference, max_bytes, (bytes) => context.hold(bytes))
}
