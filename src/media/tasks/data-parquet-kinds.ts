// What the columns of a table hold, as their values tell or as somebody says.
import { cut } from '../../short.ts'
import { MediaFault } from '../fault.ts'
import { cellOf, MOST_COLUMNS, type Row } from './data-limits.ts'

export type Kind =
  | { readonly kind: 'bool' | 'int' | 'float' | 'str' | 'json' | 'bytes' | 'date' | 'timestamp' }
  | { readonly kind: 'decimal'; readonly scale: number }
  | { readonly kind: 'list'; readonly item: Kind }
  | { readonly kind: 'struct'; readonly fields: readonly (readonly [string, Kind])[] }

const TOLD: ReadonlySet<string> = new Set(['bool', 'int', 'float', 'str', 'json', 'date', 'timestamp'])
const MOST_DIGITS = 38

/** @throws MediaFault `bad_input` for a word that says nothing */
export function toldKind(column: string, word: string): Kind {
  if (TOLD.has(word)) return { kind: word } as Kind
  const scale = Number(/^decimal\((\d{1,2})\)$/.exec(word)?.[1] ?? Number.NaN)
  if (scale <= MOST_DIGITS) return { kind: 'decimal', scale }
  throw new MediaFault(
    'bad_input',
    `The column "${cut(column, 100)}" is to be "${cut(word, 100)}": a type is one of ${[...TOLD].join(', ')}, decimal(2).`,
  )
}

/** Deeper values are written as JSON. */
const DEEPEST_KIND = 8

function wordOf(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  if (value instanceof Uint8Array) return 'bytes'
  if (typeof value === 'object') return 'struct'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value !== 'number') return 'str'
  return Number.isSafeInteger(value) ? 'int' : 'float'
}

/**
 * The kind that all values have: missing ones are of any, whole numbers are numbers. Lists and objects that have no common kind are JSON.
 * @throws MediaFault `bad_input` where a column mixes texts, numbers and the like
 */
export function kindOf(column: string, values: readonly unknown[]): Kind {
  const kind = common(values, 0)
  if (kind && leavesOf(kind) <= MOST_COLUMNS) return kind
  const words = [...new Set(values.filter((one) => one !== null).map(wordOf))]
  if (words.every((word) => word === 'list' || word === 'struct')) return { kind: 'json' }
  throw new MediaFault(
    'bad_input',
    `The column "${cut(column, 100)}" holds values of several types (${words.join(', ')}). Say which one it is to have.`,
  )
}

function leavesOf(kind: Kind): number {
  if (kind.kind === 'list') return leavesOf(kind.item)
  return kind.kind === 'struct' ? kind.fields.reduce((sum, [, of]) => sum + leavesOf(of), 0) : 1
}

function common(values: readonly unknown[], depth: number): Kind | null {
  const words = new Set<string>()
  for (const value of values) if (value !== null && value !== undefined) words.add(wordOf(value))
  if (words.has('float')) words.delete('int')
  if (words.size === 0) return { kind: 'str' }
  if (words.size > 1 || depth > DEEPEST_KIND) return null
  const [word] = words
  if (word === 'list') return listOf(values, depth)
  return word === 'struct' ? structOf(values, depth) : ({ kind: word } as Kind)
}

function listOf(values: readonly unknown[], depth: number): Kind | null {
  const item = common((values as unknown[][]).filter(Array.isArray).flat(1), depth + 1)
  return item && { kind: 'list', item }
}

function structOf(values: readonly unknown[], depth: number): Kind | null {
  const objects = values.filter((one) => one !== null && one !== undefined) as Row[]
  const names = new Set(objects.flatMap((one) => Object.keys(one)))
  // A branch without leaves cannot be written; and a name that objects have of themselves could not be read.
  if (names.size === 0 || names.size > MOST_COLUMNS || names.has('__proto__') || names.has('')) return null
  const fields: [string, Kind][] = []
  for (const name of names) {
    const of = common(
      objects.map((one) => cellOf(one, name)),
      depth + 1,
    )
    if (!of) return null
    fields.push([name, of])
  }
  return { kind: 'struct', fields }
}
