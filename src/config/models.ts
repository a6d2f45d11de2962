// The settings that say which models there are, where their files are kept, and what they may cost.
import { isSecretName } from '../shared/secret-name.ts'
import { parseOllamaUrl } from './ollama-url.ts'
import { describeValue, type SettingsReader } from './settings-reader.ts'

/** A server that speaks OpenAI's protocol. */
export interface ModelServer {
  /** The first part of the ids of its models. */
  readonly name: string
  /** With its version, without a slash at its end: `https://api.openai.com/v1`. */
  readonly base_url: string
}

export interface ModelSettings {
  /** By name, in the order in which they are given. */
  model_servers: readonly ModelServer[]
  /** Where the known providers are reached, if not where they usually are. */
  openai_base_url: string | null
  anthropic_base_url: string | null
  gemini_base_url: string | null
  /** Where Ollama is, with its version; null where nobody says. */
  ollama_base_url: string | null
  /** Keys of providers by the name of their secret, for all callers who have none of their own. */
  provider_keys: Readonly<Record<string, string>>
  /** What a model's name without a provider means; null: the only provider that has it. */
  default_provider: string | null
  /** Whether servers on the usual ports of this machine are looked for at the start. */
  probe_local_models: boolean
  /** Where files of models are; null: in a folder of the data folder. */
  models_dir: string | null
  /** Where they are fetched from. */
  model_hub_url: string
  /** What processes that run models find in their environment: nothing of it is secret. */
  runtime_environment: Readonly<Record<string, string>>
  /** In US dollars; null: no limit. */
  max_cost_per_job: number | null
  max_cost_per_user_per_day: number | null
  max_cost_per_day: number | null
}

const SERVER_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/
/** Providers that are there whatever is set. */
const BUILTIN_PROVIDERS = ['builtin', 'openai', 'anthropic', 'google', 'local']
/** Those that may be found on this machine later, if somebody looks. */
export const DISCOVERABLE_PROVIDERS: readonly string[] = ['ollama', 'lmstudio', 'vllm', 'llamacpp']
/** Ids that begin with these mean something else. */
const RESERVED_SERVER_NAMES = new Set([...BUILTIN_PROVIDERS, 'workflow'])
/** The keys of the others. */
const KNOWN_KEY_NAMES = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'HF_TOKEN']
const HUB = 'https://huggingface.co'
/** Where the system's and graphics cards' libraries and folders are. */
const RUNTIME_VARIABLES = [
  ...['PATH', 'HOME', 'USERPROFILE', 'SystemRoot', 'TMPDIR', 'TEMP', 'TMP', 'LANG', 'LD_LIBRARY_PATH'],
  ...['DYLD_LIBRARY_PATH', 'CUDA_PATH', 'CUDA_VISIBLE_DEVICES', 'HIP_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES'],
  ...['GGML_VK_VISIBLE_DEVICES', 'VK_DRIVER_FILES', 'VK_ICD_FILENAMES', 'XDG_RUNTIME_DIR'],
]
const COST = /^\d{1,9}(?:\.\d{1,6})?$/

export function readModelSettings(read: SettingsReader, problems: string[]): ModelSettings {
  const model_servers = readModelServers(read, problems)
  const named = model_servers.map(({ name }) => apiKeyName(name))
  const ollama_base_url = readOllamaUrl(read, problems)
  const probe_local_models = read.boolean('SVC_PROBE_LOCAL_MODELS') ?? true
  const there = [...BUILTIN_PROVIDERS, ...model_servers.map(({ name }) => name), ...(ollama_base_url ? ['ollama'] : [])]
  return {
    model_servers,
    openai_base_url: read.url('OPENAI_BASE_URL'),
    anthropic_base_url: read.url('ANTHROPIC_BASE_URL'),
    gemini_base_url: read.url('GOOGLE_GEMINI_BASE_URL'),
    ollama_base_url,
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
  if (name === null || there.includes(name) || (probes && DISCOVERABLE_PROVIDERS.includes(name))) return name
  const known = [...new Set([...there, ...(probes ? DISCOVERABLE_PROVIDERS : [])])].join(', ')
  problems.push(`SVC_DEFAULT_PROVIDER must be one of ${known}${describeValue('is', name)}`)
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
  // The address of an entry may have a password, of which a comma and a = make entries and names.
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

/** Of an entry that has no "=" in it. What does not look like a name may be an address with a password. */
function describeIncompleteEntry(entry: string, isOpen: boolean): string {
  if (isOpen && SERVER_NAME.test(entry)) return `the entry "${entry}" lacks = and a URL behind it`
  return 'an entry lacks a name and = before it'
}

/** Nobody is asked with another's key. */
function findNameConflict(name: string, found: readonly ModelServer[]): string | null {
  if (RESERVED_SERVER_NAMES.has(name) || found.some((one) => one.name === name)) return 'has a name that is taken'
  const key = apiKeyName(name)
  const isAnothers = KNOWN_KEY_NAMES.includes(key) || found.some((one) => apiKeyName(one.name) === key)
  return isAnothers ? `has a name whose key would be ${key}, which is the key of another one` : null
}

function describeInvalidEntry(name: string, isUrl: boolean, taken: string | null, isOpen: boolean): string {
  if (name === '') return 'an entry has no name'
  const which = isOpen ? `the entry "${name}"` : 'an entry'
  if (taken !== null) return `${which} ${taken}`
  return isUrl
    ? `${which} must have a name of small letters, digits, - and _ that begins with a letter`
    : `${which} must have an http or https URL without user, query and fragment`
}

function readOllamaUrl(read: SettingsReader, problems: string[]): string | null {
  const value = read.text('OLLAMA_HOST')
  const url = value === null ? null : parseOllamaUrl(value)
  if (value !== null && url === null)
    problems.push('OLLAMA_HOST must be a host, with or without http:// or https:// before it and a port behind it')
  return url
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
