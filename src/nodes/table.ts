// data.*: tables, which are lists of rows (dicts by column), cut to what is wanted. Nothing here adds rows: joining is in
// table-join.ts, grouping in table-group.ts, turning in table-shape.ts, cleaning in table-clean.ts.
import type { Inputs, NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { setMember } from '../members.ts'
import { costOfFilter, costOfFormula } from './costs.ts'
import { option, output, required } from './define.ts'
import { formulaOf } from './formula.ts'
import { guardKey, Keys } from './keys.ts'
import { budget, type Spend } from './limits.ts'
import {
  cell,
  columnsOf,
  guardCells,
  guardColumns,
  guardNames,
  MOST_KEYED_CELLS,
  type Row,
  readRows,
  rowOf,
  rowsProperty,
} from './rows.ts'
import { costOfConditions, costOfTable } from './table-costs.ts'
import { evaluateRows, FORMULA_RULES } from './table-formula.ts'
import { sortRows } from './table-sort.ts'
import { costlyPatterns, readPatterns, type TextConditions, textsMeet } from './table-texts.ts'
import { equal } from './values.ts'

const result = () => output('output', 'list[dict[str,any]]')

interface Select {
  rows: Row[]
  columns: string[]
  invert: boolean
  rename: Record<string, string>
}

function select({ rows, columns, invert, rename }: Select): Row[] {
  guardColumns(rows, columns)
  guardColumns(rows, Object.keys(rename))
  const listed = new Set(columns)
  const all = columns.length === 0 || invert
  const wanted = all ? columnsOf(rows).filter((column) => !invert || !listed.has(column)) : columns
  const pairs = wanted.map((from) => ({ from, to: Object.hasOwn(rename, from) ? rename[from]! : from }))
  const names = pairs.map(({ to }) => to)
  guardNames(names)
  guardCells(rows.length, pairs.length)
  return rows.map((row) => rowOf(names, (at) => cell(row, pairs[at]!.from)))
}

/** Whether a cell is the value that is asked for, or among those in a list. */
function isWanted(value: unknown, wanted: unknown, spend: Spend): boolean {
  if (!Array.isArray(wanted)) return equal(value, wanted ?? null, spend)
  spend(wanted.length)
  return wanted.some((one) => equal(value, one, spend))
}

interface Filter extends TextConditions {
  rows: Row[]
  where: Row
  present: string[]
  formula: string
}

function filter({ rows, where, present, contains, matches, ignore_case, formula, ...inputs }: Filter) {
  const wanted = Object.entries(where)
  guardColumns(rows, [where, contains, matches].flatMap(Object.keys).concat(present))
  const isMeant = textsMeet({ contains, matches, ignore_case })
  const spend = budget()
  spend(rows.length * (wanted.length + present.length))
  const results = formula === '' ? null : evaluateRows(formula, rows, inputs)
  const [kept, rest]: [Row[], Row[]] = [[], []]
  for (const [index, row] of rows.entries()) {
    const isKept =
      wanted.every(([column, value]) => isWanted(cell(row, column), value, spend)) &&
      present.every((column) => cell(row, column) !== null) &&
      isMeant(row) &&
      (!results || (results[index] ?? 0) !== 0)
    ;(isKept ? kept : rest).push(row)
  }
  return { output: kept, rest }
}

function distinct(rows: Row[], by: string[], keep: string) {
  guardColumns(rows, by)
  const columns = by.length > 0 ? by : columnsOf(rows)
  budget(MOST_KEYED_CELLS)(rows.length * columns.length)
  const keys = new Keys(columns.length)
  const found: Row[] = []
  for (const row of rows) {
    const key = keys.add((at) => cell(row, columns[at]!))
    if (key === found.length || keep === 'last') found[key] = row
  }
  return { output: found, removed: rows.length - found.length }
}

function addColumn(rows: Row[], name: string, formula: string, inputs: Inputs): Row[] {
  guardKey(name)
  const results = evaluateRows(formula, rows, inputs)
  budget()(rows.reduce((cells, row) => cells + Object.keys(row).length + 1, 0))
  return rows.map((row, index) => {
    const copy = { ...row }
    setMember(copy, name, results[index])
    return copy
  })
}

export const tableNodes: NodeType[] = [
  {
    node_type: 'data.Select',
    title: 'Select columns',
    description: 'Keeps some columns of a table in the given order, or all but those, and renames them.',
    properties: [
      rowsProperty(),
      option('columns', 'list[str]', 'The columns; without any it keeps all.', { default: [] }),
      option('invert', 'bool', 'Leaves these columns out instead of keeping them.', { default: false }),
      option('rename', 'dict[str,str]', 'Old name → new name.', { default: {} }),
    ],
    cost: (inputs) => costOfTable(inputs, 10),
    outputs: [result()],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as Select
      return { output: select({ rows: readRows(rows), ...others }) }
    },
  },
  {
    node_type: 'data.Filter',
    title: 'Filter rows',
    description: 'Keeps the rows that meet every condition that is given; the others are the rest.',
    properties: [
      rowsProperty(),
      option('where', 'dict[str,any]', 'Column → the value it must have, or a list of values it may have.', {
        default: {},
      }),
      option('present', 'list[str]', 'Columns in which something must be.', { default: [] }),
      option('contains', 'dict[str,str]', 'Column → a part that its text must have.', { default: {} }),
      option('matches', 'dict[str,str]', 'Column → a pattern, in RE2 syntax, that must match somewhere in its text.', {
        default: {},
      }),
      option('ignore_case', 'bool', 'Takes capital and small letters as the same in these two.', { default: false }),
      option('formula', 'str', `What must be true, such as \`price * count > 100\`: ${FORMULA_RULES}.`, {
        default: '',
      }),
    ],
    cost: (inputs) => costOfConditions(inputs, costOfFilter(inputs)),
    expressions: { formula: (own: string) => own !== '' && formulaOf(own), matches: readPatterns },
    costlyExpressions: { matches: costlyPatterns },
    outputs: [result(), output('rest', 'list[dict[str,any]]')],
    supports_dynamic_inputs: true,
    run(inputs) {
      const { rows, ...others } = inputs as unknown as Filter
      return filter({ rows: readRows(rows), ...others })
    },
  },
  {
    node_type: 'data.Sort',
    title: 'Sort rows',
    description:
      'Orders rows by columns, numbers by size and texts by their characters. Rows in which a column is missing come last; equal ones keep their order.',
    properties: [
      rowsProperty(),
      required('by', 'list[str]', 'The columns, the most important first; `-price` has the greatest first.'),
    ],
    cost: costOfTable,
    outputs: [result()],
    run: ({ rows, by }: { rows: Row[]; by: string[] }) => ({ output: sortRows(readRows(rows), by) }),
  },
  {
    node_type: 'data.AddColumn',
    title: 'Add column',
    description: 'Adds a column that is calculated from the others, or puts it in the place of one.',
    properties: [
      rowsProperty(),
      required('name', 'str', 'The name of the column.'),
      required('formula', 'str', `For instance \`price * count\`: ${FORMULA_RULES}.`),
    ],
    cost: ({ rows, formula }) => costOfFormula(rows, formula),
    expressions: { formula: formulaOf },
    outputs: [result()],
    supports_dynamic_inputs: true,
    run: ({ rows, name, formula, ...inputs }: Inputs & { rows: Row[]; name: string; formula: string }) => ({
      output: addColumn(readRows(rows), name, formula, inputs),
    }),
  },
  {
    node_type: 'data.Distinct',
    title: 'Distinct rows',
    description: 'Keeps one of all rows that have the same values in some columns, in order of first sight.',
    properties: [
      rowsProperty(),
      option('by', 'list[str]', 'The columns; without any all of them count.', { default: [] }),
      option('keep', oneOf('first', 'last'), 'Which of the rows stays.', { default: 'first' }),
    ],
    cost: costOfTable,
    outputs: [result(), output('removed', 'int')],
    run: ({ rows, by, keep }: { rows: Row[]; by: string[]; keep: string }) => distinct(readRows(rows), by, keep),
  },
]
