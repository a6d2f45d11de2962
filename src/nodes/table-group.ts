// data.Group and data.Describe: what the rows of a table come to.
import type { NodeType } from '../engine/node-type.ts'
import { kindOf } from '../engine/values.ts'
import { AGGREGATE_NAMES, AGGREGATES, type AggregateName, aggregateName } from './aggregates.ts'
import { option, output } from './define.ts'
import { Keys } from './keys.ts'
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
import { costOfTable } from './table-costs.ts'

/** Rows in groups of the same key, in order of first sight. */
export function groupRows(rows: readonly Row[], by: readonly string[]): Row[][] {
  guardColumns(rows, by)
  budget(MOST_KEYED_CELLS)(rows.length * (by.length + 1))
  const keys = new Keys(by.length)
  const groups: Row[][] = []
  for (const row of rows) {
    const key = keys.add((at) => cell(row, by[at]!))
    if (key === groups.length) groups.push([])
    groups[key]!.push(row)
  }
  return groups
}

/** One value out of a column of some rows. `spend` counts what is compared in all of a firing. */
export function aggregate(rows: readonly Row[], column: string, name: AggregateName, spend: Spend): unknown {
  const values: unknown[] = []
  for (const row of rows) {
    const value = cell(row, column)
    if (value !== null) values.push(value)
  }
  return AGGREGATES[name](values, column, spend)
}

interface Made {
  as: string
  column: string
  /** Null: the number of rows, whatever is in them. */
  name: AggregateName | null
}

/** Called like its column, or `column_sum` where that name is taken or there are several. */
function made(given: Readonly<Record<string, unknown>>, by: readonly string[]): Made[] {
  const keys = new Set(by)
  return Object.entries(given).flatMap(([column, names]) => {
    const isPlain = !Array.isArray(names) && !keys.has(column)
    return (Array.isArray(names) ? names : [names]).map(aggregateName).map((name) => {
      return { as: isPlain ? column : `${column}_${name}`, column, name }
    })
  })
}

interface Group {
  rows: Row[]
  by: string[]
  aggregate: Record<string, unknown>
  count_as: string
}

function group({ rows, by, aggregate: given, count_as }: Group): Row[] {
  guardColumns(rows, Object.keys(given))
  const counted: Made[] = count_as === '' ? [] : [{ as: count_as, column: '', name: null }]
  const columns = [...counted, ...made(given, by)]
  const names = [...by, ...columns.map(({ as }) => as)]
  guardNames(names)
  const groups = by.length === 0 ? [rows] : groupRows(rows, by)
  const spend = budget()
  spend(rows.length * columns.length)
  guardCells(groups.length, names.length)
  return groups.map((group) =>
    rowOf(names, (at) => {
      if (at < by.length) return cell(group[0]!, by[at]!)
      const { column, name } = columns[at - by.length]!
      return name === null ? group.length : aggregate(group, column, name, spend)
    }),
  )
}

/** The one kind of all values, `float` where some numbers are whole, or `mixed`. */
function kindOfAll(values: readonly unknown[]): string | null {
  const kinds = new Set(values.map(kindOf))
  if (kinds.has('float')) kinds.delete('int')
  const [kind = null] = kinds
  return kinds.size > 1 ? 'mixed' : kind
}

function describe(rows: readonly Row[]): Row[] {
  const columns = columnsOf(rows)
  budget(MOST_KEYED_CELLS)(rows.length * columns.length)
  const spend = budget()
  return columns.map((column) => {
    const values = rows.map((row) => cell(row, column)).filter((value) => value !== null)
    const kind = kindOfAll(values)
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

export const tableGroupNodes: NodeType[] = [
  {
    node_type: 'data.Group',
    title: 'Group rows',
    description:
      'Makes one row of all rows that have the same values in some columns, in order of first sight. What is missing is left out; sums are then 0, other results missing.',
    properties: [
      rowsProperty(),
      option(
        'by',
        'list[str]',
        'The columns to group by; without any all rows are one group, also where there are none.',
        { default: [] },
      ),
      option('aggregate', 'dict[str,any]', `Column → one or a list of ${AGGREGATE_NAMES.join(', ')}.`, { default: {} }),
      option('count_as', 'str', 'The column for the number of rows; empty for none.', { default: 'count' }),
    ],
    cost: costOfTable,
    outputs: [output('output', 'list[dict[str,any]]')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as Group
      return { output: group({ rows: readRows(rows), ...others }) }
    },
  },
  {
    node_type: 'data.Describe',
    title: 'Describe table',
    description:
      'Gives a row for each column: its kind, how many values it has and how many are missing, the least and greatest; of numbers also mean, median and deviation.',
    properties: [rowsProperty()],
    cost: costOfTable,
    outputs: [output('output', 'list[dict[str,any]]'), output('rows', 'int')],
    run({ rows }: { rows: Row[] }) {
      return { output: describe(readRows(rows)), rows: rows.length }
    },
  },
]
