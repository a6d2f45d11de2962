// What helps where there is no server: failures of models and secrets name a variable to set, and no request to send.

import type { ModelAccess } from '../../engine/node-api/node-services.ts'
import { NodeError } from '../../engine/node-api/node-type.ts'
import { MODEL_LIST_HINT } from '../../models/catalogue/model-name-suggestions.ts'
import { explainMissingKey, ProviderError } from '../../models/provider-error.ts'
import type { ProviderRegistry } from '../../models/providers/registry.ts'
import type { OwnerResources } from '../../services.ts'
import { isSecretName } from '../../shared/secret-name.ts'

/** The same models. */
export function withTerminalModelErrors(models: ModelAccess, providers: Pick<ProviderRegistry, 'all'>): ModelAccess {
  const own = <T>(asked: Promise<T>): Promise<T> =>
    asked.catch((error) => {
      throw toTerminalError(error, providers)
    })
  return {
    async *complete(request) {
      try {
        yield* models.complete(request)
      } catch (error) {
        throw toTerminalError(error, providers)
      }
    },
    embed: (request) => own(models.embed(request)),
    capabilities: (model, signal) => own(models.capabilities(model, signal)),
  }
}

/** What a provider said is told once, and why it said so as the cause. */
function toTerminalError(error: unknown, providers: Pick<ProviderRegistry, 'all'>): unknown {
  if (!(error instanceof NodeError)) return error
  let { message } = error
  for (const { credential: name } of providers.all())
    if (name !== null) message = message.replace(explainMissingKey(name), `Set ${name} in the environment.`)
  message = message.replace(MODEL_LIST_HINT, ' svc models lists the models that there are.')
  const cause = error.cause instanceof ProviderError ? error.cause.cause : error.cause
  return new NodeError(message, error.type, cause === undefined ? {} : { cause })
}

/** The same secrets. What cannot be the name of one is left to whoever asks. */
export function withTerminalSecretErrors(secret: OwnerResources['secret']): OwnerResources['secret'] {
  return (name) => {
    const value = secret(name)
    if (value !== null || !isSecretName(name)) return value
    const cure = `Set SVC_SECRET_${name} in the environment, or correct the name.`
    throw new NodeError(`There is no secret "${name}". ${cure}`, 'unknown_secret')
  }
}
