// Values of Parquet files as workflows have them: nothing is rounded, and no zone of the machine comes in.

import type { SchemaElement } from 'hyparquet'
import { parseFloat16 } from 'hyparquet/src/convert.js'
import { cut } from '../../short.ts'
import { MediaFault } from '../fault.ts'
import { DEEPEST_CELL, MOST_TEXT, MOST_VALUES } from './data-limits.ts'
import { damaged } from './data-parquet-pages.ts'

export interface ValuesAs {
  readonly decimals: 'text' | 'number'
  readonly binary: 'text' | 'base64'
}

export type ReadValue = (raw: unknown, column: string) => unknown

/** How a value of a column is read, which the library gives as its primitive type has it. */
export function valueReader(element: SchemaElement, as: ValuesAs): (raw: unknown) => unknown {
  const read = annotated(element, as) ?? primitive(element, as)
  return (raw) => (raw === null || raw === undefined ? null : read(raw, element.name))
}

type Unit = 'MILLIS' | 'MICROS' | 'NANOS'
const DIGITS: Readonly<Record<Unit, number>> = { MILLIS: 3, MICROS: 6, NANOS: 9 }

const DAY_MS = 86_400_000

function annotated(element: SchemaElement, as: ValuesAs): ReadValue | null {
  const { converted_type: old, logical_type: now } = element
  if (now?.type === 'TIME') return timeReader(now.unit)
  if (now?.type === 'TIMESTAMP') return momentReader(now.unit, now.isAdjustedToUTC)
  const kind = now?.type === 'INTEGER' ? `${now.isSigned ? 'INT' : 'UINT'}_${now.bitWidth}` : (now?.type ?? old ?? '')
  if (kind === 'DECIMAL') return decimalReader((now as { scale?: number })?.scale ?? element.scale ?? 0, as)
  if (kind === 'INTERVAL')
    throw new MediaFault('unsupported', `The column ${element.name} holds intervals, which are not read.`)
  return KINDS[kind] ?? null
}

const KINDS: Readonly<Record<string, ReadValue>> = {
  STRING: textOf,
  UTF8: textOf,
  ENUM: textOf,
  JSON: (raw, column) => JSON.parse(textOf(raw, column)),
  UUID: uuidOf,
  FLOAT16: (raw) => finite(parseFloat16(bytesOf(raw))),
  DATE: (raw) => isoOf(Number(raw) * DAY_MS).split('T')[0],
  TIME_MILLIS: timeReader('MILLIS'),
  TIME_MICROS: timeReader('MICROS'),
  TIMESTAMP_MILLIS: momentReader('MILLIS', true),
  TIMESTAMP_MICROS: momentReader('MICROS', true),
  UINT_32: (raw) => Number(raw) >>> 0,
  UINT_16: (raw) => Number(raw) & 0xffff,
  UINT_8: (raw) => Number(raw) & 0xff,
  UINT_64: (raw) => whole(BigInt.asUintN(64, raw as bigint)),
}

function primitive({ type }: SchemaElement, { binary }: ValuesAs): ReadValue {
  // The library has made nanoseconds since 1970 of these.
  if (type === 'INT96') return momentReader('NANOS', true)
  if (type !== 'BYTE_ARRAY' && type !== 'FIXED_LEN_BYTE_ARRAY') return numberOf
  if (binary === 'base64') return (raw) => Buffer.from(bytesOf(raw)).toString('base64')
  return textOf
}

function numberOf(raw: unknown): unknown {
  if (typeof raw === 'bigint') return whole(raw)
  return typeof raw === 'number' ? finite(raw) : raw
}

/** A whole number that a number cannot tell from its neighbours is the text of its digits. */
function whole(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function finite(value: number | undefined): number | null {
  return Number.isFinite(value) ? value! : null
}

function bytesOf(raw: unknown): Uint8Array {
  if (raw instanceof Uint8Array) return raw
  throw damaged()
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(raw: unknown, column: string): string {
  try {
    return utf8.decode(bytesOf(raw))
  } catch (error) {
    const what = `The column "${cut(column, 100)}" holds bytes that are no text.`
    throw new MediaFault('bad_file', `${what} Read binary columns as base64, or leave it out.`, { cause: error })
  }
}

function uuidOf(raw: unknown): string {
  const hex = Buffer.from(bytesOf(raw)).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function isoOf(milliseconds: number): string {
  const date = new Date(milliseconds)
  if (Number.isNaN(date.getTime())) throw new MediaFault('bad_file', 'A column holds a time that no calendar has.')
  return date.toISOString()
}

/** The part of a second, without zeros at its end. */
function fractionOf(rest: bigint, digits: number): string {
  const written = String(rest).padStart(digits, '0').replace(/0+$/, '')
  return written === '' ? '' : `.${written}`
}

function momentReader(unit: Unit, inUtc: boolean): ReadValue {
  const perSecond = 10n ** BigInt(DIGITS[unit])
  return (raw) => {
    const value = BigInt(raw as bigint | number)
    const rest = ((value % perSecond) + perSecond) % perSecond
    const second = isoOf(Number((value - rest) / perSecond) * 1_000).slice(0, -'.000Z'.length)
    return `${second}${fractionOf(rest, DIGITS[unit])}${inUtc ? 'Z' : ''}`
  }
}

function timeReader(unit: Unit): ReadValue {
  const perSecond = 10n ** BigInt(DIGITS[unit])
  return (raw) => {
    const value = BigInt(raw as bigint | number)
    const seconds = value / perSecond
    if (value < 0n || seconds >= 86_400n) throw new MediaFault('bad_file', 'A column holds a time that no day has.')
    return `${isoOf(Number(seconds) * 1_000).slice(11, 19)}${fractionOf(value % perSecond, DIGITS[unit])}`
  }
}

/** 10^38 is the largest that files have; more digits would only cost. */
const MOST_SCALE = 76

function decimalReader(scale: number, { decimals }: ValuesAs): ReadValue {
  if (!Number.isInteger(scale) || scale < 0 || scale > MOST_SCALE) throw damaged()
  return (raw) => {
    const value = raw instanceof Uint8Array ? signedOf(raw) : BigInt(raw as bigint | number)
    const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
    const point = digits.length - scale
    const text = `${value < 0n ? '-' : ''}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}`
    return decimals === 'number' ? Number(text) : text
  }
}

function signedOf(bytes: Uint8Array): bigint {
  if (bytes.length > MOST_SCALE) throw damaged()
  return bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
}

/**
 * Cells as plain data, nothing of them missing. Many cells may share one value, which is written out for each of them on its way to the server:
 * what they come to together is bounded.
 */
export function plainly(): (value: unknown) => unknown {
  let text = MOST_TEXT
  let values = MOST_VALUES
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
