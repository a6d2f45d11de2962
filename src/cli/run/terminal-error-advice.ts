// Adapts errors of models and secrets to a run without a server: they name a variable to set instead of a request to send.

import type { OwnerResources } from '../../composition/node-services.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { ModelAccess } from '../../engine/node-api/services/models.ts'
import { MODEL_LIST_HINT } from '../../models/catalogue/model-name-suggestions.ts'
import { explainMissingKey, ProviderError } from '../../models/provider-error.ts'
import type { ProviderRegistry } from '../../models/providers/registry.ts'
import { isSecretName } from '../../shared/secret-name.ts'

/** The same models, with adapted errors. */
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

/** Keeps the provider's message once, and its reason as the cause. */
function toTerminalError(error: unknown, providers: Pick<ProviderRegistry, 'all'>): unknown {
  if (!(error instanceof NodeError)) return error
  let { message } = error
  for (const { credential: name } of providers.all())
    if (name !== null) message = message.replace(explainMissingKey(name), `Set ${name} in the environment.`)
  message = message.replace(MODEL_LIST_HINT, ' svc models lists the available models.')
  const cause = error.cause instanceof ProviderError ? error.cause.cause : error.cause
  return new NodeError(message, error.type, cause === undefined ? {} : { cause })
}

/** The same secrets, with adapted errors. Invalid names of secrets are left to the caller. */
export function withTerminalSecretErrors(secret: OwnerResources['secret']): OwnerResources['secret'] {
  return (name) => {
    const value = secret(name)
    if (value !== null || !isSecretName(name)) return value
    const cure = `Set SVC_SECRET_${name} in the environment, or correct the name.`
    throw new NodeError(`There is no secret "${name}". ${cure}`, 'unknown_secret')
  }
}
