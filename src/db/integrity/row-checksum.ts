// The checksum of a row: its columns, its computation, and its SQL functions. It covers the name of the table and the values as JavaScript reads
// them, so it also reveals a row that was read from a wrong place.
import { crc32 } from 'node:zlib'
import type { SqliteConnection } from '../connection.ts'
import type { Tables } from '../schema.ts'
import { DamagedRowError } from './damaged-row.ts'

export type TableName = keyof Tables
type ColumnValue = unknown

/**
 * The columns that the checksum of each table covers, in the order of the table. A key that SQLite assigns at the insert is not known before, so such
 * a row has another unique name. A new nullable column must be added at the end; then existing checksums stay valid.
 */
export const CHECKSUM_COLUMNS: { readonly [T in TableName]: readonly (keyof Tables[T] & string)[] } = {
  meta: ['name', 'value'],
  workflow: [
    'id',
    'user_id',
    'workspace_id',
    'name',
    'description',
    'tags',
    'access',
    'graph_sha256',
    'settings',
    'run_mode',
    'etag',
    'revision',
    'created_at',
    'updated_at',
  ],
  workflow_version: ['workflow_id', 'revision', 'name', 'description', 'graph_sha256', 'etag', 'created_at'],
  workflow_share: ['token', 'workflow_id', 'created_at'],
  graph: ['sha256', 'body', 'parts'],
  graph_part: ['sha256', 'at', 'body'],
  job: [
    'key',
    'id',
    'user_id',
    'workspace_id',
    'workflow_id',
    'workflow_etag',
    'workflow_revision',
    'graph_sha256',
    'name',
    'status',
    'request_sha256',
    'options',
    'attempt',
    'last_sequence',
    'error',
    'result',
    'created_at',
    'updated_at',
    'started_at',
    'finished_at',
    'seed',
    'waiting',
    'wake_at',
    'preflight',
    'result_parts',
  ],
  result_part: ['job_key', 'at', 'body'],
  job_journal: ['job_key', 'page', 'attempt', 'body'],
  spilled_value: ['content_key', 'job_key', 'size', 'sha256'],
  idempotency_key: ['user_id', 'workspace', 'key', 'request_sha256', 'job_key', 'created_at'],
  job_tombstone: ['user_id', 'workspace', 'id', 'expired_at'],
  job_event: ['job_key', 'sequence', 'type', 'payload', 'created_at'],
  job_trimmed: ['job_key', 'type', 'name', 'status', 'count'],
  job_doomed: ['job_key'],
  sweep_position: ['sweep', 'finished_at', 'job_key'],
  asset: [
    'id',
    'user_id',
    'workspace_id',
    'parent_id',
    'name',
    'content_type',
    'size',
    'sha256',
    'storage_key',
    'content_key',
    'thumb_key',
    'metadata',
    'previewed',
    'workflow_id',
    'job_id',
    'node_id',
    'created_at',
    'updated_at',
  ],
  deleted_folder: ['user_id', 'workspace', 'id'],
  object: [
    'storage_key',
    'user_id',
    'workspace_id',
    'content_key',
    'content_type',
    'size',
    'sha256',
    'expires_at',
    'created_at',
    'updated_at',
  ],
  access_token: [
    'id',
    'user_id',
    'workspace_id',
    'name',
    'digest',
    'scopes',
    'created_at',
    'expires_at',
    'last_used_at',
  ],
  mcp_token: ['id', 'user_id', 'workspace_id', 'client_id', 'resource', 'digest', 'scopes', 'created_at', 'expires_at'],
  user_secret: ['user_id', 'workspace', 'name', 'body', 'updated_at'],
  user_setting: ['user_id', 'workspace', 'name', 'value', 'updated_at'],
  thread: ['id', 'user_id', 'workspace_id', 'title', 'last_sequence', 'size', 'spoken_at', 'created_at', 'updated_at'],
  message: [
    'thread_key',
    'sequence',
    'id',
    'turn_id',
    'role',
    'content',
    'tool_calls',
    'tool_call_id',
    'status',
    'error',
    'provider',
    'model',
    'workflow_id',
    'job_id',
    'usage',
    'created_at',
  ],
  turn: ['thread_key', 'id', 'provider', 'model', 'workflow_id', 'job_id', 'created_at'],
  draft: ['thread_key', 'at', 'text'],
  model_spending: [
    'day',
    'user_id',
    'workspace',
    'model',
    'currency',
    'calls',
    'input_tokens',
    'output_tokens',
    'amount',
    'own_amount',
  ],
  vector_index: ['user_id', 'workspace', 'name', 'dimensions', 'model', 'count', 'bytes', 'created_at', 'updated_at'],
  vector_entry: ['index_key', 'id', 'bytes', 'metadata', 'vector', 'text'],
}

export const TABLE_NAMES = Object.keys(CHECKSUM_COLUMNS) as TableName[]

/** Longer texts are left to zlib: a call of zlib costs as much as this many characters here. */
const SHORT = 160
const PRIME = 0x01000193
/** Precedes bytes, so that they differ from a text. */
const BYTES = 0xb17e

/** The common bits of all surrogates. */
const SURROGATE_BITS = 0xf800
const SURROGATE = 0xd800

/** A start value for each table, so that a row of one table is not valid in another. */
const SEEDS = new Map<string, number>(TABLE_NAMES.map((table) => [table, crc32(table)]))

/** The UTF-8 bytes of a text of more than SHORT characters. They have the same checksum as the text. */
export class Utf8Text {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

/** The checksum of a row; `valueAt` returns the value of each covered column by its position. */
export function computeRowChecksum(table: TableName, valueAt: (place: number) => ColumnValue): number {
  let sum = SEEDS.get(table)!
  const count = CHECKSUM_COLUMNS[table].length
  for (let place = 0; place < count; place++) {
    const value = valueAt(place)
    // A null column adds nothing, so that columns can be added later.
    if (value === null || value === undefined) continue
    sum = Math.imul(sum ^ (place + 1), PRIME)
    if (typeof value === 'string') sum = hashText(sum, value)
    else if (typeof value === 'number') sum = hashNumber(sum, value)
    else if (value instanceof Utf8Text) sum = crc32(value.bytes, sum >>> 0)
    else sum = crc32(value as Uint8Array, Math.imul(sum ^ BYTES, PRIME) >>> 0)
  }
  return sum >>> 0
}

// Each step is invertible for a given value, so a change at a single place always changes the sum.
function hashText(sum: number, text: string): number {
  const { length } = text
  if (length > SHORT) return crc32(text, sum >>> 0)
  let next = sum
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at)
    // SQLite stores U+FFFD in the place of a lone surrogate, and `crc32` treats it the same way.
    if ((unit & SURROGATE_BITS) === SURROGATE && !text.isWellFormed()) return hashText(sum, text.toWellFormed())
    next = Math.imul(next ^ unit, PRIME)
  }
  return next
}

function hashNumber(sum: number, value: number): number {
  if (!Number.isInteger(value)) return hashText(sum, String(value))
  const low = Math.imul(sum ^ (value | 0), PRIME)
  return Math.imul(low ^ ((value / 0x1_0000_0000) | 0), PRIME)
}

/** @throws DamagedRowError if the row is damaged */
export function verifyRow(table: TableName, row: Readonly<Record<string, unknown>>): void {
  if (!isChecksumValid(table, row)) throw new DamagedRowError(table, row)
}

/** Whether a row, read with all its columns, is undamaged. */
export function isChecksumValid(table: TableName, row: Readonly<Record<string, unknown>>): boolean {
  const columns = CHECKSUM_COLUMNS[table]
  return computeRowChecksum(table, (place) => row[columns[place]!]) === row.checksum
}

/**
 * Registers the SQL functions for triggers and statements: `row_checksum(table, values…)`; `row_sound(table, checksum, values…)`, which is 1 or
 * throws; and `row_rechecksum(table, checksum, places, values…, new values…)`, the checksum of a sound row after the values at some places are
 * replaced.
 */
export function registerChecksumFunctions(db: SqliteConnection): void {
  const options = { deterministic: true, varargs: true, directOnly: false } as const
  db.function('row_checksum', options, (table: unknown, ...values: unknown[]) =>
    computeRowChecksum(table as TableName, (place) => values[place]),
  )
  db.function('row_sound', options, (table: unknown, checksum: unknown, ...values: unknown[]) => {
    verifyValues(table as TableName, checksum, values)
    return 1
  })
  db.function('row_rechecksum', options, (table: unknown, checksum: unknown, places: unknown, ...values: unknown[]) => {
    verifyValues(table as TableName, checksum, values)
    const count = CHECKSUM_COLUMNS[table as TableName].length
    const next = values.slice(0, count)
    for (const [at, place] of String(places).split(',').entries()) next[Number(place)] = values[count + at]
    return computeRowChecksum(table as TableName, (place) => next[place])
  })
}

function verifyValues(table: TableName, checksum: unknown, values: readonly unknown[]): void {
  if (computeRowChecksum(table, (place) => values[place]) === checksum) return
  const row = Object.fromEntries(CHECKSUM_COLUMNS[table].map((name, place) => [name, values[place]]))
  throw new DamagedRowError(table, { ...row, checksum })
}
