// The storage of file bytes outside the data folder: a bucket, named by a URL. Its credentials are settings of their own, never part of the URL.
import type { SettingsReader } from './settings-reader.ts'

/** A bucket of an object storage with the protocol of Amazon S3. */
export interface BucketSettings {
  readonly bucket: string
  /** The prefix of all object names, without slashes at its ends; may be empty. */
  readonly prefix: string
  /** `https://s3.eu-west-1.amazonaws.com` */
  readonly endpoint: string
  readonly region: string
  /** Whether the bucket is in the path of a request, rather than in its host name. */
  readonly path_style: boolean
  readonly credentials: BucketCredentials
}

export interface BucketCredentials {
  readonly access_key_id: string
  readonly secret_access_key: string
  /** Null: the credentials are permanent. */
  readonly session_token: string | null
}

const NAME = 'SVC_STORAGE_URL'
const FORM = 's3://bucket/prefix?endpoint=URL&region=NAME&path_style=true'
const PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region', 'path_style'])
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/
const PREFIX = /^[A-Za-z0-9_~-][\w.~-]*(?:\/[A-Za-z0-9_~-][\w.~-]*)*$/
const LONGEST_PREFIX = 256

/** Null: files are kept only in the data folder. Problems do not repeat the URL, which may contain a secret by mistake. */
export function readStorageSettings(read: SettingsReader, problems: string[]): BucketSettings | null {
  const text = read.text(NAME)
  const credentials = readCredentials(read)
  if (text === null) return null
  const url = URL.parse(text)
  const wrong = url === null ? 'it is not a URL' : findUrlProblem(url)
  if (url === null || wrong !== null) {
    problems.push(`${NAME} must be ${FORM}, where only the bucket is required: ${wrong}`)
    return null
  }
  if (credentials === null) {
    problems.push(`${NAME} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`)
    return null
  }
  const given = url.searchParams
  const region = given.get('region') ?? 'us-east-1'
  const endpoint = given.get('endpoint')
  return {
    bucket: url.hostname,
    prefix: objectPrefix(url),
    endpoint: endpoint === null ? `https://s3.${region}.amazonaws.com` : new URL(endpoint).origin,
    region,
    path_style: (given.get('path_style') ?? String(endpoint !== null)) === 'true',
    credentials,
  }
}

/** One sentence per warning. */
export function storageWarnings({ storage, database_url }: StorageUse): string[] {
  if (storage === null || database_url !== 'sqlite::memory:') return []
  return [`${NAME} has no effect with a database in memory: its files would be lost at the next start`]
}

interface StorageUse {
  readonly storage: BucketSettings | null
  readonly database_url: string | null
}

function readCredentials(read: SettingsReader): BucketCredentials | null {
  const [access_key_id, secret_access_key] = [read.text('AWS_ACCESS_KEY_ID'), read.text('AWS_SECRET_ACCESS_KEY')]
  const session_token = read.text('AWS_SESSION_TOKEN')
  if (access_key_id === null || secret_access_key === null) return null
  return { access_key_id, secret_access_key, session_token }
}

function objectPrefix(url: URL): string {
  return url.pathname.replace(/^\/+|\/+$/g, '')
}

function findUrlProblem(url: URL): string | null {
  const given = url.searchParams
  if (url.username !== '' || url.password !== '')
    return 'credentials belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  if (url.protocol !== 's3:') return 'it must begin with s3://'
  if (!BUCKET.test(url.hostname) || url.port !== '')
    return 'a bucket must have 3 to 63 letters, digits, dots and hyphens'
  const prefix = objectPrefix(url)
  if (prefix !== '' && (!PREFIX.test(prefix) || prefix.length > LONGEST_PREFIX))
    return `a prefix must have up to ${LONGEST_PREFIX} letters, digits and ._~- between single slashes`
  if (url.hash !== '' || [...given.keys()].some((name) => !PARAMETERS.has(name)))
    return `it takes only the parameters ${[...PARAMETERS].join(', ')}`
  if (new Set(given.keys()).size < given.size) return 'each parameter may occur once'
  if (!isEndpoint(given.get('endpoint'))) return 'endpoint must be an http or https URL without a path'
  if (!/^[a-z0-9-]{1,64}$/.test(given.get('region') ?? 'us-east-1')) return 'region must be a name such as eu-west-1'
  return /^(?:true|false)$/.test(given.get('path_style') ?? 'true') ? null : 'path_style must be true or false'
}

function isEndpoint(text: string | null): boolean {
  if (text === null) return true
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return false
  return url.username === '' && url.password === '' && url.pathname === '/' && url.search === '' && url.hash === ''
}
