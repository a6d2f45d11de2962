// Creates the providers from their descriptions (src/config/model-providers.ts) and the settings.
import { MODEL_PROVIDERS, type ProviderDescription, type ProviderKind } from '../../config/model-providers.ts'
import { apiKeyName, type ModelSettings } from '../../config/models.ts'
import type { Config } from '../../config.ts'
import type { UpstreamClient } from '../../net/upstream/client.ts'
import type { Provider } from '../provider.ts'
import { createAnthropicProvider } from './anthropic/provider.ts'
import { builtinProvider } from './builtin-echo.ts'
import { createGoogleProvider } from './google/provider.ts'
import { resolveModelsFolder } from './local/model-files.ts'
import { createLocalProvider } from './local/provider.ts'
import { resolveRuntimeFolder } from './local/runtime-package.ts'
import { createOpenAiProvider } from './openai/provider.ts'
import { ProviderRegistry } from './registry.ts'

export interface ConfiguredProvidersParts {
  readonly config: ModelSettings & Pick<Config, 'data_dir' | 'identity_provider'>
  readonly client: UpstreamClient
  /** Additional providers. Each replaces a configured provider of the same name. */
  readonly more?: readonly Provider[]
}

type ProviderFactory = (described: ProviderDescription, base_url: string, parts: ConfiguredProvidersParts) => Provider

/** A new protocol is added here. `base_url` is empty for a provider without a URL. */
const FACTORIES: Readonly<Record<ProviderKind, ProviderFactory>> = {
  builtin: () => builtinProvider,
  openai_compatible: ({ name, title, credential = null, base_url: usual }, base_url, { client }) =>
    // Another server in the place of a hosted one may need no key.
    createOpenAiProvider({ name, title, base_url, credential, keyless: base_url !== usual, client }),
  anthropic: (_, base_url, { client }) => createAnthropicProvider({ client, base_url }),
  google: (_, base_url, { client }) => createGoogleProvider({ client, base_url }),
  local: (_described, _base_url, { config }) => createLocal(config),
}

/** A server of `SVC_MODEL_SERVERS` replaces the server of this machine with its name. */
export function createConfiguredProviders(parts: ConfiguredProvidersParts): ProviderRegistry {
  const { config, client, more = [] } = parts
  const fromModelServers = config.model_servers.map(({ name, base_url }) =>
    createOpenAiProvider({ name, title: name, base_url, credential: apiKeyName(name), keyless: true, client }),
  )
  const replacing = new Set([...fromModelServers, ...more].map(({ name }) => name))
  const create = (described: ProviderDescription): Provider[] => {
    const { name, kind, base_url, port } = described
    const url = config.provider_urls[name] ?? base_url
    const isAbsent = replacing.has(name) || (port !== undefined && url === undefined)
    return isAbsent ? [] : [FACTORIES[kind](described, url ?? '', parts)]
  }
  const at = MODEL_PROVIDERS.findIndex(({ port }) => port !== undefined)
  const servers = fromModelServers.filter(({ name }) => !more.some((one) => one.name === name))
  const configured = [MODEL_PROVIDERS.slice(0, at).flatMap(create), servers, MODEL_PROVIDERS.slice(at).flatMap(create)]
  return new ProviderRegistry([...configured.flat(), ...more], config.default_provider)
}

/** Always present, since the runtime may be installed at any time. */
function createLocal(config: ConfiguredProvidersParts['config']): Provider {
  const { data_dir, runtime_environment: environment, identity_provider } = config
  const runtime_dir = resolveRuntimeFolder(data_dir)
  // Where users sign in, the operator's paths are not shown to them.
  const shows_path = identity_provider === null
  return createLocalProvider({
    models_dir: resolveModelsFolder(config),
    runtime_dir,
    shows_path,
    environment,
  })
}
