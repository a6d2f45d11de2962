// The model providers of this service. Settings, help, discovery and the registry of providers follow from this list.
// How a provider of each kind is created is in src/models/providers/configured-providers.ts.
import type { ModelProvider } from '../../generated/types.ts'
import { readOllamaUrl } from './ollama-url.ts'
import type { SettingsReader } from './settings-reader.ts'

/** The protocol of a provider, as in the contract. Workflows are models as well, without a provider. */
export type ProviderKind = Exclude<ModelProvider['kind'], 'workflow'>

export interface ProviderDescription {
  /** The first part of the ids of its models. */
  readonly name: string
  /** The name for people. */
  readonly title: string
  readonly kind: ProviderKind
  /** The name of the secret with its key, and of the setting with the operator's key. Absent: it needs no key. */
  readonly credential?: string
  /** Its usual URL. Absent: it has none. */
  readonly base_url?: string
  /** The setting of another URL. */
  readonly url_setting?: string
  /** Reads the setting of the URL. Absent: the setting is a base URL. */
  readonly readUrl?: (read: SettingsReader, setting: string, problems: string[]) => string | null
  /** The default port of a server on this machine: the provider exists if its URL is set, or if discovery finds it. Absent: it always exists. */
  readonly port?: number
}

/** In the order of precedence for a model name that names no provider. */
export const MODEL_PROVIDERS: readonly ProviderDescription[] = [
  { name: 'builtin', title: 'Built in', kind: 'builtin' },
  {
    name: 'openai',
    title: 'OpenAI',
    kind: 'openai_compatible',
    credential: 'OPENAI_API_KEY',
    base_url: 'https://api.openai.com/v1',
    url_setting: 'OPENAI_BASE_URL',
  },
  {
    name: 'anthropic',
    title: 'Anthropic',
    kind: 'anthropic',
    credential: 'ANTHROPIC_API_KEY',
    base_url: 'https://api.anthropic.com',
    url_setting: 'ANTHROPIC_BASE_URL',
  },
  {
    name: 'google',
    title: 'Google',
    kind: 'google',
    credential: 'GEMINI_API_KEY',
    base_url: 'https://generativelanguage.googleapis.com',
    url_setting: 'GOOGLE_GEMINI_BASE_URL',
  },
  {
    name: 'ollama',
    title: 'Ollama',
    kind: 'openai_compatible',
    url_setting: 'OLLAMA_HOST',
    readUrl: readOllamaUrl,
    port: 11_434,
  },
  { name: 'lmstudio', title: 'LM Studio', kind: 'openai_compatible', port: 1_234 },
  { name: 'vllm', title: 'vLLM', kind: 'openai_compatible', port: 8_000 },
  { name: 'llamacpp', title: 'llama.cpp', kind: 'openai_compatible', port: 8_080 },
  { name: 'local', title: 'Local models', kind: 'local' },
]

/** Providers that exist in every configuration. */
export const PERMANENT_PROVIDERS = MODEL_PROVIDERS.filter(({ port }) => port === undefined)

/** Servers that discovery may find on this machine. */
export const DISCOVERABLE_PROVIDERS = MODEL_PROVIDERS.flatMap(({ name, title, port }) =>
  port === undefined ? [] : [{ name, title, port }],
)

/** The description of a provider by its name. @throws Error where there is none */
export function describeProvider(name: string): ProviderDescription {
  const found = MODEL_PROVIDERS.find((one) => one.name === name)
  if (!found) throw new Error(`no description of the provider "${name}"`)
  return found
}

/** The settings of a provider, each with its purpose. */
export function listProviderSettings({
  title,
  credential,
  base_url,
  url_setting,
}: ProviderDescription): [string, string][] {
  const settings: [string, string][] = []
  if (credential !== undefined) settings.push([credential, `the key of ${title}`])
  if (url_setting !== undefined)
    settings.push([
      url_setting,
      base_url === undefined ? `where ${title} listens` : `the server to call in place of ${title}`,
    ])
  return settings
}
