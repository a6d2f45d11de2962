// One firing of a node that works on files, with the real processes behind it.
import type { Outputs } from '../../src/engine/node-type.ts'
import { type AssetAccess, noServices } from '../../src/engine/services.ts'
import { createMedia } from '../../src/media/media.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'
import { context, runWith } from './context.ts'

export interface MediaNodes extends AsyncDisposable {
  /** The outputs of one firing, its defaults filled in. */
  fire(type: string, inputs: Record<string, unknown>): Promise<Outputs>
}

/** `assets` is what the nodes have of assets. */
export function mediaNodes(assets: Partial<AssetAccess> = {}): MediaNodes {
  const media = createMedia({ processes: 1 })
  const services = { ...noServices, media, assets: { ...noServices.assets, ...assets } }
  return {
    async fire(type, inputs) {
      const node = builtinNodes.get(type)!
      const defaults = Object.fromEntries(node.properties.map(({ name, default: own = null }) => [name, own]))
      return (await runWith(node, { ...defaults, ...inputs }, { ...context, services })) as Outputs
    },
    [Symbol.asyncDispose]: () => media[Symbol.asyncDispose](),
  }
}
