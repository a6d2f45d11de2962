// The task that reads Excel workbooks with read-excel-file: the cells of one sheet, and the names of all sheets.

import { Parser } from 'htmlparser2'
import { readSheet } from 'read-excel-file/universal'
import { truncateText } from '../../../shared/text-truncation.ts'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandler } from '../../task-runner.ts'
import { guardDocumentText, mapDocumentErrors } from './limits-and-errors.ts'
import { type OfficePackage, openPackage, packParts } from './office-package.ts'
import { findElapsedCells } from './xlsx-elapsed-times.ts'

const WHAT = 'The workbook'

/** In a sheet, with empty cells: the library fills the sheet up to its last row and column. */
const MOST_CELLS = 1_000_000
const MOST_ROWS = 1_048_576
const MOST_COLUMNS = 16_384

const WORKBOOK = 'xl/workbook.xml'
const RELATIONS = 'xl/_rels/workbook.xml.rels'

type Cell = string | number | boolean | null

export const readXlsx: MediaTaskHandler = async ([bytes], { sheet }) => {
  const given = await openPackage(bytes!, WHAT)
  if (!given.names.has(WORKBOOK)) throw new MediaFault('unsupported', `${WHAT} is of another kind.`)
  const { sheets, path, number, parts } = await chooseSheet(given, sheet as string | number | null)
  for (const name of given.names)
    if (/^xl\/(?:sharedStrings|styles)\.xml$/i.test(name)) parts.set(name, await given.readXml(name))
  const content = await given.readXml(path)
  // A sheet may contain a chart instead of cells.
  if (!/<(?:\w+:)?worksheet[\s>]/.test(content.slice(0, 10_000)))
    throw new MediaFault('unsupported', `The sheet "${sheets[number - 1]}" has no cells.`)
  guardExtent(content)
  const styles = [...parts.keys()].find((name) => /styles\.xml$/i.test(name))
  const elapsed = findElapsedCells(parts.get(styles ?? ''), content)
  parts.set(path, content)
  const file = await packParts(parts)
  const rows = await mapDocumentErrors(WHAT, () => readSheet(new Uint8Array(file).buffer, number, { trim: false }))
  return { value: { sheets, sheet: sheets[number - 1], cells: toPlainRows(rows, elapsed) } }
}

interface ChosenSheet {
  readonly sheets: string[]
  readonly path: string
  /** The number of the sheet, from 1. */
  readonly number: number
  readonly parts: Map<string, string>
}

async function chooseSheet(given: OfficePackage, wanted: string | number | null): Promise<ChosenSheet> {
  const parts = new Map<string, string>()
  for (const name of [WORKBOOK, RELATIONS]) parts.set(name, await given.readXml(name))
  const all = findElements(parts.get(WORKBOOK)!, 'sheet').filter(({ name }) => name)
  const targets = new Map(findElements(parts.get(RELATIONS)!, 'Relationship').map(({ Id, Target }) => [Id, Target]))
  const sheets = all.map(({ name }) => name!)
  const at = typeof wanted === 'string' ? sheets.indexOf(wanted) : (wanted ?? 1) - 1
  if (!all[at]) {
    const names = sheets.slice(0, 10).map((name) => `"${truncateText(name, 31)}"`)
    throw new MediaFault('bad_input', `${WHAT} has no such sheet. It has: ${names.join(', ')}.`)
  }
  const target = targets.get(all[at].id) ?? ''
  const path = target.startsWith('/') ? target.slice(1) : `xl/${target}`
  if (!given.names.has(path)) throw new MediaFault('unsupported', `The sheet "${sheets[at]}" has no cells.`)
  return { sheets, path, number: at + 1, parts }
}

/** The attributes of all elements with a local name; prefixes are ignored. */
function findElements(xml: string, wanted: string): Record<string, string | undefined>[] {
  const local = (name: string) => name.slice(name.indexOf(':') + 1)
  const found: Record<string, string | undefined>[] = []
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        if (local(name) !== wanted) return
        found.push(Object.fromEntries(Object.entries(attributes).map(([key, value]) => [local(key), value])))
      },
    },
    { xmlMode: true },
  )
  parser.end(xml)
  return found
}

/** The references in which cells and rows state their positions. */
const CELL_REFERENCES = /[\s"']r\s*=\s*["']([A-Za-z]*)(\d*)/g

function guardExtent(xml: string): void {
  let [rows, columns] = [1, 1]
  for (const [, letters, digits] of xml.matchAll(CELL_REFERENCES)) {
    rows = Math.max(rows, Number(digits))
    columns = Math.max(columns, columnNumber(letters!))
  }
  if (rows > MOST_ROWS || columns > MOST_COLUMNS)
    throw new MediaFault('bad_file', `${WHAT} is damaged: it has a cell beyond the last row or column.`)
  guardCells(rows * columns)
}

function guardCells(cells: number): void {
  if (cells <= MOST_CELLS) return
  const most = MOST_CELLS.toLocaleString('en')
  throw new MediaFault('too_large', `The sheet has more than ${most} cells, with the empty ones.`)
}

function columnNumber(letters: string): number {
  let column = 0
  for (const letter of letters.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64
  return column
}

/** The letters of a column; the first column is 0. */
function columnLetters(column: number): string {
  const rest = Math.floor(column / 26)
  return (rest > 0 ? columnLetters(rest - 1) : '') + String.fromCharCode(65 + (column % 26))
}

function toPlainRows(rows: readonly (readonly unknown[])[], elapsed: ReadonlyMap<string, string>): Cell[][] {
  guardCells(rows.length * (rows[0]?.length ?? 0))
  let length = 0
  return rows.map((row, at) =>
    row.map((cell, column) => {
      const shown = elapsed.size > 0 && cell !== null ? elapsed.get(`${columnLetters(column)}${at + 1}`) : undefined
      const value = shown ?? (cell instanceof Date ? formatDate(cell) : (cell as Cell))
      // Each use of a shared text counts: memory holds it once, but the message to the server repeats it.
      if (typeof value === 'string') length += value.length
      guardDocumentText(length)
      return value
    }),
  )
}

/** Spreadsheets count days from a date before this year: an earlier date is a time without a day. */
const FIRST_YEAR = 1900

/** Times of a sheet have no zone. They are stored as fractions of days, and are exact to some microseconds. */
function formatDate(date: Date): string {
  const exact = new Date(Math.round(date.getTime() / 10) * 10)
  if (Number.isNaN(exact.getTime())) throw new MediaFault('bad_file', `${WHAT} is damaged: it has an invalid date.`)
  const [day, time] = exact
    .toISOString()
    .slice(0, -1)
    .replace(/\.000$/, '')
    .split('T') as [string, string]
  if (exact.getUTCFullYear() < FIRST_YEAR) return time
  return time === '00:00:00' ? day : `${day}T${time}`
}
