// The providers that this process's settings name: the one place where a kind of provider is added.
import { keyName, type ModelSettings } from '../config/models.ts'
import type { Config } from '../config.ts'
import type { UpstreamClient } from '../net/upstream.ts'
import { anthropicProvider } from './anthropic.ts'
import { builtinProvider } from './builtin.ts'
import { googleProvider } from './google.ts'
import { localProvider } from './local.ts'
import { modelsFolder } from './local-files.ts'
import { runtimeFolder } from './local-package.ts'
import { openAiProvider } from './openai-compatible.ts'
import type { Provider } from './provider.ts'
import { Providers } from './providers.ts'

const OPENAI = 'https://api.openai.com/v1'

export interface ConfiguredParts {
  readonly config: ModelSettings & Pick<Config, 'data_dir' | 'identity_provider'>
  readonly client: UpstreamClient
  /** Besides those, or in the place of those of the same name. */
  readonly more?: readonly Provider[]
}

export function configuredProviders({ config, client, more = [] }: ConfiguredParts): Providers {
  const named = config.model_servers.map(({ name, base_url }) =>
    openAiProvider({ name, title: name, base_url, credential: keyName(name), keyless: true, client }),
  )
  const hosted = [
    openAi(config, client),
    anthropicProvider({ client, base_url: config.anthropic_base_url }),
    googleProvider({ client, base_url: config.gemini_base_url }),
  ]
  const ours = [...hosted, ...named, ...ollama(config, client), local(config)].filter(
    ({ name }) => !more.some((one) => one.name === name),
  )
  return new Providers([builtinProvider, ...ours, ...more], config.default_provider)
}

/** Always there, since a caller may bring the key. */
function openAi({ openai_base_url }: ModelSettings, client: UpstreamClient): Provider {
  const base_url = openai_base_url ?? OPENAI
  const keyless = base_url !== OPENAI
  return openAiProvider({ name: 'openai', title: 'OpenAI', base_url, credential: 'OPENAI_API_KEY', keyless, client })
}

/** Where its address is set; a server of that name that is set besides goes before it. */
function ollama({ ollama_base_url: base_url, model_servers }: ModelSettings, client: UpstreamClient): Provider[] {
  if (base_url === null || model_servers.some(({ name }) => name === 'ollama')) return []
  return [openAiProvider({ name: 'ollama', title: 'Ollama', base_url, credential: null, keyless: true, client })]
}

/** Always there, since what runs its models may be installed at any time. */
function local(config: ConfiguredParts['config']): Provider {
  const { data_dir, runtime_environment: environment, identity_provider } = config
  const runtime_dir = runtimeFolder(data_dir)
  // Where others sign in, they need not know where the operator's files are.
  const tells_place = identity_provider === null
  return localProvider({ models_dir: modelsFolder(config), runtime_dir, tells_place, environment })
}
