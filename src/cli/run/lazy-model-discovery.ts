// Discovers the model servers of this machine once, when a run calls its first model.
import type { ModelAccess } from '../../engine/node-api/services/models.ts'

export function discoverOnFirstUse(models: ModelAccess, discover: () => Promise<unknown>): ModelAccess {
  let discovery: Promise<unknown> | null = null
  const discovered = () => {
    discovery ??= discover()
    return discovery
  }
  return {
    async *complete(request) {
      await discovered()
      yield* models.complete(request)
    },
    async embed(request) {
      await discovered()
      return models.embed(request)
    },
    async capabilities(model, signal) {
      await discovered()
      return models.capabilities(model, signal)
    },
  }
}
