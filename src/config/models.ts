// The settings of models: which servers there are, where model files are kept, and the limits of cost.
import { isSecretName } from '../shared/secret-name.ts'
import { DISCOVERABLE_PROVIDERS, MODEL_PROVIDERS, PERMANENT_PROVIDERS } from './model-providers.ts'
import { describeValue, type SettingsReader } from './settings-reader.ts'

/** A server that speaks OpenAI's protocol. */
export interface ModelServer {
  /** The first part of the ids of the server's models. */
  readonly name: string
  /** With the API version and without a slash at the end: `https://api.openai.com/v1`. */
  readonly base_url: string
}

export interface ModelSettings {
  /** In the order of the setting. */
  model_servers: readonly ModelServer[]
  /** URLs from the settings, by the provider's name. */
  provider_urls: Readonly<Record<string, string>>
  /** API keys of providers by the name of their secret, for all callers without a key of their own. */
  provider_keys: Readonly<Record<string, string>>
  /** The provider of a model name that names none; null: the only provider that has the model. */
  default_provider: string | null
  /** Whether the start looks for model servers on the usual ports of this machine. */
  probe_local_models: boolean
  /** The folder of model files; null: a folder inside the data folder. */
  models_dir: string | null
  /** Where model files are downloaded from. */
  model_hub_url: string
  /** Environment variables of the processes that run models. None of them is secret. */
  runtime_environment: Readonly<Record<string, string>>
  /** In US dollars; null: no limit. */
  max_cost_per_job: number | null
  max_cost_per_user_per_day: number | null
  max_cost_per_day: number | null
}

const SERVER_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/
const PERMANENT_NAMES = PERMANENT_PROVIDERS.map(({ name }) => name)
const DISCOVERABLE_NAMES = DISCOVERABLE_PROVIDERS.map(({ name }) => name)
/** Model ids that begin with these names have another meaning. */
const RESERVED_SERVER_NAMES = new Set([...PERMANENT_NAMES, 'workflow'])
/** The keys of the described providers and of the hub. */
const KNOWN_KEY_NAMES = [...MODEL_PROVIDERS.flatMap(({ credential = [] }) => credential), 'HF_TOKEN']
const HUB = 'https://huggingface.co'
/** Where the libraries and folders of the system and of graphics cards are. */
const RUNTIME_VARIABLES = [
  ...['PATH', 'HOME', 'USERPROFILE', 'SystemRoot', 'TMPDIR', 'TEMP', 'TMP', 'LANG', 'LD_LIBRARY_PATH'],
  ...['DYLD_LIBRARY_PATH', 'CUDA_PATH', 'CUDA_VISIBLE_DEVICES', 'HIP_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES'],
  ...['GGML_VK_VISIBLE_DEVICES', 'VK_DRIVER_FILES', 'VK_ICD_FILENAMES', 'XDG_RUNTIME_DIR'],
]
const COST = /^\d{1,9}(?:\.\d{1,6})?$/

export function readModelSettings(read: SettingsReader, problems: string[]): ModelSettings {
  const model_servers = readModelServers(read, problems)
  const named = model_servers.map(({ name }) => apiKeyName(name))
  const provider_urls = readProviderUrls(read, problems)
  const probe_local_models = read.boolean('SVC_PROBE_LOCAL_MODELS') ?? true
  const there = [...PERMANENT_NAMES, ...model_servers.map(({ name }) => name), ...Object.keys(provider_urls)]
  return {
    model_servers,
    provider_urls,
    provider_keys: readApiKeys(read, [...KNOWN_KEY_NAMES, ...named]),
    default_provider: readDefaultProvider(read, there, probe_local_models, problems),
    probe_local_models,
    models_dir: read.text('SVC_MODELS_DIR'),
    model_hub_url: read.url('SVC_MODEL_HUB_URL') ?? HUB,
    runtime_environment: readPresentVariables(read, RUNTIME_VARIABLES),
    max_cost_per_job: readCostLimit(read, 'SVC_MAX_COST_PER_JOB', problems),
    max_cost_per_user_per_day: readCostLimit(read, 'SVC_MAX_COST_PER_USER_PER_DAY', problems),
    max_cost_per_day: readCostLimit(read, 'SVC_MAX_COST_PER_DAY', problems),
  }
}

function readDefaultProvider(
  read: SettingsReader,
  there: readonly string[],
  probes: boolean,
  problems: string[],
): string | null {
  const name = read.text('SVC_DEFAULT_PROVIDER')
  const known = new Set([...there, ...(probes ? DISCOVERABLE_NAMES : [])])
  if (name === null || known.has(name)) return name
  problems.push(`SVC_DEFAULT_PROVIDER must be one of ${[...known].join(', ')}${describeValue('is', name)}`)
  return null
}

function readPresentVariables(read: SettingsReader, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, read.text(name) ?? '']).filter(([, value]) => value !== ''))
}

/** The name of the secret that holds the key of a server: `GROQ_API_KEY` for `groq`. */
export function apiKeyName(server: string): string {
  return `${server.toUpperCase().replaceAll('-', '_')}_API_KEY`
}

function readModelServers(read: SettingsReader, problems: string[]): ModelServer[] {
  const found: ModelServer[] = []
  // The URL of an entry may contain a password. Its commas and = would split it into false entries and names.
  const isOpen = !/[@?#]/.test(read.text('SVC_MODEL_SERVERS') ?? '')
  for (const entry of read.list('SVC_MODEL_SERVERS')) {
    const at = entry.indexOf('=')
    if (at < 0) {
      problems.push(`SVC_MODEL_SERVERS must be a list of name=URL; ${describeIncompleteEntry(entry, isOpen)}`)
      continue
    }
    const name = entry.slice(0, at).trim()
    const base_url = entry.slice(at + 1).trim()
    const url = URL.parse(base_url)
    const isUrl = url !== null && /^https?:$/.test(url.protocol) && !/[@?#]/.test(base_url)
    const taken = findNameConflict(name, found)
    if (isUrl && SERVER_NAME.test(name) && isSecretName(apiKeyName(name)) && taken === null)
      found.push({ name, base_url: base_url.replace(/\/+$/, '') })
    else
      problems.push(`SVC_MODEL_SERVERS must be a list of name=URL; ${describeInvalidEntry(name, isUrl, taken, isOpen)}`)
  }
  return found
}

/** Describes an entry without "=". Text that does not look like a name may be a URL with a password, so it is not shown. */
function describeIncompleteEntry(entry: string, isOpen: boolean): string {
  if (isOpen && SERVER_NAME.test(entry)) return `the entry "${entry}" lacks = and a URL after it`
  return 'an entry lacks a name and = before its URL'
}

/** A server must not be sent the key of another provider. */
function findNameConflict(name: string, found: readonly ModelServer[]): string | null {
  if (RESERVED_SERVER_NAMES.has(name) || found.some((one) => one.name === name)) return 'has a name that is taken'
  const key = apiKeyName(name)
  const isAnothers = KNOWN_KEY_NAMES.includes(key) || found.some((one) => apiKeyName(one.name) === key)
  return isAnothers ? `has a name whose key would be ${key}, which is the key of another provider` : null
}

function describeInvalidEntry(name: string, isUrl: boolean, taken: string | null, isOpen: boolean): string {
  if (name === '') return 'an entry has no name'
  const which = isOpen ? `the entry "${name}"` : 'an entry'
  if (taken !== null) return `${which} ${taken}`
  return isUrl
    ? `${which} must have a name of small letters, digits, - and _ that begins with a letter`
    : `${which} must have an http or https URL without user, query and fragment`
}

const readBaseUrl = (read: SettingsReader, setting: string) => read.url(setting)

function readProviderUrls(read: SettingsReader, problems: string[]): Record<string, string> {
  return Object.fromEntries(
    MODEL_PROVIDERS.flatMap(({ name, url_setting, readUrl = readBaseUrl }) => {
      const url = url_setting === undefined ? null : readUrl(read, url_setting, problems)
      return url === null ? [] : [[name, url]]
    }),
  )
}

function readApiKeys(read: SettingsReader, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = read.text(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

function readCostLimit(read: SettingsReader, name: string, problems: string[]): number | null {
  const value = read.text(name)
  if (value === null) return null
  if (COST.test(value)) return Number(value)
  problems.push(`${name} must be an amount of US dollars such as 2.50${describeValue('is', value)}`)
  return null
}
