// Reads the columns of a chart as numbers, times or names. Rows with a missing value are left out.
import { truncateText } from '../../../shared/text-truncation.ts'
import { MediaFault } from '../../fault.ts'
import { removeControlCharacters } from '../image/text-rendering.ts'

export type ColumnKind = 'number' | 'time' | 'category'

/** A column of the input. Its name is for messages. */
export interface ChartColumn {
  readonly name: string
  readonly cells: readonly unknown[]
}

/** How a chart reads a column. `auto`: as numbers or times where all cells are such, else as names. */
export type ColumnKindChoice = ColumnKind | 'auto'

export interface ChartValues {
  readonly kinds: Readonly<Record<string, ColumnKind>>
  /** By role, not by column name: so no name of a user becomes part of a Vega expression. */
  readonly values: readonly Readonly<Record<string, number | string>>[]
}

export const MOST_CHART_ROWS = 50_000
/** Names of one column: more than an image can show. */
const MOST_NAMES = 1_000
/** In characters. */
const LONGEST_NAME = 500

/** The sum of many such numbers is still finite. */
const GREATEST_NUMBER = 1e300

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i
const TIME = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/i

/** @throws MediaFault `bad_input`, `too_large` */
export function readChartColumns(
  columns: Readonly<Record<string, ChartColumn>>,
  kindChoices: Readonly<Record<string, ColumnKindChoice>>,
): ChartValues {
  const roles = Object.keys(columns)
  const length = columns[roles[0]!]!.cells.length
  if (length > MOST_CHART_ROWS)
    throw new MediaFault('too_large', `A chart has at most ${MOST_CHART_ROWS.toLocaleString('en')} rows.`)
  const kinds: Record<string, ColumnKind> = {}
  const cells: Record<string, (number | string | null)[]> = {}
  for (const role of roles) {
    const column = columns[role]!
    const kind = kindChoices[role] === 'auto' ? detectKind(column) : (kindChoices[role] as ColumnKind)
    kinds[role] = kind
    cells[role] = column.cells.map((one, at) => (isMissing(one) ? null : READERS[kind](one, column.name, at)))
    if (kind === 'category') guardCategories(cells[role], column.name)
  }
  const values: Record<string, number | string>[] = []
  for (let at = 0; at < length; at++) {
    const row = roles.map((role) => [role, cells[role]![at]] as const)
    if (row.every(([, value]) => value !== null))
      values.push(Object.fromEntries(row) as Record<string, number | string>)
  }
  if (values.length === 0)
    throw new MediaFault('bad_input', 'There is nothing to draw: no row has all values that the chart needs.')
  return { kinds, values }
}

function isMissing(cell: unknown): boolean {
  return cell === null || cell === undefined || cell === ''
}

function detectKind({ cells }: ChartColumn): ColumnKind {
  const present = cells.filter((one) => !isMissing(one))
  if (present.every((one) => toNumber(one) !== null)) return 'number'
  return present.every((one) => toTime(one) !== null) ? 'time' : 'category'
}

const READERS: Readonly<Record<ColumnKind, (cell: unknown, name: string, at: number) => number | string>> = {
  number: (cell, name, at) => toNumber(cell) ?? throwWrongCell(name, at, 'a number that can be drawn'),
  time: (cell, name, at) =>
    toTime(cell) ?? throwWrongCell(name, at, 'a time, such as 2026-01-31 or 2026-01-31T12:00:00Z'),
  category: (cell, name, at) => toCategory(cell) ?? throwWrongCell(name, at, 'a text, a number or true or false'),
}

function throwWrongCell(name: string, at: number, what: string): never {
  throw new MediaFault(
    'bad_input',
    `Row ${at + 1} has something in the column "${truncateText(name, 60)}" that is not ${what}.`,
  )
}

function toNumber(cell: unknown): number | null {
  const value = typeof cell === 'string' && NUMBER.test(cell.trim()) ? Number(cell) : cell
  return typeof value === 'number' && Math.abs(value) <= GREATEST_NUMBER ? value : null
}

/** In milliseconds since 1970. A time without a zone is in UTC on every machine. */
function toTime(cell: unknown): number | null {
  const [all, year, month, day, clock = '00:00', zone = 'Z'] =
    (typeof cell === 'string' && TIME.exec(cell.trim())) || []
  if (all === undefined) return null
  // Parsing alone would take 30 February for a day in March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null
  const time = Date.parse(`${year}-${month}-${day}T${clock}${zone.toUpperCase()}`)
  return Number.isNaN(time) ? null : time
}

function toCategory(cell: unknown): string | null {
  if (typeof cell !== 'string' && typeof cell !== 'number' && typeof cell !== 'boolean') return null
  return removeControlCharacters(String(cell))
}

function guardCategories(names: readonly unknown[], column: string): void {
  const shown = truncateText(column, 60)
  if (new Set(names).size > MOST_NAMES + 1)
    throw new MediaFault('too_large', `The column "${shown}" has more than ${MOST_NAMES.toLocaleString('en')} names.`)
  if (names.some((name) => typeof name === 'string' && name.length > LONGEST_NAME))
    throw new MediaFault('too_large', `The column "${shown}" has a name of more than ${LONGEST_NAME} characters.`)
}
