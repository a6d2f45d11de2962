// Models for a run that knows only when it calls one that it needs any: what runs on this machine is looked for then, and once.
import type { ModelAccess } from '../../engine/node-api/node-services.ts'

export function discoverOnFirstUse(models: ModelAccess, look: () => Promise<unknown>): ModelAccess {
  let looked: Promise<unknown> | null = null
  const first = () => {
    looked ??= look()
    return looked
  }
  return {
    async *complete(request) {
      await first()
      yield* models.complete(request)
    },
    async embed(request) {
      await first()
      return models.embed(request)
    },
    async capabilities(model, signal) {
      await first()
      return models.capabilities(model, signal)
    },
  }
}
