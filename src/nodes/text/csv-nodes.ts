// text.ParseCsv and text.FormatCsv: read and write tables, which are lists of objects, as CSV. shared/csv-parser.ts reads records.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { type CsvRecord, guardSeparator, parseCsvRecords } from '../shared/csv-parser.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from '../shared/node-type-builders.ts'
import { costOfCsv, costOfTable } from '../shared/table-costs.ts'
import { guardListLength, guardTextLength } from '../shared/value-limits.ts'
import { toText } from '../shared/value-operations.ts'

type Row = Record<string, unknown>
export type LineEnd = 'lf' | 'crlf'

export const LINE_ENDS: Readonly<Record<LineEnd, string>> = { lf: '\n', crlf: '\r\n' }

/** In cells: so many are read in about a second. Short rows are filled up, so a table may have far more cells than its text. */
const MOST_CELLS = 2_000_000

/** Column names that are neither empty nor equal. */
export function uniqueColumnNames(header: CsvRecord): string[] {
  const taken = new Set<string>(header)
  const seen = new Set<string>()
  const copies = new Map<string, number>()
  return header.map((cell, index) => {
    const wanted = cell === '' ? `column${index + 1}` : cell
    if (cell !== '' && !seen.has(cell)) {
      seen.add(cell)
      return cell
    }
    let name = wanted
    for (let copy = copies.get(wanted) ?? 2; taken.has(name); copy++) {
      name = `${wanted}_${copy}`
      copies.set(wanted, copy + 1)
    }
    taken.add(name)
    return name
  })
}

export function numberedColumnNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `column${index + 1}`)
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** The value of a cell. Codes such as 007 and whole numbers beyond 2^53 stay texts. */
function parseCell(cell: string): unknown {
  if (cell === '') return null
  if (cell === 'true' || cell === 'false') return cell === 'true'
  if (!NUMBER.test(cell)) return cell
  const number = Number(cell)
  const lossless = Number.isSafeInteger(number) || (!Number.isInteger(number) && Number.isFinite(number))
  return lossless ? number : cell
}

function guardCells(rows: number, columns: number): void {
  if (rows * columns <= MOST_CELLS) return
  const most = MOST_CELLS.toLocaleString('en')
  throw new NodeError(`The table would have more than ${most} cells. Read it in parts.`, 'too_large')
}

/** A row by its columns. `__proto__` is a valid column name, which plain assignment would ignore. */
function createRow(columns: readonly string[], valueAt: (at: number) => unknown): Row {
  if (columns.includes('__proto__')) return Object.fromEntries(columns.map((name, at) => [name, valueAt(at)]))
  const row: Row = {}
  for (let at = 0; at < columns.length; at++) row[columns[at]!] = valueAt(at)
  return row
}

/** The rows of a text. Throws NodeError `bad_csv`, `bad_input`, `too_large`. */
export function parseCsvTable(
  text: string,
  separator: string,
  header: boolean,
  convert: boolean,
): { rows: Row[]; columns: string[] } {
  guardSeparator(separator)
  const records = parseCsvRecords(text, separator)
  const widest = records.reduce((most, cells) => Math.max(most, cells.length), 0)
  const columns = header ? uniqueColumnNames(records[0] ?? []) : numberedColumnNames(widest)
  const body = header ? records.slice(1) : records
  guardCells(body.length, columns.length)
  const long = body.findIndex((cells) => cells.length > columns.length)
  if (long >= 0) {
    const message = `Row ${long + 1} has ${body[long]!.length} cells, but the table has ${columns.length} columns.`
    throw new NodeError(`${message} Is the separator right?`, 'bad_csv')
  }
  const missing = convert ? null : ''
  const value = convert ? parseCell : (cell: string) => cell
  const rows = body.map((cells) => createRow(columns, (at) => (at < cells.length ? value(cells[at]!) : missing)))
  return { rows, columns }
}

/** All keys of the rows, in order of first appearance. */
export function collectColumnNames(rows: readonly Row[]): string[] {
  const keys = new Set<string>()
  for (const row of rows) {
    for (const key of Object.keys(row)) keys.add(key)
    guardListLength(keys.size, 'The table would have', 'columns')
  }
  return [...keys]
}

/** Rows as a text. Throws NodeError `bad_input`, `too_large`. */
export function formatCsvTable(
  rows: readonly Row[],
  columns: readonly string[],
  separator: string,
  header: boolean,
  end: string,
): string {
  guardSeparator(separator)
  // Every cell is followed by at least one character.
  guardTextLength((rows.length + (header ? 1 : 0)) * Math.max(1, columns.length))
  const special = (text: string) =>
    text.includes('"') || text.includes(separator) || text.includes('\n') || text.includes('\r')
  let length = 0
  function cell(value: unknown): string {
    const text = toText(value)
    const written = special(text) ? `"${text.replaceAll('"', '""')}"` : text
    length += written.length + 1
    guardTextLength(length)
    return written
  }
  function line(cells: readonly unknown[]): string {
    // An empty line would not be read as a row.
    const written = cells.map(cell).join(separator) || (cells.length === 1 ? '""' : '')
    length += 3
    return written + end
  }
  const head = header && columns.length > 0 ? [line(columns)] : []
  const body = columns.length > 0 ? rows.map((row) => line(columns.map((name) => readOwnCell(row, name)))) : []
  guardTextLength(length)
  return [...head, ...body].join('')
}

function readOwnCell(row: Row, name: string): unknown {
  return Object.hasOwn(row, name) ? row[name] : null
}

function guardRows(rows: readonly unknown[]): void {
  const wrong = rows.findIndex((row) => typeof row !== 'object' || row === null || Array.isArray(row))
  if (wrong >= 0)
    throw new NodeError(
      `Row ${wrong + 1} is not an object. Each row must be an object with a key for each column.`,
      'bad_input',
    )
}

type ParseCsvInputs = {
  text: string
  header: boolean
  separator: string
  convert: boolean
}

type FormatCsvInputs = {
  rows: Row[]
  columns: string[] | null
  header: boolean
  separator: string
  line_end: LineEnd
}

const separatorProperty = () => optionalProperty('separator', 'str', 'The character between cells.', { default: ',' })

export const csvNodes: NodeType[] = [
  {
    node_type: 'text.ParseCsv',
    title: 'Read CSV',
    description:
      'Reads a table from CSV (RFC 4180): rows as objects by column, and the columns in their order. Short rows are filled up, and empty lines are skipped. Empty or repeated column names are replaced by unique ones.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty(
        'header',
        'bool',
        'Takes the column names from the first row; else they are column1, column2 and so on.',
        {
          default: true,
        },
      ),
      separatorProperty(),
      optionalProperty(
        'convert',
        'bool',
        'Converts cells that look like numbers, true or false. Empty cells become missing.',
        {
          default: false,
        },
      ),
    ],
    cost: costOfCsv,
    outputs: [valueOutput('rows', 'list[dict[str,any]]'), valueOutput('columns', 'list[str]')],
    converts: [typeConversion('str', 'list[dict]', 'reads its rows as CSV')],
    run: ({ text, header, separator, convert }: ParseCsvInputs) => parseCsvTable(text, separator, header, convert),
  },
  {
    node_type: 'text.FormatCsv',
    title: 'Write CSV',
    description:
      'Writes rows, which are objects by column, as CSV (RFC 4180). Cells with separators, quotes or line ends are quoted; lists and objects in cells become JSON.',
    properties: [
      requiredProperty('rows', 'list[dict[str,any]]', 'The rows.'),
      optionalProperty(
        'columns',
        'list[str]?',
        'The columns to write, in this order. Without it all columns are written, in order of first appearance.',
      ),
      optionalProperty('header', 'bool', 'Writes the names of the columns in a first line.', { default: true }),
      separatorProperty(),
      optionalProperty('line_end', createEnumType('lf', 'crlf'), 'The line ending.', { default: 'lf' }),
    ],
    cost: costOfTable,
    outputs: [valueOutput('output', 'str')],
    converts: [typeConversion('list[dict]', 'str', 'writes the rows as CSV')],
    run({ rows, columns, header, separator, line_end }: FormatCsvInputs) {
      guardRows(rows)
      return {
        output: formatCsvTable(rows, columns ?? collectColumnNames(rows), separator, header, LINE_ENDS[line_end]),
      }
    },
  },
]
