// Reads and checks every setting once. No other part of the service reads the environment.
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  type AccessSettings,
  type RateLimitSettings,
  readAccessSettings,
  readRateLimitSettings,
} from './config/access.ts'
import { accessModeWarnings } from './config/access-mode.ts'
import { type ModelSettings, readModelSettings } from './config/models.ts'
import { createSettingsReader, describeValue, type Environment, type SettingsReader } from './config/settings-reader.ts'
import { type BucketSettings, readStorageSettings, storageWarnings } from './config/storage.ts'
import { rateLimitWarnings, unknownSettingWarnings } from './config/warnings.ts'
import { isAllowListEntry } from './net/outgoing/allow-list.ts'
import { findEnvironmentSecrets } from './redaction/environment-secrets.ts'
import { isSecretName } from './shared/secret-name.ts'
import { MIN_KEY_LENGTH } from './vault/master-key-file.ts'

export interface Config extends AccessSettings, RateLimitSettings, ModelSettings {
  host: string
  port: number
  data_dir: string
  /** A `sqlite:` URL; null: the SQLite file in the data folder. */
  database_url: string | null
  /** The bucket of file bytes; null: files are kept only in the data folder. */
  storage: BucketSettings | null
  /** Work counts as stored once it is on the disk (`full`), or once the operating system has it (`normal`). */
  durability: 'full' | 'normal'
  public_url: string | null
  log_level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  production: boolean
  /** False: the operator has switched the lifecycle profile off. */
  sdk_lifecycle: boolean
  /** Whether the planned job operations of the lifecycle profile are served. */
  sdk_lifecycle_preview: boolean
  max_concurrent_jobs: number
  max_jobs_per_user: number
  max_runs_per_workflow: number
  max_queued_jobs: number
  /** Limit of the values that one run holds at once, including the workflows that it calls. */
  max_job_memory_bytes: number
  /** Seconds, or null for no limit. */
  job_timeout_seconds: number | null
  /** How long a job is kept after its end. */
  job_retention_days: number
  max_body_bytes: number
  max_upload_bytes: number
  /** Bytes that the temporary files of one user may take together; 0 for no limit. */
  max_temporary_bytes_per_user: number
  ws_max_message_bytes: number
  ws_rate_limit_disabled: boolean
  /** Messages per one-second window and connection. */
  ws_rate_limit_max: number
  /** Destinations of nodes beyond the public internet: ranges, addresses and host names, the last two with or without a port. */
  http_node_allow: readonly string[]
  /** Secrets of the local user by name. */
  secrets: Readonly<Record<string, string>>
  /** The key that encrypts stored secrets; null: the key in the data folder. */
  secrets_master_key: string | null
  /** The next key, for `svc secrets rotate`; null: the command makes a key. */
  secrets_master_key_new: string | null
  /** Values that are redacted in everything that is served or logged. */
  known_secrets: readonly string[]
  /** Settings that have no effect or remove a protection, in a sentence each. */
  warnings: readonly string[]
}

export type { Environment }

/** Thrown when settings are wrong. The message has a line for every problem. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const KIB = 1024
const MIB = KIB * KIB

/**
 * Reads the settings from `environment`; `host` and `port` come from the command line.
 * @throws ConfigError with every problem at once
 */
export function readConfig(environment: Environment, listen: { host: string; port: number }): Config {
  const problems: string[] = []
  const warnings: string[] = []
  const read = createSettingsReader(environment, problems)
  const config: Config = {
    ...listen,
    data_dir: read.text('SVC_DATA_DIR') ?? join(homedir(), '.local', 'share', 'svc'),
    database_url: readDatabaseUrl(read.text('SVC_DATABASE_URL'), problems),
    storage: readStorageSettings(read, problems),
    durability: read.oneOf('SVC_DURABILITY', ['full', 'normal']) ?? 'full',
    public_url: read.url('SVC_PUBLIC_URL'),
    log_level: read.oneOf('SVC_LOG_LEVEL', LEVELS) ?? 'info',
    production: read.text('SVC_ENV') === 'production',
    sdk_lifecycle: !read.flag('SVC_DISABLE_SDK_LIFECYCLE_V1'),
    sdk_lifecycle_preview: read.flag('SVC_ENABLE_SDK_LIFECYCLE_PREVIEW'),
    max_concurrent_jobs: read.integer('SVC_MAX_CONCURRENT_JOBS', 1, 10_000) ?? 64,
    max_jobs_per_user: read.integer('SVC_MAX_JOBS_PER_USER', 1, 10_000) ?? 32,
    max_runs_per_workflow: read.integer('SVC_MAX_RUNS_PER_WORKFLOW', 1, 10_000) ?? 16,
    max_queued_jobs: read.integer('SVC_MAX_QUEUED_JOBS', 0, 10_000_000) ?? 10_000,
    max_job_memory_bytes: read.integer('SVC_MAX_JOB_MEMORY_BYTES', MIB, Number.MAX_SAFE_INTEGER) ?? 1024 * MIB,
    job_timeout_seconds: read.integer('SVC_JOB_TIMEOUT_SECONDS', 1, 31_536_000),
    job_retention_days: read.integer('SVC_JOB_RETENTION_DAYS', 1, 36_500) ?? 30,
    max_body_bytes: read.integer('SVC_MAX_BODY_BYTES', KIB, 1024 * MIB) ?? 16 * MIB,
    max_upload_bytes: read.integer('SVC_MAX_UPLOAD_BYTES', KIB, Number.MAX_SAFE_INTEGER) ?? 5 * 1024 * MIB,
    max_temporary_bytes_per_user:
      read.integer('SVC_MAX_TEMPORARY_BYTES_PER_USER', 0, Number.MAX_SAFE_INTEGER) ?? 20 * 1024 * MIB,
    ws_max_message_bytes: read.integer('SVC_WS_MAX_MESSAGE_BYTES', KIB, 1024 * MIB) ?? 32 * MIB,
    ws_rate_limit_disabled: read.flag('SVC_WS_RATE_LIMIT_DISABLED'),
    ws_rate_limit_max: read.integer('SVC_WS_RATE_LIMIT_MAX', 1, 1_000_000) ?? 200,
    ...readAccessSettings(read, listen.host, problems, warnings),
    ...readRateLimitSettings(read),
    ...readModelSettings(read, problems),
    http_node_allow: read.list('SVC_HTTP_NODE_ALLOW').filter((entry) => isValidAllowEntry(entry, read, problems)),
    secrets: readSecrets(environment, problems),
    secrets_master_key: readMasterKey('SECRETS_MASTER_KEY', read.text, problems),
    secrets_master_key_new: readMasterKey('SECRETS_MASTER_KEY_NEW', read.text, problems),
    known_secrets: findEnvironmentSecrets(environment),
    warnings,
  }
  if (problems.length > 0) throw new ConfigError(problems)
  warnings.push(...accessModeWarnings(config), ...storageWarnings(config))
  warnings.push(...rateLimitWarnings(config, listen.host), ...unknownSettingWarnings(environment, read.asked))
  return config
}

function isValidAllowEntry(entry: string, read: SettingsReader, problems: string[]): boolean {
  if (isAllowListEntry(entry)) return true
  const what = 'addresses, ranges such as 10.0.0.0/8, and host names, the first and last with or without a port'
  const name = 'SVC_HTTP_NODE_ALLOW'
  problems.push(`${name} must be a list of ${what}${read.shownEntry(name, entry)}`)
  return false
}

const SECRET = /^SVC_SECRET_(.*)$/s
const SECRET_NAME = 'up to 128 letters, digits and _, and does not begin with a digit'

/** Secret values unchanged: a space at an end may belong to a secret. Empty values count as not set. */
function readSecrets(environment: Environment, problems: string[]): Record<string, string> {
  const found: [string, string][] = []
  for (const [variable, value] of Object.entries(environment)) {
    const name = SECRET.exec(variable)?.[1]
    if (name === undefined || !value?.trim()) continue
    if (isSecretName(name)) found.push([name, value])
    else problems.push(`${variable} must be named SVC_SECRET_<NAME>: a NAME has ${SECRET_NAME}`)
  }
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)))
}

// A problem names only the setting: its value may be most of a secret.
function readMasterKey(name: string, text: (name: string) => string | null, problems: string[]): string | null {
  const value = text(name)
  if (value === null || value.length >= MIN_KEY_LENGTH) return value
  problems.push(`${name} must have at least ${MIN_KEY_LENGTH} characters`)
  return null
}

/** A URL of a database server with user information. As the path of a file, errors would show it. */
const SERVER_URL = /^sqlite:\/\/[^/]*@/

function readDatabaseUrl(value: string | null, problems: string[]): string | null {
  if (value === null || (value.startsWith('sqlite:') && value !== 'sqlite:' && !SERVER_URL.test(value))) return value
  problems.push(`SVC_DATABASE_URL must be sqlite: and the path of a file${describeValue('is', value)}`)
  return null
}
