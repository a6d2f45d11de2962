// data.Convert and data.Fill: cells made what they should be.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { hint } from '../engine/suggest.ts'
import { oneOf } from '../engine/types.ts'
import { kindOf } from '../engine/values.ts'
import { setMember } from '../members.ts'
import { option, output, required } from './define.ts'
import { guardKey } from './keys.ts'
import { budget, shown } from './limits.ts'
import { readDate, writeDate } from './moments.ts'
import { COMMA, type NumberForm, readNumber } from './number-text.ts'
import { cell, guardColumns, type Row, readRows, rowsProperty } from './rows.ts'
import { costOfTable } from './table-costs.ts'
import { toText } from './values.ts'

type Kind = 'int' | 'float' | 'bool' | 'str' | 'date'

const TRUTHS: Readonly<Record<string, boolean>> = { true: true, yes: true, 1: true, false: false, no: false, 0: false }

function numberOf(value: unknown, form: NumberForm | null): number | undefined {
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'number') return value
  const number = typeof value === 'string' ? readNumber(value, form) : null
  return number === null || !Number.isFinite(number) ? undefined : number
}

function truthOf(value: unknown): boolean | undefined {
  const word = typeof value === 'object' ? '' : String(value).trim().toLowerCase()
  return Object.hasOwn(TRUTHS, word) ? TRUTHS[word] : undefined
}

function dateOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  try {
    return writeDate(readDate(value))
  } catch (error) {
    if (error instanceof NodeError) return undefined
    throw error
  }
}

/** A value as one of a kind, or undefined where it is none. What is missing comes here never. */
const KINDS: Readonly<Record<Kind, (value: unknown, form: NumberForm | null) => unknown>> = {
  int(value, form) {
    const number = numberOf(value, form)
    return Number.isInteger(number) ? number : undefined
  },
  float: numberOf,
  bool: truthOf,
  str: toText,
  date: dateOf,
}

function kind(name: unknown): Kind {
  if (typeof name === 'string' && Object.hasOwn(KINDS, name)) return name as Kind
  const written = typeof name === 'string' ? shown(name) : kindOf(name)
  throw new NodeError(`"${written}" is no kind of cell.${hint(written, Object.keys(KINDS))}`, 'unknown_kind')
}

/** Reading one costs some microseconds. */
const MOST_DATES = 100_000

function guardDates(rows: number, kinds: readonly string[]): void {
  if (rows * kinds.filter((kind) => kind === 'date').length <= MOST_DATES) return
  const most = MOST_DATES.toLocaleString('en')
  throw new NodeError(`There are more than ${most} dates to read. Convert the table in parts.`, 'too_large')
}

interface Convert {
  rows: Row[]
  kinds: Record<string, string>
  decimal: string
  invalid: string
}

function convert({ rows, kinds, decimal, invalid }: Convert): { output: Row[]; invalid: number } {
  const form = decimal === ',' ? COMMA : null
  const wanted = Object.entries(kinds).map(([column, name]) => ({ column, name: kind(name), make: KINDS[kind(name)] }))
  guardColumns(rows, Object.keys(kinds))
  guardDates(rows.length, Object.values(kinds))
  budget()(rows.reduce((cells, row) => cells + Object.keys(row).length + wanted.length, 0))
  let wrong = 0
  const made = rows.map((row, index) => {
    const copy = { ...row }
    for (const { column, name, make } of wanted) {
      const value = cell(row, column)
      const set = (made: unknown) => setMember(copy, column, made)
      if (value === null || (name !== 'str' && value === '')) set(null)
      else {
        const converted = make(value, form)
        if (converted === undefined && invalid === 'fail') {
          const text = typeof value === 'string' ? `"${shown(value)}"` : kindOf(value)
          const where = `Column "${shown(column)}" of row ${index + 1}`
          throw new NodeError(`${where} is ${text}, of which no ${name} comes.`, 'bad_input')
        }
        if (converted === undefined) wrong++
        set(converted ?? null)
      }
    }
    return copy
  })
  return { output: made, invalid: wrong }
}

function fill(rows: Row[], values: Row, previous: readonly string[]): Row[] {
  const columns = Object.keys(values)
  columns.forEach(guardKey)
  guardColumns(rows, previous)
  const width = columns.length + previous.length
  budget()(rows.reduce((cells, row) => cells + Object.keys(row).length + width, 0))
  const last = new Map<string, unknown>()
  return rows.map((row) => {
    const copy = { ...row }
    for (const column of previous) {
      const value = cell(row, column)
      if (value !== null) last.set(column, value)
      else if (last.has(column)) setMember(copy, column, last.get(column))
    }
    for (const column of columns) if (cell(copy, column) === null) setMember(copy, column, values[column])
    return copy
  })
}

export const tableCleanNodes: NodeType[] = [
  {
    node_type: 'data.Convert',
    title: 'Convert columns',
    description:
      'Makes numbers, yes or no, dates or texts of the cells of some columns, such as those of a CSV file. Empty texts become missing.',
    properties: [
      rowsProperty(),
      required('kinds', 'dict[str,str]', `Column → ${Object.keys(KINDS).join(', ')}.`),
      option(
        'decimal',
        oneOf('.', ','),
        'What parts the fraction of numbers; with a comma, points may part thousands.',
        {
          default: '.',
        },
      ),
      option('invalid', oneOf('fail', 'missing'), 'What becomes of cells of which no such value comes.', {
        default: 'fail',
      }),
    ],
    cost: costOfTable,
    outputs: [output('output', 'list[dict[str,any]]'), output('invalid', 'int')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as Convert
      return convert({ rows: readRows(rows), ...others })
    },
  },
  {
    node_type: 'data.Fill',
    title: 'Fill missing cells',
    description: 'Puts values where there are none: first those of the row before, then fixed ones.',
    properties: [
      rowsProperty(),
      option('previous', 'list[str]', 'Columns that take the value of the nearest row before that has one.', {
        default: [],
      }),
      option('values', 'dict[str,any]', 'Column → value.', { default: {} }),
    ],
    cost: (inputs) => costOfTable(inputs, 10),
    outputs: [output('output', 'list[dict[str,any]]')],
    run: ({ rows, values, previous }: { rows: Row[]; values: Row; previous: string[] }) => ({
      output: fill(readRows(rows), values, previous),
    }),
  },
]
