// data.Pivot and data.Unpivot: values of a column become columns, and back.
import { NodeError, type NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { guardKeyLength } from '../shared/equality-keys.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { costOfPivot, costOfUnpivot } from '../shared/table-costs.ts'
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
import { abbreviate, createStepBudget } from '../shared/value-limits.ts'
import { toText } from '../shared/value-operations.ts'
import { AGGREGATE_NAMES, type AggregateName } from './aggregates.ts'
import { aggregateColumn, groupRows } from './group-and-describe-nodes.ts'

interface PivotInputs {
  rows: TableRow[]
  index: string[]
  columns: string
  values: string
  aggregate: AggregateName
  fill: unknown
}

/** Rows by the text of what they have in a column, in order of first sight. */
function groupByText(rows: readonly TableRow[], column: string): Map<string, TableRow[]> {
  const found = new Map<string, TableRow[]>()
  for (const row of rows) {
    const value = readCell(row, column)
    if (typeof value === 'object' && value !== null) {
      const text = `Column "${abbreviate(column)}" holds ${getValueKind(value)}, of which no names of columns come.`
      throw new NodeError(text, 'bad_input')
    }
    const name = toText(value)
    guardKeyLength(name)
    const group = found.get(name)
    if (group) group.push(row)
    else found.set(name, [row])
  }
  return found
}

/** A row of a pivot is put into a group twice and then summed up: as much work as so many cells of a key. */
const ROWS_GATHERED = 3

function pivot({ rows, index, columns, values, aggregate: how, fill }: PivotInputs) {
  guardColumns(rows, [...index, columns, values])
  createStepBudget(MOST_KEYED_CELLS)(rows.length * (index.length + ROWS_GATHERED))
  const names = [...groupByText(rows, columns).keys()]
  const all = [...index, ...names]
  guardColumnNames(all)
  const groups = groupRows(rows, index)
  guardCells(groups.length, all.length)
  const spend = createStepBudget()
  const made = groups.map((group) => {
    const cells = groupByText(group, columns)
    return createRow(all, (at) => {
      if (at < index.length) return readCell(group[0]!, index[at]!)
      const found = cells.get(all[at]!)
      return found ? (aggregateColumn(found, values, how, spend) ?? fill) : fill
    })
  })
  return { output: made, columns: all }
}

interface UnpivotInputs {
  rows: TableRow[]
  columns: string[]
  keep: string[]
  name_as: string
  value_as: string
}

function unpivot({ rows, columns, keep, name_as, value_as }: UnpivotInputs): TableRow[] {
  guardColumns(rows, [...columns, ...keep])
  const chosen = new Set(columns.length > 0 ? columns : keep)
  const others = listColumns(rows).filter((column) => !chosen.has(column))
  const turned = columns.length > 0 ? columns : others
  const kept = columns.length > 0 && keep.length === 0 ? others : keep
  if (rows.length > 0 && turned.length === 0) {
    throw new NodeError('No column is left to be turned into rows: keep fewer of them.', 'bad_input')
  }
  const names = [...kept, name_as, value_as]
  guardColumnNames(names)
  guardCells(rows.length * turned.length, names.length)
  return rows.flatMap((row) =>
    turned.map((column) => {
      const ends = [column, readCell(row, column)]
      return createRow(names, (at) => (at < kept.length ? readCell(row, kept[at]!) : ends[at - kept.length]))
    }),
  )
}

export const pivotNodes: NodeType[] = [
  {
    node_type: 'data.Pivot',
    title: 'Pivot table',
    description:
      'Makes a column of each value that a column has, with one row for all rows that have the same index. Rows and columns are in order of first sight.',
    properties: [
      rowsProperty(),
      optionalProperty('index', 'list[str]', 'The columns whose values tell rows apart.', { default: [] }),
      requiredProperty('columns', 'str', 'The column whose values become names of columns.'),
      requiredProperty('values', 'str', 'The column whose values fill them.'),
      optionalProperty(
        'aggregate',
        createEnumType(...AGGREGATE_NAMES),
        'What becomes of several values in one place.',
        {
          default: 'sum',
        },
      ),
      optionalProperty('fill', 'any', 'What stands where there is no value.'),
    ],
    cost: costOfPivot,
    outputs: [valueOutput('output', 'list[dict[str,any]]'), valueOutput('columns', 'list[str]')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as PivotInputs
      return pivot({ rows: validateRows(rows), ...others })
    },
  },
  {
    node_type: 'data.Unpivot',
    title: 'Unpivot table',
    description: 'Makes a row of each column of a row: its name, its value, and the columns that are kept beside them.',
    properties: [
      rowsProperty(),
      optionalProperty('columns', 'list[str]', 'The columns that become rows; without any all that are not kept.', {
        default: [],
      }),
      optionalProperty(
        'keep',
        'list[str]',
        'The columns to keep in each row; without any all that do not become rows.',
        {
          default: [],
        },
      ),
      optionalProperty('name_as', 'str', 'The column for the names.', { default: 'column' }),
      optionalProperty('value_as', 'str', 'The column for the values.', { default: 'value' }),
    ],
    cost: costOfUnpivot,
    outputs: [valueOutput('output', 'list[dict[str,any]]')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as UnpivotInputs
      return { output: unpivot({ rows: validateRows(rows), ...others }) }
    },
  },
]
