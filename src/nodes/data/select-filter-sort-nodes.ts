// data.*: select, filter and sort tables, which are lists of rows (objects by column). join-node.ts joins, group-and-describe-nodes.ts
// groups, pivot-nodes.ts pivots, and convert-and-fill-nodes.ts cleans tables.
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { setOwnProperty } from '../../shared/own-property.ts'
import { guardKeyLength, KeyIndex } from '../shared/equality-keys.ts'
import { costOfFilter, costOfFormula } from '../shared/firing-costs.ts'
import { parseFormula } from '../shared/formula/parser.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { costOfConditions, costOfTable } from '../shared/table-costs.ts'
import {
  createRow,
  guardCells,
  guardColumnNames,
  guardColumns,
  listColumns,
  MOST_KEYED_CELLS,
  readCell,
  rowsProperty,
  type TableRow,
  validateRows,
} from '../shared/table-rows.ts'
import { createStepBudget, type StepBudget } from '../shared/value-limits.ts'
import { areEqual } from '../shared/value-operations.ts'
import { evaluateRows, FORMULA_RULES } from './row-formulas.ts'
import { sortRows } from './row-sorting.ts'
import { checkRegexPatterns, costlyPatterns, createTextFilter, type TextConditions } from './text-conditions.ts'

const resultOutput = () => valueOutput('output', 'list[dict[str,any]]')

interface SelectInputs {
  rows: TableRow[]
  columns: string[]
  invert: boolean
  rename: Record<string, string>
}

function selectColumns({ rows, columns, invert, rename }: SelectInputs): TableRow[] {
  guardColumns(rows, columns)
  guardColumns(rows, Object.keys(rename))
  const listed = new Set(columns)
  const all = columns.length === 0 || invert
  const wanted = all ? listColumns(rows).filter((column) => !invert || !listed.has(column)) : columns
  const pairs = wanted.map((from) => ({ from, to: Object.hasOwn(rename, from) ? rename[from]! : from }))
  const names = pairs.map(({ to }) => to)
  guardColumnNames(names)
  guardCells(rows.length, pairs.length)
  return rows.map((row) => createRow(names, (at) => readCell(row, pairs[at]!.from)))
}

/** Whether a cell equals the wanted value, or a value of the wanted list. */
function isWanted(value: unknown, wanted: unknown, spend: StepBudget): boolean {
  if (!Array.isArray(wanted)) return areEqual(value, wanted ?? null, spend)
  spend(wanted.length)
  return wanted.some((one) => areEqual(value, one, spend))
}

interface FilterInputs extends TextConditions {
  rows: TableRow[]
  where: TableRow
  present: string[]
  formula: string
}

function filterRows({ rows, where, present, contains, matches, ignore_case, formula, ...inputs }: FilterInputs) {
  const wanted = Object.entries(where)
  guardColumns(rows, [where, contains, matches].flatMap(Object.keys).concat(present))
  const isMeant = createTextFilter({ contains, matches, ignore_case })
  const spend = createStepBudget()
  spend(rows.length * (wanted.length + present.length))
  const results = formula === '' ? null : evaluateRows(formula, rows, inputs)
  const [kept, rest]: [TableRow[], TableRow[]] = [[], []]
  for (const [index, row] of rows.entries()) {
    const isKept =
      wanted.every(([column, value]) => isWanted(readCell(row, column), value, spend)) &&
      present.every((column) => readCell(row, column) !== null) &&
      isMeant(row) &&
      (!results || (results[index] ?? 0) !== 0)
    ;(isKept ? kept : rest).push(row)
  }
  return { output: kept, rest }
}

function removeDuplicateRows(rows: TableRow[], by: string[], keep: string) {
  guardColumns(rows, by)
  const columns = by.length > 0 ? by : listColumns(rows)
  createStepBudget(MOST_KEYED_CELLS)(rows.length * columns.length)
  const keys = new KeyIndex(columns.length)
  const found: TableRow[] = []
  for (const row of rows) {
    const key = keys.add((at) => readCell(row, columns[at]!))
    if (key === found.length || keep === 'last') found[key] = row
  }
  return { output: found, removed: rows.length - found.length }
}

function addColumn(rows: TableRow[], name: string, formula: string, inputs: InputValues): TableRow[] {
  guardKeyLength(name)
  const results = evaluateRows(formula, rows, inputs)
  createStepBudget()(rows.reduce((cells, row) => cells + Object.keys(row).length + 1, 0))
  return rows.map((row, index) => {
    const copy = { ...row }
    setOwnProperty(copy, name, results[index])
    return copy
  })
}

export const selectFilterSortNodes: NodeType[] = [
  {
    node_type: 'data.Select',
    title: 'Select columns',
    description: 'Keeps some columns of a table in the given order, or all other columns, and renames columns.',
    properties: [
      rowsProperty(),
      optionalProperty('columns', 'list[str]', 'The columns. Without columns all are kept.', { default: [] }),
      optionalProperty('invert', 'bool', 'Removes these columns instead of keeping them.', { default: false }),
      optionalProperty('rename', 'dict[str,str]', 'Old name → new name.', { default: {} }),
    ],
    cost: (inputs) => costOfTable(inputs, 10),
    outputs: [resultOutput()],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as SelectInputs
      return { output: selectColumns({ rows: validateRows(rows), ...others }) }
    },
  },
  {
    node_type: 'data.Filter',
    title: 'Filter rows',
    description: 'Keeps the rows that meet all conditions. The other rows go to `rest`.',
    properties: [
      rowsProperty(),
      optionalProperty('where', 'dict[str,any]', 'Column → the value it must have, or a list of values it may have.', {
        default: {},
      }),
      optionalProperty('present', 'list[str]', 'Columns that must not be missing.', { default: [] }),
      optionalProperty('contains', 'dict[str,str]', 'Column → a text that its text must contain.', { default: {} }),
      optionalProperty(
        'matches',
        'dict[str,str]',
        'Column → a pattern, in RE2 syntax, that must match somewhere in its text.',
        {
          default: {},
        },
      ),
      optionalProperty('ignore_case', 'bool', 'Ignores upper and lower case in `contains` and `matches`.', {
        default: false,
      }),
      optionalProperty('formula', 'str', `A condition such as \`price * count > 100\`: ${FORMULA_RULES}.`, {
        default: '',
      }),
    ],
    cost: (inputs) => costOfConditions(inputs, costOfFilter(inputs)),
    expressions: { formula: (own: string) => own !== '' && parseFormula(own), matches: checkRegexPatterns },
    costlyExpressions: { matches: costlyPatterns },
    outputs: [resultOutput(), valueOutput('rest', 'list[dict[str,any]]')],
    supports_dynamic_inputs: true,
    run(inputs) {
      const { rows, ...others } = inputs as unknown as FilterInputs
      return filterRows({ rows: validateRows(rows), ...others })
    },
  },
  {
    node_type: 'data.Sort',
    title: 'Sort rows',
    description:
      'Orders rows by columns, numbers by size and texts by their characters. Rows in which a column is missing come last. Equal rows keep their order.',
    properties: [
      rowsProperty(),
      requiredProperty('by', 'list[str]', 'The columns, the most important first. `-price` sorts in descending order.'),
    ],
    cost: costOfTable,
    outputs: [resultOutput()],
    run: ({ rows, by }: { rows: TableRow[]; by: string[] }) => ({ output: sortRows(validateRows(rows), by) }),
  },
  {
    node_type: 'data.AddColumn',
    title: 'Add column',
    description: 'Adds a column that is calculated from other columns, or replaces a column.',
    properties: [
      rowsProperty(),
      requiredProperty('name', 'str', 'The name of the column.'),
      requiredProperty('formula', 'str', `For instance \`price * count\`: ${FORMULA_RULES}.`),
    ],
    cost: ({ rows, formula }) => costOfFormula(rows, formula),
    expressions: { formula: parseFormula },
    outputs: [resultOutput()],
    supports_dynamic_inputs: true,
    run: ({ rows, name, formula, ...inputs }: InputValues & { rows: TableRow[]; name: string; formula: string }) => ({
      output: addColumn(validateRows(rows), name, formula, inputs),
    }),
  },
  {
    node_type: 'data.Distinct',
    title: 'Distinct rows',
    description: 'Keeps one of all rows with the same values in some columns, in order of first appearance.',
    properties: [
      rowsProperty(),
      optionalProperty('by', 'list[str]', 'The columns to compare. Without columns all are compared.', { default: [] }),
      optionalProperty('keep', createEnumType('first', 'last'), 'Which of the rows stays.', { default: 'first' }),
    ],
    cost: costOfTable,
    outputs: [resultOutput(), valueOutput('removed', 'int')],
    run: ({ rows, by, keep }: { rows: TableRow[]; by: string[]; keep: string }) =>
      removeDuplicateRows(validateRows(rows), by, keep),
  },
]
