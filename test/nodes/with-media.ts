// Runs one firing of a node that works on files, with real worker processes.

import type { OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { AssetAccess } from '../../src/engine/node-api/services/assets.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { createMediaPool } from '../../src/media/worker-pool.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { context, runWith } from './context.ts'

export interface MediaNodes extends AsyncDisposable {
  /** The outputs of one firing, with defaults filled in. */
  fire(type: string, inputs: Record<string, unknown>): Promise<OutputValues>
}

/** `assets` is the asset service that the nodes see. */
export function mediaNodes(assets: Partial<AssetAccess> = {}): MediaNodes {
  const media = createMediaPool({ processes: 1 })
  const services = { ...noServices, media, assets: { ...noServices.assets, ...assets } }
  return {
    async fire(type, inputs) {
      const node = builtinRegistry.get(type)!
      const defaults = Object.fromEntries(node.properties.map(({ name, default: own = null }) => [name, own]))
      return (await runWith(node, { ...defaults, ...inputs }, { ...context, services })) as OutputValues
    },
    [Symbol.asyncDispose]: () => media[Symbol.asyncDispose](),
  }
}
