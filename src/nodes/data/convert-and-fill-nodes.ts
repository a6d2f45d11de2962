// data.Convert and data.Fill: convert cells to a type, and fill missing cells.

import { suggestName } from '../../engine/node-api/did-you-mean.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { setOwnProperty } from '../../shared/own-property.ts'
import { readDate, writeDate } from '../shared/date-time.ts'
import { guardKeyLength } from '../shared/equality-keys.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { DECIMAL_COMMA, type NumberNotation, parseNumber } from '../shared/number-parsing.ts'
import { costOfTable } from '../shared/table-costs.ts'
import { guardColumns, readCell, rowsProperty, type TableRow, validateRows } from '../shared/table-rows.ts'
import { abbreviate, createStepBudget } from '../shared/value-limits.ts'
import { toText } from '../shared/value-operations.ts'

type CellKind = 'int' | 'float' | 'bool' | 'str' | 'date'

const BOOLEAN_WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  1: true,
  false: false,
  no: false,
  0: false,
}

function toNumber(value: unknown, form: NumberNotation | null): number | undefined {
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'number') return value
  const number = typeof value === 'string' ? parseNumber(value, form) : null
  return number === null || !Number.isFinite(number) ? undefined : number
}

function toBoolean(value: unknown): boolean | undefined {
  const word = typeof value === 'object' ? '' : String(value).trim().toLowerCase()
  return Object.hasOwn(BOOLEAN_WORDS, word) ? BOOLEAN_WORDS[word] : undefined
}

function toDate(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  try {
    return writeDate(readDate(value))
  } catch (error) {
    if (error instanceof NodeError) return undefined
    throw error
  }
}

/** Converts a value to a kind, or gives undefined if that is impossible. Missing values are never passed in. */
const CELL_CONVERTERS: Readonly<Record<CellKind, (value: unknown, form: NumberNotation | null) => unknown>> = {
  int(value, form) {
    const number = toNumber(value, form)
    return Number.isInteger(number) ? number : undefined
  },
  float: toNumber,
  bool: toBoolean,
  str: toText,
  date: toDate,
}

function parseCellKind(name: unknown): CellKind {
  if (typeof name === 'string' && Object.hasOwn(CELL_CONVERTERS, name)) return name as CellKind
  const written = typeof name === 'string' ? abbreviate(name) : getValueKind(name)
  throw new NodeError(
    `"${written}" is not a kind of cell.${suggestName(written, Object.keys(CELL_CONVERTERS))}`,
    'unknown_kind',
  )
}

/** In dates. Reading a date takes some microseconds. */
const MOST_DATES = 100_000

function guardDates(rows: number, kinds: readonly string[]): void {
  if (rows * kinds.filter((kind) => kind === 'date').length <= MOST_DATES) return
  const most = MOST_DATES.toLocaleString('en')
  throw new NodeError(`There are more than ${most} dates to read. Convert the table in parts.`, 'too_large')
}

interface ConvertInputs {
  rows: TableRow[]
  kinds: Record<string, string>
  decimal: string
  invalid: string
}

function convertColumns({ rows, kinds, decimal, invalid }: ConvertInputs): { output: TableRow[]; invalid: number } {
  const form = decimal === ',' ? DECIMAL_COMMA : null
  const wanted = Object.entries(kinds).map(([column, name]) => ({
    column,
    name: parseCellKind(name),
    make: CELL_CONVERTERS[parseCellKind(name)],
  }))
  guardColumns(rows, Object.keys(kinds))
  guardDates(rows.length, Object.values(kinds))
  createStepBudget()(rows.reduce((cells, row) => cells + Object.keys(row).length + wanted.length, 0))
  let wrong = 0
  const made = rows.map((row, index) => {
    const copy = { ...row }
    for (const { column, name, make } of wanted) {
      const value = readCell(row, column)
      const set = (made: unknown) => setOwnProperty(copy, column, made)
      if (value === null || (name !== 'str' && value === '')) set(null)
      else {
        const converted = make(value, form)
        if (converted === undefined && invalid === 'fail') {
          const text = typeof value === 'string' ? `"${abbreviate(value)}"` : getValueKind(value)
          const where = `Column "${abbreviate(column)}" of row ${index + 1}`
          throw new NodeError(`${where} is ${text}, which cannot be converted to ${name}.`, 'bad_input')
        }
        if (converted === undefined) wrong++
        set(converted ?? null)
      }
    }
    return copy
  })
  return { output: made, invalid: wrong }
}

function fillMissingCells(rows: TableRow[], values: TableRow, previous: readonly string[]): TableRow[] {
  const columns = Object.keys(values)
  columns.forEach(guardKeyLength)
  guardColumns(rows, previous)
  const width = columns.length + previous.length
  createStepBudget()(rows.reduce((cells, row) => cells + Object.keys(row).length + width, 0))
  const last = new Map<string, unknown>()
  return rows.map((row) => {
    const copy = { ...row }
    for (const column of previous) {
      const value = readCell(row, column)
      if (value !== null) last.set(column, value)
      else if (last.has(column)) setOwnProperty(copy, column, last.get(column))
    }
    for (const column of columns) if (readCell(copy, column) === null) setOwnProperty(copy, column, values[column])
    return copy
  })
}

export const convertAndFillNodes: NodeType[] = [
  {
    node_type: 'data.Convert',
    title: 'Convert columns',
    description:
      'Converts the cells of some columns, such as those of a CSV file, to numbers, booleans, dates or texts. Empty texts become missing.',
    properties: [
      rowsProperty(),
      requiredProperty('kinds', 'dict[str,str]', `Column → ${Object.keys(CELL_CONVERTERS).join(', ')}.`),
      optionalProperty(
        'decimal',
        createEnumType('.', ','),
        'The decimal separator of numbers. With a comma, points may separate thousands.',
        {
          default: '.',
        },
      ),
      optionalProperty(
        'invalid',
        createEnumType('fail', 'missing'),
        'Whether a cell that cannot be converted fails the node or becomes missing.',
        {
          default: 'fail',
        },
      ),
    ],
    cost: costOfTable,
    outputs: [valueOutput('output', 'list[dict[str,any]]'), valueOutput('invalid', 'int')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as ConvertInputs
      return convertColumns({ rows: validateRows(rows), ...others })
    },
  },
  {
    node_type: 'data.Fill',
    title: 'Fill missing cells',
    description: 'Fills missing cells: first with values of rows before, then with fixed values.',
    properties: [
      rowsProperty(),
      optionalProperty(
        'previous',
        'list[str]',
        'Columns whose missing cells take the value of the nearest row before that has a value.',
        {
          default: [],
        },
      ),
      optionalProperty('values', 'dict[str,any]', 'Column → value.', { default: {} }),
    ],
    cost: (inputs) => costOfTable(inputs, 10),
    outputs: [valueOutput('output', 'list[dict[str,any]]')],
    run: ({ rows, values, previous }: { rows: TableRow[]; values: TableRow; previous: string[] }) => ({
      output: fillMissingCells(validateRows(rows), values, previous),
    }),
  },
]
