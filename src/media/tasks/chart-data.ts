// The values of a chart's columns, read as numbers, times or names. Rows that lack one are left out.
import { cut } from '../../short.ts'
import { MediaFault } from '../fault.ts'
import { cleaned } from './image-text.ts'

export type Kind = 'number' | 'time' | 'category'

/** A column as it is given: its cells, and its name for messages. */
export interface Column {
  readonly name: string
  readonly cells: readonly unknown[]
}

/** How a chart takes a column; `auto`: numbers or times where all of its cells are such, else names. */
export type Taken = Kind | 'auto'

export interface Read {
  readonly kinds: Readonly<Record<string, Kind>>
  /** Under the names of their roles, never of their columns: no name of anybody's is ever part of an expression. */
  readonly values: readonly Readonly<Record<string, number | string>>[]
}

export const MOST_ROWS = 50_000
/** Names of one column: more than can be told apart in a picture. */
const MOST_NAMES = 1_000
/** In characters. */
const LONGEST_NAME = 500

/** What many of them come to is a number still. */
const HIGHEST = 1e300

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i
const TIME = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/i

/** @throws MediaFault `bad_input`, `too_large` */
export function readColumns(columns: Readonly<Record<string, Column>>, taken: Readonly<Record<string, Taken>>): Read {
  const roles = Object.keys(columns)
  const length = columns[roles[0]!]!.cells.length
  if (length > MOST_ROWS)
    throw new MediaFault('too_large', `A chart has at most ${MOST_ROWS.toLocaleString('en')} rows.`)
  const kinds: Record<string, Kind> = {}
  const cells: Record<string, (number | string | null)[]> = {}
  for (const role of roles) {
    const column = columns[role]!
    const kind = taken[role] === 'auto' ? kindOf(column) : (taken[role] as Kind)
    kinds[role] = kind
    cells[role] = column.cells.map((one, at) => (isMissing(one) ? null : READERS[kind](one, column.name, at)))
    if (kind === 'category') guardNames(cells[role], column.name)
  }
  const values: Record<string, number | string>[] = []
  for (let at = 0; at < length; at++) {
    const row = roles.map((role) => [role, cells[role]![at]] as const)
    if (row.every(([, value]) => value !== null))
      values.push(Object.fromEntries(row) as Record<string, number | string>)
  }
  if (values.length === 0)
    throw new MediaFault('bad_input', 'There is nothing to draw: no row has all that the chart needs.')
  return { kinds, values }
}

function isMissing(cell: unknown): boolean {
  return cell === null || cell === undefined || cell === ''
}

function kindOf({ cells }: Column): Kind {
  const there = cells.filter((one) => !isMissing(one))
  if (there.every((one) => numberOf(one) !== null)) return 'number'
  return there.every((one) => timeOf(one) !== null) ? 'time' : 'category'
}

const READERS: Readonly<Record<Kind, (cell: unknown, name: string, at: number) => number | string>> = {
  number: (cell, name, at) => numberOf(cell) ?? wrong(name, at, 'a number that can be drawn'),
  time: (cell, name, at) => timeOf(cell) ?? wrong(name, at, 'a time, such as 2026-01-31 or 2026-01-31T12:00:00Z'),
  category: (cell, name, at) => nameOf(cell) ?? wrong(name, at, 'a text, a number or true or false'),
}

function wrong(name: string, at: number, what: string): never {
  throw new MediaFault('bad_input', `Row ${at + 1} has something in the column "${cut(name, 60)}" that is not ${what}.`)
}

function numberOf(cell: unknown): number | null {
  const value = typeof cell === 'string' && NUMBER.test(cell.trim()) ? Number(cell) : cell
  return typeof value === 'number' && Math.abs(value) <= HIGHEST ? value : null
}

/** In milliseconds since 1970. A time without a zone is in UTC, wherever the machine is. */
function timeOf(cell: unknown): number | null {
  const [all, year, month, day, clock = '00:00', zone = 'Z'] =
    (typeof cell === 'string' && TIME.exec(cell.trim())) || []
  if (all === undefined) return null
  // February has no 30th, which parsing alone would take for a day in March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null
  const time = Date.parse(`${year}-${month}-${day}T${clock}${zone.toUpperCase()}`)
  return Number.isNaN(time) ? null : time
}

function nameOf(cell: unknown): string | null {
  if (typeof cell !== 'string' && typeof cell !== 'number' && typeof cell !== 'boolean') return null
  return cleaned(String(cell))
}

function guardNames(names: readonly unknown[], column: string): void {
  const shown = cut(column, 60)
  if (new Set(names).size > MOST_NAMES + 1)
    throw new MediaFault('too_large', `The column "${shown}" has more than ${MOST_NAMES.toLocaleString('en')} names.`)
  if (names.some((name) => typeof name === 'string' && name.length > LONGEST_NAME))
    throw new MediaFault('too_large', `The column "${shown}" has a name of more than ${LONGEST_NAME} characters.`)
}
