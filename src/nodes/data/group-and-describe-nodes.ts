// data.Group and data.Describe: summaries of the rows of a table.
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { KeyIndex } from '../shared/equality-keys.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import { costOfTable } from '../shared/table-costs.ts'
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
import { AGGREGATE_NAMES, AGGREGATES, type AggregateName, parseAggregateName } from './aggregates.ts'

/** Rows in groups of the same key, in order of first appearance. */
export function groupRows(rows: readonly TableRow[], by: readonly string[]): TableRow[][] {
  guardColumns(rows, by)
  createStepBudget(MOST_KEYED_CELLS)(rows.length * (by.length + 1))
  const keys = new KeyIndex(by.length)
  const groups: TableRow[][] = []
  for (const row of rows) {
    const key = keys.add((at) => readCell(row, by[at]!))
    if (key === groups.length) groups.push([])
    groups[key]!.push(row)
  }
  return groups
}

/** Combines a column of some rows into one value. `spend` counts the comparisons of the whole firing. */
export function aggregateColumn(
  rows: readonly TableRow[],
  column: string,
  name: AggregateName,
  spend: StepBudget,
): unknown {
  const values: unknown[] = []
  for (const row of rows) {
    const value = readCell(row, column)
    if (value !== null) values.push(value)
  }
  return AGGREGATES[name](values, column, spend)
}

interface AggregatedColumn {
  as: string
  column: string
  /** Null means the number of rows, whatever they hold. */
  name: AggregateName | null
}

/** The result has the name of its column, or `column_sum` if that name is taken or if the column has several results. */
function listAggregatedColumns(given: Readonly<Record<string, unknown>>, by: readonly string[]): AggregatedColumn[] {
  const keys = new Set(by)
  return Object.entries(given).flatMap(([column, names]) => {
    const isPlain = !Array.isArray(names) && !keys.has(column)
    return (Array.isArray(names) ? names : [names]).map(parseAggregateName).map((name) => {
      return { as: isPlain ? column : `${column}_${name}`, column, name }
    })
  })
}

interface GroupInputs {
  rows: TableRow[]
  by: string[]
  aggregate: Record<string, unknown>
  count_as: string
}

function groupAndAggregate({ rows, by, aggregate: given, count_as }: GroupInputs): TableRow[] {
  guardColumns(rows, Object.keys(given))
  const counted: AggregatedColumn[] = count_as === '' ? [] : [{ as: count_as, column: '', name: null }]
  const columns = [...counted, ...listAggregatedColumns(given, by)]
  const names = [...by, ...columns.map(({ as }) => as)]
  guardColumnNames(names)
  const groups = by.length === 0 ? [rows] : groupRows(rows, by)
  const spend = createStepBudget()
  spend(rows.length * columns.length)
  guardCells(groups.length, names.length)
  return groups.map((group) =>
    createRow(names, (at) => {
      if (at < by.length) return readCell(group[0]!, by[at]!)
      const { column, name } = columns[at - by.length]!
      return name === null ? group.length : aggregateColumn(group, column, name, spend)
    }),
  )
}

/** The kind that all values share, `float` if some numbers are whole, or `mixed`. */
function commonKind(values: readonly unknown[]): string | null {
  const kinds = new Set(values.map(getValueKind))
  if (kinds.has('float')) kinds.delete('int')
  const [kind = null] = kinds
  return kinds.size > 1 ? 'mixed' : kind
}

function describeColumns(rows: readonly TableRow[]): TableRow[] {
  const columns = listColumns(rows)
  createStepBudget(MOST_KEYED_CELLS)(rows.length * columns.length)
  const spend = createStepBudget()
  return columns.map((column) => {
    const values = rows.map((row) => readCell(row, column)).filter((value) => value !== null)
    const kind = commonKind(values)
    const of = (name: AggregateName, fits: boolean) => (fits ? AGGREGATES[name](values, column, spend) : null)
    const isNumber = kind === 'int' || kind === 'float'
    const isOrdered = isNumber || kind === 'str'
    const counts = { count: values.length, missing: rows.length - values.length }
    return {
      ...{ column, kind, ...counts, min: of('min', isOrdered), max: of('max', isOrdered) },
      ...{ mean: of('mean', isNumber), median: of('median', isNumber), deviation: of('deviation', isNumber) },
    }
  })
}

export const groupAndDescribeNodes: NodeType[] = [
  {
    node_type: 'data.Group',
    title: 'Group rows',
    description:
      'Combines all rows with the same values in some columns into one row, in order of first appearance. Missing cells are skipped. Without any value, a sum is 0 and other results are missing.',
    properties: [
      rowsProperty(),
      optionalProperty(
        'by',
        'list[str]',
        'The columns to group by. Without columns all rows form one group, even if there are no rows.',
        { default: [] },
      ),
      optionalProperty(
        'aggregate',
        'dict[str,any]',
        `Column → one name, or a list of names, of ${AGGREGATE_NAMES.join(', ')}.`,
        {
          default: {},
        },
      ),
      optionalProperty('count_as', 'str', 'The column for the number of rows. Empty: no such column.', {
        default: 'count',
      }),
    ],
    cost: costOfTable,
    outputs: [valueOutput('output', 'list[dict[str,any]]')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as GroupInputs
      return { output: groupAndAggregate({ rows: validateRows(rows), ...others }) }
    },
  },
  {
    node_type: 'data.Describe',
    title: 'Describe table',
    description:
      'Gives a row for each column: its kind, its numbers of present and missing values, and the minimum and maximum. Columns of numbers also have mean, median and deviation.',
    properties: [rowsProperty()],
    cost: costOfTable,
    outputs: [valueOutput('output', 'list[dict[str,any]]'), valueOutput('rows', 'int')],
    run({ rows }: { rows: TableRow[] }) {
      return { output: describeColumns(validateRows(rows)), rows: rows.length }
    },
  },
]
