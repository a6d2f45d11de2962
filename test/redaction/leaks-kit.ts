// Planted keys, model servers that send back their API keys, and a search for the keys in all outputs and stored data.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type ClaudeScript, claudeEvents, event, startAnthropic } from '../helpers/anthropic-upstream.ts'
import { chunk, type GeminiScript, geminiEvents, startGoogle } from '../helpers/google-upstream.ts'
import { startHub } from '../helpers/hub.ts'
import { type Script, startUpstream, type UpstreamRequest } from '../helpers/upstream.ts'
import type { VendorRequest } from '../helpers/vendor-upstream.ts'

/** Secrets of the operator. None looks like a credential: only known values are found. */
export const KEYS = {
  OPENAI_API_KEY: 'planted-openai-1f9a4711',
  UP_API_KEY: 'planted-up-2e8b4711',
  ANTHROPIC_API_KEY: 'planted-anthropic-3d7c4711',
  GEMINI_API_KEY: 'planted-gemini-4c6d4711',
  HF_TOKEN: 'planted-hub-5b5e4711',
  SVC_SECRET_DOWN_API_KEY: 'planted-down-6a4f4711',
  SVC_SECRET_OTHER: 'planted-other-79304711',
} as const
/** Secrets of the caller. */
export const MINE = { MINE_API_KEY: 'planted-mine-88214711', PLAIN: 'planted-plain-97124711' } as const
/** Credentials that no system issued. */
export const WRONG = 'planted-wrong-a6034711'
/** A public text. */
export const OPEN = 'planted-open-b5f44711'

/** What a model server does, chosen by the last message. */
export const FAULTS = ['refuse', 'deny', 'miss', 'limit', 'fail', 'breaks', 'garbage', 'nonsense', 'header'] as const

const keyOf = ({ headers }: UpstreamRequest | VendorRequest) =>
  String(headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key']).replace('Bearer ', '')

const STATUS: Readonly<Record<string, number>> = { refuse: 400, deny: 401, miss: 404, limit: 429, fail: 500 }
const message = (key: string) => `no model for the key ${key} (Bearer ${key})`
/** The command in a client's message: its first word with a meaning. */
const wordIn = (text: string) => [...FAULTS, 'says', 'tool'].find((one) => text.includes(`please ${one}`)) ?? ''

function openaiScript(request: UpstreamRequest): Script {
  const key = keyOf(request)
  const word = wordIn(request.raw.toString())
  const error = { message: message(key), type: key, param: key, code: key }
  if (word === 'tool' && !request.raw.includes('"role":"tool"'))
    return { tool_calls: [{ name: 'text_Template', arguments: JSON.stringify({ template: `with ${key}` }) }] }
  if (word in STATUS) return { status: STATUS[word]!, error, retry_after: '60' }
  if (word === 'garbage') return { body: `{"choices": "${key}"` }
  if (word === 'nonsense') return { body: JSON.stringify({ error, key }), status: 418 }
  if (word === 'breaks') return { events: [{ choices: [{ index: 0, delta: { content: 'well' } }] }, { error }] }
  if (word === 'header') return { headers: { 'x-key': key, 'set-cookie': `key=${key}`, 'x-request-id': key } }
  return word === 'says' ? { text: ['the key is ', key, '!'] } : {}
}

const CLAUDE_TYPES: Readonly<Record<string, string>> = {
  deny: 'authentication_error',
  miss: 'not_found_error',
  limit: 'rate_limit_error',
  fail: 'api_error',
  breaks: 'overloaded_error',
}

function claudeScript(request: VendorRequest): ClaudeScript {
  const key = keyOf(request)
  const word = wordIn(JSON.stringify(request.json))
  const error = { type: CLAUDE_TYPES[word] ?? 'invalid_request_error', message: message(key) }
  if (word in STATUS) return { status: STATUS[word]!, error, headers: { 'retry-after': '60' } }
  if (word === 'garbage' || word === 'nonsense') return { body: `{"key": "${key}"` }
  if (word === 'breaks') return { events: [...claudeEvents({}).slice(0, 4), event({ type: 'error', error })] }
  return word === 'says' ? { says: [{ text: ['the key is ', key] }] } : { headers: { 'x-key': key } }
}

function geminiScript(request: VendorRequest): GeminiScript {
  const key = keyOf(request)
  const word = wordIn(JSON.stringify(request.json))
  const status = key
  if (word in STATUS) return { error: { code: STATUS[word]!, status, message: message(key) } }
  if (word === 'garbage' || word === 'nonsense') return { body: `{"key": "${key}"` }
  if (word === 'breaks')
    return { events: [geminiEvents({})[0]!, chunk({ error: { code: 400, status, message: message(key) } })] }
  return word === 'says' ? { says: [{ text: 'the key is ' }, { text: key }] } : { headers: { 'x-key': key } }
}

export interface Upstreams extends AsyncDisposable {
  /** Settings of a service that uses all of these servers. */
  readonly environment: Readonly<Record<string, string>>
  /** The received keys, by server. */
  came(): Readonly<Record<string, ReadonlySet<string>>>
}

export async function startUpstreams(): Promise<Upstreams> {
  const models = ['gpt-4o-mini', 'text-embedding-3-small']
  const openai = await startUpstream({ answer: openaiScript, models })
  // The model list of this server fails with the key in its message.
  const down = await startUpstream({ listing: (request) => ({ status: 400, error: { message: keyOf(request) } }) })
  const anthropic = await startAnthropic({ answer: claudeScript, key: KEYS.ANTHROPIC_API_KEY })
  const google = await startGoogle({ answer: geminiScript, key: KEYS.GEMINI_API_KEY })
  const hub = await startHub({ 'maker/model': { 'small.gguf': { bytes: Buffer.from('small') } } })
  hub.key = KEYS.HF_TOKEN
  hub.fault = ({ path, authorization = '' }) =>
    path.includes('broken') ? { status: 400, headers: { 'x-key': authorization, location: authorization } } : undefined
  const all = { openai, down, anthropic, google }
  const servers = ['up', 'mine'].map((name) => `${name}=${openai.base_url}`)
  return {
    environment: {
      ...KEYS,
      SVC_MODEL_SERVERS: [...servers, `down=${down.base_url}`].join(','),
      OPENAI_BASE_URL: openai.base_url,
      ANTHROPIC_BASE_URL: `${anthropic.base_url}/v1`,
      GOOGLE_GEMINI_BASE_URL: `${google.base_url}/v1beta`,
      SVC_MODEL_HUB_URL: hub.url,
      SVC_HTTP_NODE_ALLOW: '127.0.0.0/8',
    },
    came: () => ({
      ...Object.fromEntries(Object.entries(all).map(([name, { requests }]) => [name, new Set(requests.map(keyOf))])),
      hub: new Set(hub.requests.map(({ authorization }) => String(authorization).replace('Bearer ', ''))),
    }),
    async [Symbol.asyncDispose]() {
      for (const one of [...Object.values(all), hub]) await one[Symbol.asyncDispose]()
    },
  }
}

/** Every cell of every table, as `table.column` and its text. */
export function cellsOf(data_dir: string): [place: string, text: string][] {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    const tables = db.prepare("select name from sqlite_master where type = 'table'").pluck().all() as string[]
    return tables.flatMap((table) =>
      (db.prepare(`select * from "${table}"`).all() as Record<string, unknown>[]).flatMap((row) =>
        Object.entries(row).map(([column, value]): [string, string] => [
          `${table}.${column}`,
          Buffer.isBuffer(value) ? value.toString('latin1') : String(value),
        ]),
      ),
    )
  } finally {
    db.close()
  }
}

/** Every file of a folder as text, including the journals of the database. */
export function filesOf(folder: string): [place: string, text: string][] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), 'latin1')])
}

/** Matches the key unchanged, in a URL, and in base64 at any offset. */
function formsOf(key: string): string[] {
  const encoded = [0, 1, 2].map((before) => {
    const text = Buffer.from(`${'x'.repeat(before)}${key}`).toString('base64')
    return text.slice(Math.ceil((before * 4) / 3), -4)
  })
  return [key, encodeURIComponent(key), ...encoded]
}

/** The locations of keys: `place: key (…surrounding text…)`. */
export function found(keys: Iterable<string>, places: Iterable<readonly [place: string, text: string]>): string[] {
  const wanted = [...keys].flatMap((key) => formsOf(key).map((form) => [key, form] as const))
  return [...places].flatMap(([place, text]) =>
    wanted.flatMap(([key, form]) => {
      const at = text.indexOf(form)
      return at < 0 ? [] : [`${place}: ${key} (…${text.slice(Math.max(0, at - 120), at + form.length + 40)}…)`]
    }),
  )
}
