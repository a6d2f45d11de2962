// data.Pivot and data.Unpivot: turn values of a column into columns, and back.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
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

/** Rows by the text of their value in a column, in order of first appearance. */
function groupByText(rows: readonly TableRow[], column: string): Map<string, TableRow[]> {
  const found = new Map<string, TableRow[]>()
  for (const row of rows) {
    const value = readCell(row, column)
    if (typeof value === 'object' && value !== null) {
      const text = `Column "${abbreviate(column)}" holds ${getValueKind(value)}, which cannot become column names.`
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

/** A row of a pivot is grouped twice and then aggregated, which takes as much work as so many key cells. */
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
    throw new NodeError('No column is left that could become rows. Set fewer columns in keep.', 'bad_input')
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
      'Makes a column for each value of a column, and one row for all rows with the same index. Rows and columns are in order of first appearance.',
    properties: [
      rowsProperty(),
      optionalProperty('index', 'list[str]', 'The columns that identify a row of the result.', { default: [] }),
      requiredProperty('columns', 'str', 'The column whose values become column names.'),
      requiredProperty('values', 'str', 'The column whose values fill the new columns.'),
      optionalProperty(
        'aggregate',
        createEnumType(...AGGREGATE_NAMES),
        'How several values for one cell are combined.',
        {
          default: 'sum',
        },
      ),
      optionalProperty('fill', 'any', 'The value of cells that get no value.'),
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
    description: 'Turns each column of a row into a row with its name, its value, and the kept columns.',
    properties: [
      rowsProperty(),
      optionalProperty(
        'columns',
        'list[str]',
        'The columns that become rows. Without columns: all that are not kept.',
        {
          default: [],
        },
      ),
      optionalProperty(
        'keep',
        'list[str]',
        'The columns to keep in each row. Without columns: all that do not become rows.',
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
