// Creates the providers from the settings. A new kind of provider is added here and nowhere else.
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

const OPENAI_BASE_URL = 'https://api.openai.com/v1'

export interface ConfiguredProvidersParts {
  readonly config: ModelSettings & Pick<Config, 'data_dir' | 'identity_provider'>
  readonly client: UpstreamClient
  /** Additional providers. Each replaces a configured provider of the same name. */
  readonly more?: readonly Provider[]
}

export function createConfiguredProviders({ config, client, more = [] }: ConfiguredProvidersParts): ProviderRegistry {
  const fromModelServers = config.model_servers.map(({ name, base_url }) =>
    createOpenAiProvider({ name, title: name, base_url, credential: apiKeyName(name), keyless: true, client }),
  )
  const hosted = [
    createOpenAi(config, client),
    createAnthropicProvider({ client, base_url: config.anthropic_base_url }),
    createGoogleProvider({ client, base_url: config.gemini_base_url }),
  ]
  const configured = [...hosted, ...fromModelServers, ...createOllama(config, client), createLocal(config)].filter(
    ({ name }) => !more.some((one) => one.name === name),
  )
  return new ProviderRegistry([builtinProvider, ...configured, ...more], config.default_provider)
}

/** Always present, since a caller may bring the key. */
function createOpenAi({ openai_base_url }: ModelSettings, client: UpstreamClient): Provider {
  const base_url = openai_base_url ?? OPENAI_BASE_URL
  const keyless = base_url !== OPENAI_BASE_URL
  return createOpenAiProvider({
    name: 'openai',
    title: 'OpenAI',
    base_url,
    credential: 'OPENAI_API_KEY',
    keyless,
    client,
  })
}

/** Present where its URL is set. A model server that is named `ollama` in the settings takes precedence. */
function createOllama({ ollama_base_url: base_url, model_servers }: ModelSettings, client: UpstreamClient): Provider[] {
  if (base_url === null || model_servers.some(({ name }) => name === 'ollama')) return []
  return [createOpenAiProvider({ name: 'ollama', title: 'Ollama', base_url, credential: null, keyless: true, client })]
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
