// What helps where there is no server: failures of models and secrets name a variable to set, and no request to send.
import { NodeError } from '../engine/node-type.ts'
import type { ModelAccess } from '../engine/services.ts'
import { LISTED } from '../models/meant.ts'
import { keyCure, ProviderError } from '../models/provider-error.ts'
import type { Providers } from '../models/providers.ts'
import { isSecretName } from '../secret-name.ts'
import type { Owned } from '../services.ts'

/** The same models. */
export function modelsInTerminal(models: ModelAccess, providers: Pick<Providers, 'all'>): ModelAccess {
  const own = <T>(asked: Promise<T>): Promise<T> =>
    asked.catch((error) => {
      throw inOwnWords(error, providers)
    })
  return {
    async *complete(request) {
      try {
        yield* models.complete(request)
      } catch (error) {
        throw inOwnWords(error, providers)
      }
    },
    embed: (request) => own(models.embed(request)),
    capabilities: (model, signal) => own(models.capabilities(model, signal)),
  }
}

/** What a provider said is told once, and why it said so as the cause. */
function inOwnWords(error: unknown, providers: Pick<Providers, 'all'>): unknown {
  if (!(error instanceof NodeError)) return error
  let { message } = error
  for (const { credential: name } of providers.all())
    if (name !== null) message = message.replace(keyCure(name), `Set ${name} in the environment.`)
  message = message.replace(LISTED, ' svc models lists the models that there are.')
  const cause = error.cause instanceof ProviderError ? error.cause.cause : error.cause
  return new NodeError(message, error.type, cause === undefined ? {} : { cause })
}

/** The same secrets. What cannot be the name of one is left to whoever asks. */
export function secretsInTerminal(secret: Owned['secret']): Owned['secret'] {
  return (name) => {
    const value = secret(name)
    if (value !== null || !isSecretName(name)) return value
    const cure = `Set SVC_SECRET_${name} in the environment, or correct the name.`
    throw new NodeError(`There is no secret "${name}". ${cure}`, 'unknown_secret')
  }
}
