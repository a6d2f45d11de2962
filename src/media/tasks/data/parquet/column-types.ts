// The types of a table's columns, inferred from the values or given by the user.
import { truncateText } from '../../../../shared/text-truncation.ts'
import { MediaFault } from '../../../fault.ts'
import { cellOf, MOST_TASK_COLUMNS, type TableRow } from '../table-limits.ts'

export type ParquetColumnType =
  | { readonly kind: 'bool' | 'int' | 'float' | 'str' | 'json' | 'bytes' | 'date' | 'timestamp' }
  | { readonly kind: 'decimal'; readonly scale: number }
  | { readonly kind: 'list'; readonly item: ParquetColumnType }
  | { readonly kind: 'struct'; readonly fields: readonly (readonly [string, ParquetColumnType])[] }

const NAMED_TYPES: ReadonlySet<string> = new Set(['bool', 'int', 'float', 'str', 'json', 'date', 'timestamp'])
const MOST_DIGITS = 38

/** @throws MediaFault `bad_input` for an unknown type */
export function parseColumnType(column: string, word: string): ParquetColumnType {
  if (NAMED_TYPES.has(word)) return { kind: word } as ParquetColumnType
  const scale = Number(/^decimal\((\d{1,2})\)$/.exec(word)?.[1] ?? Number.NaN)
  if (scale <= MOST_DIGITS) return { kind: 'decimal', scale }
  throw new MediaFault(
    'bad_input',
    `The column "${truncateText(column, 100)}" has the unknown type "${truncateText(word, 100)}". Types are ${[...NAMED_TYPES].join(', ')}, decimal(2).`,
  )
}

/** Deeper values are written as JSON. */
const DEEPEST_TYPE = 8

function typeWordOf(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  if (value instanceof Uint8Array) return 'bytes'
  if (typeof value === 'object') return 'struct'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value !== 'number') return 'str'
  return Number.isSafeInteger(value) ? 'int' : 'float'
}

/**
 * The common type of all values: a missing value fits every type, and integers fit floats. Lists and objects without a common type become JSON.
 * @throws MediaFault `bad_input` where a column mixes types, such as texts and numbers
 */
export function inferColumnType(column: string, values: readonly unknown[]): ParquetColumnType {
  const kind = inferCommonType(values, 0)
  if (kind && countLeaves(kind) <= MOST_TASK_COLUMNS) return kind
  const words = [...new Set(values.filter((one) => one !== null).map(typeWordOf))]
  if (words.every((word) => word === 'list' || word === 'struct')) return { kind: 'json' }
  throw new MediaFault(
    'bad_input',
    `The column "${truncateText(column, 100)}" holds values of several types (${words.join(', ')}). Set its type.`,
  )
}

function countLeaves(kind: ParquetColumnType): number {
  if (kind.kind === 'list') return countLeaves(kind.item)
  return kind.kind === 'struct' ? kind.fields.reduce((sum, [, of]) => sum + countLeaves(of), 0) : 1
}

function inferCommonType(values: readonly unknown[], depth: number): ParquetColumnType | null {
  const words = new Set<string>()
  for (const value of values) if (value !== null && value !== undefined) words.add(typeWordOf(value))
  if (words.has('float')) words.delete('int')
  if (words.size === 0) return { kind: 'str' }
  if (words.size > 1 || depth > DEEPEST_TYPE) return null
  const [word] = words
  if (word === 'list') return inferListType(values, depth)
  return word === 'struct' ? inferStructType(values, depth) : ({ kind: word } as ParquetColumnType)
}

function inferListType(values: readonly unknown[], depth: number): ParquetColumnType | null {
  const item = inferCommonType((values as unknown[][]).filter(Array.isArray).flat(1), depth + 1)
  return item && { kind: 'list', item }
}

function inferStructType(values: readonly unknown[], depth: number): ParquetColumnType | null {
  const objects = values.filter((one) => one !== null && one !== undefined) as TableRow[]
  const names = new Set(objects.flatMap((one) => Object.keys(one)))
  // Parquet cannot store a branch without leaves, and an object cannot have `__proto__` as a plain key.
  if (names.size === 0 || names.size > MOST_TASK_COLUMNS || names.has('__proto__') || names.has('')) return null
  const fields: [string, ParquetColumnType][] = []
  for (const name of names) {
    const of = inferCommonType(
      objects.map((one) => cellOf(one, name)),
      depth + 1,
    )
    if (!of) return null
    fields.push([name, of])
  }
  return { kind: 'struct', fields }
}
