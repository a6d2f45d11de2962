// document.ReadXlsx and document.WriteXlsx: read and write tables as Excel workbooks.

import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { isLongerAsJson } from '../../engine/node-api/values/json-length.ts'
import { makeMeasuredSteps } from '../../engine/node-api/values/measure.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { createFileNeedsReader, readFileInput, replaceExtension, runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { createRowsInSteps } from '../shared/table-files.ts'
import {
  guardColumnsInSteps,
  listColumnsInSteps,
  readCell,
  rowsProperty,
  type TableRow,
  validateRows,
} from '../shared/table-rows.ts'
import { toText } from '../shared/value-operations.ts'
import { numberedColumnNames, uniqueColumnNames } from '../text/csv-nodes.ts'

const CONTENT_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/** In cells: about a minute of work for the whole task. */
const MOST_CELLS = 500_000
/** In characters of all cells together. */
const MOST_TEXT = 50_000_000
/** Limits of the file format. */
const MOST_ROWS = 1_048_576
const MOST_COLUMNS = 16_384
const LONGEST_CELL = 32_767
/** In characters of JSON: a value with more has a text that is too long. The 2 are the quotes of a JSON string. */
const LONGEST_CELL_JSON = LONGEST_CELL + 2

type Cell = string | number | boolean | null

interface SheetContent {
  readonly sheets: string[]
  readonly sheet: string
  readonly cells: Cell[][]
}

/** Rows without any value are skipped. */
function* tableSteps(
  cells: readonly Cell[][],
  header_row: number | null,
): Steps<{ rows: TableRow[]; columns: string[] }> {
  const names = header_row === null ? null : (cells[header_row - 1] ?? [])
  const columns = names
    ? uniqueColumnNames(names.map((name) => toText(name)))
    : numberedColumnNames(cells[0]?.length ?? 0)
  const body = cells.slice(header_row ?? 0).filter((row) => row.some((value) => value !== null))
  return { rows: yield* createRowsInSteps({ columns, cells: body }), columns }
}

const SHEET_NAME = /^(?!')[^[\]:*?/\\\p{Cc}]{1,31}(?<!')$/u

function guardSheetName(name: string): void {
  if (SHEET_NAME.test(name)) return
  const text =
    "The name of a sheet must have 1 to 31 characters, without [ ] : * ? / \\, and must not begin or end with '."
  throw new NodeError(text, 'bad_input')
}

function toCell(value: unknown): Cell {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null
  if (typeof value === 'number' && Number.isFinite(value)) return value
  const text = isLongerAsJson(value, LONGEST_CELL_JSON) ? null : toText(value)
  if (text === null || text.length > LONGEST_CELL)
    throw new NodeError(`A cell has more than ${LONGEST_CELL.toLocaleString('en')} characters.`, 'too_large')
  return text
}

/** Cells, or characters of cells, per step. For a list, its JSON is written. */
const CELLS_PER_STEP = 256
const CHARACTERS_PER_STEP = LONGEST_CELL

function* cellSteps(rows: readonly TableRow[], columns: readonly string[], header: boolean): Steps<Cell[][]> {
  const count = rows.length + (header ? 1 : 0)
  if (count > MOST_ROWS || columns.length > MOST_COLUMNS || count * columns.length > MOST_CELLS)
    throw new NodeError(`The sheet would have more than ${MOST_CELLS.toLocaleString('en')} cells.`, 'too_large')
  let length = 0
  const toCountedCell = (value: unknown): Cell => {
    const made = toCell(value)
    length += typeof made === 'string' ? made.length : 0
    if (length > MOST_TEXT) throw new NodeError('The sheet would have more than 50,000,000 characters.', 'too_large')
    return made
  }
  const cells: Cell[][] = header ? [columns.map(toCountedCell)] : []
  let made = 0
  let before = length
  for (const row of rows) {
    const line: Cell[] = []
    for (const column of columns) {
      line.push(toCountedCell(readCell(row, column)))
      if (++made % CELLS_PER_STEP !== 0 && length - before < CHARACTERS_PER_STEP) continue
      before = length
      yield
    }
    cells.push(line)
  }
  return cells
}

/** Throws NodeError `bad_input`, `unknown_column`, `too_large`. */
function* sheetSteps({ rows: given, columns: chosen, header }: WriteXlsxInputs): Steps<Cell[][]> {
  const rows = validateRows(given)
  yield* guardColumnsInSteps(rows, chosen)
  const columns = chosen.length > 0 ? chosen : yield* listColumnsInSteps(rows)
  return yield* makeMeasuredSteps(cellSteps(rows, columns, header))
}

interface WriteXlsxInputs {
  rows: unknown[]
  columns: string[]
  sheet: string
  header: boolean
  name: string
}

export const spreadsheetNodes: NodeType[] = [
  {
    node_type: 'document.ReadXlsx',
    title: 'Read Excel',
    description:
      'Reads a sheet of an Excel workbook (.xlsx) as rows by column. Dates and times are texts such as 2024-02-29, 2024-02-29T12:30:00 or 12:30:00; elapsed times are texts such as 36:00:00. Formulas give their last result. Errors and empty cells are null, and empty rows are skipped. At most 1,000,000 cells.',
    properties: [
      requiredProperty(
        'document',
        'any',
        'A workbook: bytes, a document value, or the URL of an asset or a temporary file.',
      ),
      optionalProperty('sheet', 'union[str,int]?', 'The name of the sheet, or its number from 1. Null: the first.'),
      optionalProperty(
        'header_row',
        'int?',
        'The row with the column names, from 1; rows above it are skipped. Null: there are no names, and the columns are column1, column2 and so on.',
        {
          default: 1,
          min: 1,
          max: 1_000,
        },
      ),
    ],
    outputs: [
      valueOutput('rows', 'list[dict[str,any]]'),
      valueOutput('columns', 'list[str]'),
      valueOutput('sheet', 'str'),
      valueOutput('sheets', 'list[str]'),
    ],
    needs: createFileNeedsReader('document'),
    async run({ document, sheet, header_row }, context) {
      const file = await readFileInput(document, 'The workbook', context)
      const { value } = await runMediaTask('document.readXlsx', [file], { sheet: sheet ?? null }, context)
      const { sheets, sheet: name, cells } = value as SheetContent
      const table = await context.inSlices(tableSteps(cells, header_row as number | null))
      return { ...table, sheet: name, sheets }
    },
  },
  {
    node_type: 'document.WriteXlsx',
    title: 'Write Excel',
    description:
      'Writes rows as an Excel workbook (.xlsx) of one sheet. Texts stay texts and never become formulas or dates. Lists and objects are written as JSON. At most 500,000 cells.',
    properties: [
      rowsProperty(),
      optionalProperty(
        'columns',
        'list[str]',
        'The columns to write, in this order. Without columns all are written, in order of first appearance.',
        {
          default: [],
        },
      ),
      optionalProperty('sheet', 'str', 'The name of the sheet.', { default: 'Sheet1' }),
      optionalProperty('header', 'bool', 'Whether the first row names the columns.', { default: true }),
      optionalProperty('name', 'str', 'The name of the file.', { default: 'table.xlsx' }),
    ],
    outputs: [valueOutput('document', 'document')],
    async run(inputs, context) {
      const given = inputs as unknown as WriteXlsxInputs
      guardSheetName(given.sheet)
      const cells = await context.inSlices(sheetSteps(given))
      const { files } = await runMediaTask(
        'document.writeXlsx',
        [],
        { cells, sheet: given.sheet, header: given.header },
        context,
      )
      const name = replaceExtension(given.name === '' ? 'table' : given.name, 'xlsx')
      return { document: { type: 'document', data: files[0]!, content_type: CONTENT_TYPE, name } }
    },
  },
]
