// The providers that this process's settings name: the one place where a kind of provider is added.
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
  /** Besides those, or in the place of those of the same name. */
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

/** Always there, since a caller may bring the key. */
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

/** Where its address is set; a server of that name that is set besides goes before it. */
function createOllama({ ollama_base_url: base_url, model_servers }: ModelSettings, client: UpstreamClient): Provider[] {
  if (base_url === null || model_servers.some(({ name }) => name === 'ollama')) return []
  return [createOpenAiProvider({ name: 'ollama', title: 'Ollama', base_url, credential: null, keyless: true, client })]
}

/** Always there, since what runs its models may be installed at any time. */
function createLocal(config: ConfiguredProvidersParts['config']): Provider {
  const { data_dir, runtime_environment: environment, identity_provider } = config
  const runtime_dir = resolveRuntimeFolder(data_dir)
  // Where others sign in, they need not know where the operator's files are.
  const tells_place = identity_provider === null
  return createLocalProvider({
    models_dir: resolveModelsFolder(config),
    runtime_dir,
    shows_path: tells_place,
    environment,
  })
}
