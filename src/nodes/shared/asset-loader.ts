// Counts files in the memory account of a run while they are loaded, because many firings may load files at the same time.

import type { NodeContext } from '../../engine/node-api/node-context.ts'
import type { LoadedAsset } from '../../engine/node-api/services/assets.ts'

/** Loads a file and counts it in the run's memory meanwhile. @throws as `AssetAccess.load` does */
export function loadAsset(reference: string, max_bytes: number, context: NodeContext): Promise<LoadedAsset> {
  return context.services.assets.load(reference, max_bytes, (bytes) => context.hold(bytes))
}
