// Encodes values for Parquet, without rounding or guessing: a value that does not fit the column's type is refused.
import { truncateText } from '../../../../shared/text-truncation.ts'
import { MediaFault } from '../../../fault.ts'
import { cellOf, type TableRow } from '../table-limits.ts'
import type { ParquetColumnType } from './column-types.ts'

type ScalarType = Exclude<ParquetColumnType['kind'], 'list' | 'struct' | 'decimal'>

/** @throws MediaFault `bad_input` */
export function encodeValue(kind: ParquetColumnType, value: unknown, column: string): unknown {
  if (value === null || value === undefined) return null
  const encoded = tryEncode(kind, value, column)
  if (encoded !== undefined) return encoded
  const shown = truncateText(typeof value === 'object' ? JSON.stringify(value) : String(value), 60)
  const what =
    kind.kind === 'decimal' ? `a decimal number of ${kind.scale} places` : TYPE_DESCRIPTIONS[kind.kind as ScalarType]
  throw new MediaFault('bad_input', `The column "${truncateText(column, 100)}" holds "${shown}", which is no ${what}.`)
}

/** Undefined where the value does not fit the type. */
function tryEncode(kind: ParquetColumnType, value: unknown, column: string): unknown {
  if (kind.kind === 'list')
    return Array.isArray(value) ? value.map((one) => encodeValue(kind.item, one, column)) : undefined
  if (kind.kind === 'struct') {
    if (typeof value !== 'object') return undefined
    return Object.fromEntries(
      kind.fields.map(([name, field]) => [name, encodeValue(field, cellOf(value as TableRow, name), column)]),
    )
  }
  return kind.kind === 'decimal' ? toDecimal(value, kind.scale) : SCALAR_ENCODERS[kind.kind](value)
}

const TYPE_DESCRIPTIONS: Readonly<Record<ScalarType, string>> = {
  bool: 'true or false',
  int: 'whole number of 64 bits',
  float: 'number',
  str: 'text',
  json: 'JSON',
  bytes: 'row of bytes',
  date: 'date such as 2026-11-22',
  timestamp: 'time with its offset such as 2026-11-22T10:00:00Z',
}

const SCALAR_ENCODERS: Readonly<Record<ScalarType, (value: unknown) => unknown>> = {
  bool: (value) => (typeof value === 'boolean' ? value : undefined),
  int: toInteger,
  float: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
  str: (value) => (typeof value === 'object' ? undefined : String(value)),
  json: (value) => value,
  bytes: (value) => (value instanceof Uint8Array ? value : undefined),
  date: toDays,
  timestamp: toMicroseconds,
}

const WHOLE = /^-?\d{1,20}$/

function toInteger(value: unknown): bigint | undefined {
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) return undefined
  if (typeof value === 'string' && !WHOLE.test(value)) return undefined
  const whole = BigInt(value as string | number)
  return BigInt.asIntN(64, whole) === whole ? whole : undefined
}

const DAY_MS = 86_400_000

function toDays(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return undefined
  const at = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value) ? at.getTime() / DAY_MS : undefined
}

const MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/

/** In microseconds since 1970. */
function toMicroseconds(value: unknown): bigint | undefined {
  const [, day, time, fraction = '', offset] = (typeof value === 'string' && MOMENT.exec(value)) || []
  if (day === undefined || toDays(day) === undefined) return undefined
  const seconds = Date.parse(`${day}T${time}${offset}`)
  return Number.isNaN(seconds) ? undefined : BigInt(seconds) * 1_000n + BigInt(fraction.padEnd(6, '0'))
}

const DECIMAL = /^(-?)(\d{1,38})(?:\.(\d{1,38}))?$/

/** All digits as one integer, at most 38. */
function toDecimal(value: unknown, scale: number): bigint | undefined {
  const text = typeof value === 'number' ? String(value) : value
  const [, sign, whole, places = ''] = (typeof text === 'string' && DECIMAL.exec(text)) || []
  if (whole === undefined) return undefined
  const kept = places.replace(/0+$/, '')
  const digits = `${whole}${kept.padEnd(scale, '0')}`.replace(/^0+(?=\d)/, '')
  if (kept.length > scale || digits.length > 38) return undefined
  return BigInt(`${sign}${digits}`)
}
