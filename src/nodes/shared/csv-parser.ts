// Reads CSV by RFC 4180 in one pass as records of cells, with any line endings. It does not know headers.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { guardListLength } from './value-limits.ts'

const QUOTE = '"'
const CARRIAGE_RETURN = '\r'
const LINE_FEED = '\n'

/** In columns. No real table is wider, and objects with more keys are slow to make. */
const MOST_COLUMNS = 10_000

export type CsvRecord = string[]

/** Throws NodeError unless the separator is one character that can separate cells. */
export function guardSeparator(separator: string): void {
  if (separator.length === 1 && !'"\r\n'.includes(separator)) return
  throw new NodeError('The separator must be one character, but not a quote or a line end.', 'bad_input')
}

function guardColumns(count: number): void {
  if (count <= MOST_COLUMNS) return
  throw new NodeError(`A row has more than ${MOST_COLUMNS.toLocaleString('en')} cells.`, 'too_large')
}

function csvSyntaxError(text: string, at: number, what: string): NodeError {
  const line = text.slice(0, at).split(/\r\n|\n|\r/).length
  return new NodeError(`The text is not CSV: ${what} in line ${line}.`, 'bad_csv')
}

/** The position of the closing quote of a quoted cell. */
function findClosingQuote(text: string, opening: number): number {
  let at = text.indexOf(QUOTE, opening + 1)
  while (at >= 0 && text[at + 1] === QUOTE) at = text.indexOf(QUOTE, at + 2)
  if (at < 0) throw csvSyntaxError(text, opening, 'a quoted cell is not closed, which begins')
  return at
}

/** The end of a cell without quotes. */
function findCellEnd(text: string, from: number, separator: string): number {
  let at = from
  while (at < text.length) {
    const character = text[at]
    if (character === separator || character === LINE_FEED || character === CARRIAGE_RETURN) break
    at++
  }
  return at
}

/** The start of the next line if a line ends here, else the same position. */
function skipLineEnd(text: string, at: number): number {
  if (text[at] === CARRIAGE_RETURN) return text[at + 1] === LINE_FEED ? at + 2 : at + 1
  return text[at] === LINE_FEED ? at + 1 : at
}

/**
 * The records of a text. Empty lines are skipped. A quote inside an unquoted cell is an ordinary character. Throws NodeError `bad_csv` with
 * the line.
 */
export function parseCsvRecords(text: string, separator: string): CsvRecord[] {
  const records: CsvRecord[] = []
  let cells: CsvRecord = []
  let at = text.startsWith('\uFEFF') ? 1 : 0
  while (at < text.length) {
    if (cells.length === 0) {
      const next = skipLineEnd(text, at)
      if (next > at) {
        at = next
        continue
      }
    }
    const quoted = text[at] === QUOTE
    const end = quoted ? findClosingQuote(text, at) + 1 : findCellEnd(text, at, separator)
    cells.push(quoted ? text.slice(at + 1, end - 1).replaceAll('""', QUOTE) : text.slice(at, end))
    at = end
    if (text[at] === separator) {
      guardColumns(cells.length + 1)
      at++
      if (at < text.length) continue
      cells.push('')
    }
    const next = skipLineEnd(text, at)
    if (next === at && at < text.length) throw csvSyntaxError(text, at, 'something follows a closing quote')
    records.push(cells)
    guardListLength(records.length, 'The table has', 'rows')
    cells = []
    at = next
  }
  return records
}
