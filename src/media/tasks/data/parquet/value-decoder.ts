// Decodes values of Parquet files for workflows, without rounding and independent of the machine's time zone.

import type { SchemaElement } from 'hyparquet'
import { parseFloat16 } from 'hyparquet/src/convert.js'
import { truncateText } from '../../../../shared/text-truncation.ts'
import { MediaFault } from '../../../fault.ts'
import { DEEPEST_CELL, MOST_TASK_TEXT, MOST_TASK_VALUES } from '../table-limits.ts'
import { damagedParquet } from './pages.ts'

export interface ValueDecodingOptions {
  readonly decimals: 'text' | 'number'
  readonly binary: 'text' | 'base64'
}

export type ValueDecoder = (raw: unknown, column: string) => unknown

/** Makes the decoder of a column. The library gives raw values of the primitive type. */
export function createValueDecoder(element: SchemaElement, as: ValueDecodingOptions): (raw: unknown) => unknown {
  const read = logicalTypeDecoder(element, as) ?? primitiveTypeDecoder(element, as)
  return (raw) => (raw === null || raw === undefined ? null : read(raw, element.name))
}

type Unit = 'MILLIS' | 'MICROS' | 'NANOS'
const DIGITS: Readonly<Record<Unit, number>> = { MILLIS: 3, MICROS: 6, NANOS: 9 }

const DAY_MS = 86_400_000

function logicalTypeDecoder(element: SchemaElement, as: ValueDecodingOptions): ValueDecoder | null {
  const { converted_type: old, logical_type: now } = element
  if (now?.type === 'TIME') return timeDecoder(now.unit)
  if (now?.type === 'TIMESTAMP') return timestampDecoder(now.unit, now.isAdjustedToUTC)
  const kind = now?.type === 'INTEGER' ? `${now.isSigned ? 'INT' : 'UINT'}_${now.bitWidth}` : (now?.type ?? old ?? '')
  if (kind === 'DECIMAL') return decimalDecoder((now as { scale?: number })?.scale ?? element.scale ?? 0, as)
  if (kind === 'INTERVAL')
    throw new MediaFault('unsupported', `The column ${element.name} holds intervals, which are not supported.`)
  return LOGICAL_TYPE_DECODERS[kind] ?? null
}

const LOGICAL_TYPE_DECODERS: Readonly<Record<string, ValueDecoder>> = {
  STRING: decodeUtf8,
  UTF8: decodeUtf8,
  ENUM: decodeUtf8,
  JSON: (raw, column) => JSON.parse(decodeUtf8(raw, column)),
  UUID: formatUuid,
  FLOAT16: (raw) => finiteOrNull(parseFloat16(requireBytes(raw))),
  DATE: (raw) => formatIso(Number(raw) * DAY_MS).split('T')[0],
  TIME_MILLIS: timeDecoder('MILLIS'),
  TIME_MICROS: timeDecoder('MICROS'),
  TIMESTAMP_MILLIS: timestampDecoder('MILLIS', true),
  TIMESTAMP_MICROS: timestampDecoder('MICROS', true),
  UINT_32: (raw) => Number(raw) >>> 0,
  UINT_16: (raw) => Number(raw) & 0xffff,
  UINT_8: (raw) => Number(raw) & 0xff,
  UINT_64: (raw) => toExactInteger(BigInt.asUintN(64, raw as bigint)),
}

function primitiveTypeDecoder({ type }: SchemaElement, { binary }: ValueDecodingOptions): ValueDecoder {
  // The library converts INT96 to nanoseconds since 1970.
  if (type === 'INT96') return timestampDecoder('NANOS', true)
  if (type !== 'BYTE_ARRAY' && type !== 'FIXED_LEN_BYTE_ARRAY') return toPlainNumber
  if (binary === 'base64') return (raw) => Buffer.from(requireBytes(raw)).toString('base64')
  return decodeUtf8
}

function toPlainNumber(raw: unknown): unknown {
  if (typeof raw === 'bigint') return toExactInteger(raw)
  return typeof raw === 'number' ? finiteOrNull(raw) : raw
}

/** An integer beyond the exact range becomes the text of its digits. */
function toExactInteger(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function finiteOrNull(value: number | undefined): number | null {
  return Number.isFinite(value) ? value! : null
}

function requireBytes(raw: unknown): Uint8Array {
  if (raw instanceof Uint8Array) return raw
  throw damagedParquet()
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(raw: unknown, column: string): string {
  try {
    return utf8.decode(requireBytes(raw))
  } catch (error) {
    const what = `The column "${truncateText(column, 100)}" holds bytes that are no text.`
    throw new MediaFault('bad_file', `${what} Read binary columns as base64, or leave it out.`, { cause: error })
  }
}

function formatUuid(raw: unknown): string {
  const hex = Buffer.from(requireBytes(raw)).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function formatIso(milliseconds: number): string {
  const date = new Date(milliseconds)
  if (Number.isNaN(date.getTime())) throw new MediaFault('bad_file', 'A column holds a time that is out of range.')
  return date.toISOString()
}

/** The fraction of a second, without trailing zeros. */
function formatFraction(rest: bigint, digits: number): string {
  const written = String(rest).padStart(digits, '0').replace(/0+$/, '')
  return written === '' ? '' : `.${written}`
}

function timestampDecoder(unit: Unit, inUtc: boolean): ValueDecoder {
  const perSecond = 10n ** BigInt(DIGITS[unit])
  return (raw) => {
    const value = BigInt(raw as bigint | number)
    const rest = ((value % perSecond) + perSecond) % perSecond
    const second = formatIso(Number((value - rest) / perSecond) * 1_000).slice(0, -'.000Z'.length)
    return `${second}${formatFraction(rest, DIGITS[unit])}${inUtc ? 'Z' : ''}`
  }
}

function timeDecoder(unit: Unit): ValueDecoder {
  const perSecond = 10n ** BigInt(DIGITS[unit])
  return (raw) => {
    const value = BigInt(raw as bigint | number)
    const seconds = value / perSecond
    if (value < 0n || seconds >= 86_400n)
      throw new MediaFault('bad_file', 'A column holds a time of day that is out of range.')
    return `${formatIso(Number(seconds) * 1_000).slice(11, 19)}${formatFraction(value % perSecond, DIGITS[unit])}`
  }
}

/** Files have at most 38 digits; more would only cost time. */
const MOST_SCALE = 76

function decimalDecoder(scale: number, { decimals }: ValueDecodingOptions): ValueDecoder {
  if (!Number.isInteger(scale) || scale < 0 || scale > MOST_SCALE) throw damagedParquet()
  return (raw) => {
    const value = raw instanceof Uint8Array ? decodeSigned(raw) : BigInt(raw as bigint | number)
    const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
    const point = digits.length - scale
    const text = `${value < 0n ? '-' : ''}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}`
    return decimals === 'number' ? Number(text) : text
  }
}

function decodeSigned(bytes: Uint8Array): bigint {
  if (bytes.length > MOST_SCALE) throw damagedParquet()
  return bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
}

/**
 * Copies cells as plain data, with null for missing values. The total is limited, since many cells may share one value, and the message to the server
 * repeats it for each of them.
 */
export function createPlainCopier(): (value: unknown) => unknown {
  let text = MOST_TASK_TEXT
  let values = MOST_TASK_VALUES
  return function plain(value: unknown, depth = 0): unknown {
    values--
    if (typeof value === 'string') text -= value.length
    if (values < 0 || text < 0)
      throw new MediaFault('too_large', 'The values are too large together. Read fewer rows or columns.')
    if (typeof value !== 'object' || value === null) return value ?? null
    if (depth >= DEEPEST_CELL)
      throw new MediaFault('too_large', `A cell is nested more than ${DEEPEST_CELL} levels deep.`)
    if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one, depth + 1)]))
  }
}
