// data.Pivot and data.Unpivot: values of a column become columns, and back.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { kindOf } from '../engine/values.ts'
import { AGGREGATE_NAMES, type AggregateName } from './aggregates.ts'
import { option, output, required } from './define.ts'
import { guardKey } from './keys.ts'
import { budget, shown } from './limits.ts'
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
import { costOfPivot, costOfUnpivot } from './table-costs.ts'
import { aggregate, groupRows } from './table-group.ts'
import { toText } from './values.ts'

interface Pivot {
  rows: Row[]
  index: string[]
  columns: string
  values: string
  aggregate: AggregateName
  fill: unknown
}

/** Rows by the text of what they have in a column, in order of first sight. */
function byText(rows: readonly Row[], column: string): Map<string, Row[]> {
  const found = new Map<string, Row[]>()
  for (const row of rows) {
    const value = cell(row, column)
    if (typeof value === 'object' && value !== null) {
      const text = `Column "${shown(column)}" holds ${kindOf(value)}, of which no names of columns come.`
      throw new NodeError(text, 'bad_input')
    }
    const name = toText(value)
    guardKey(name)
    const group = found.get(name)
    if (group) group.push(row)
    else found.set(name, [row])
  }
  return found
}

/** A row of a pivot is put into a group twice and then summed up: as much work as so many cells of a key. */
const ROWS_GATHERED = 3

function pivot({ rows, index, columns, values, aggregate: how, fill }: Pivot) {
  guardColumns(rows, [...index, columns, values])
  budget(MOST_KEYED_CELLS)(rows.length * (index.length + ROWS_GATHERED))
  const names = [...byText(rows, columns).keys()]
  const all = [...index, ...names]
  guardNames(all)
  const groups = groupRows(rows, index)
  guardCells(groups.length, all.length)
  const spend = budget()
  const made = groups.map((group) => {
    const cells = byText(group, columns)
    return rowOf(all, (at) => {
      if (at < index.length) return cell(group[0]!, index[at]!)
      const found = cells.get(all[at]!)
      return found ? (aggregate(found, values, how, spend) ?? fill) : fill
    })
  })
  return { output: made, columns: all }
}

interface Unpivot {
  rows: Row[]
  columns: string[]
  keep: string[]
  name_as: string
  value_as: string
}

function unpivot({ rows, columns, keep, name_as, value_as }: Unpivot): Row[] {
  guardColumns(rows, [...columns, ...keep])
  const chosen = new Set(columns.length > 0 ? columns : keep)
  const others = columnsOf(rows).filter((column) => !chosen.has(column))
  const turned = columns.length > 0 ? columns : others
  const kept = columns.length > 0 && keep.length === 0 ? others : keep
  if (rows.length > 0 && turned.length === 0) {
    throw new NodeError('No column is left to be turned into rows: keep fewer of them.', 'bad_input')
  }
  const names = [...kept, name_as, value_as]
  guardNames(names)
  guardCells(rows.length * turned.length, names.length)
  return rows.flatMap((row) =>
    turned.map((column) => {
      const ends = [column, cell(row, column)]
      return rowOf(names, (at) => (at < kept.length ? cell(row, kept[at]!) : ends[at - kept.length]))
    }),
  )
}

export const tableShapeNodes: NodeType[] = [
  {
    node_type: 'data.Pivot',
    title: 'Pivot table',
    description:
      'Makes a column of each value that a column has, with one row for all rows that have the same index. Rows and columns are in order of first sight.',
    properties: [
      rowsProperty(),
      option('index', 'list[str]', 'The columns whose values tell rows apart.', { default: [] }),
      required('columns', 'str', 'The column whose values become names of columns.'),
      required('values', 'str', 'The column whose values fill them.'),
      option('aggregate', oneOf(...AGGREGATE_NAMES), 'What becomes of several values in one place.', {
        default: 'sum',
      }),
      option('fill', 'any', 'What stands where there is no value.'),
    ],
    cost: costOfPivot,
    outputs: [output('output', 'list[dict[str,any]]'), output('columns', 'list[str]')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as Pivot
      return pivot({ rows: readRows(rows), ...others })
    },
  },
  {
    node_type: 'data.Unpivot',
    title: 'Unpivot table',
    description: 'Makes a row of each column of a row: its name, its value, and the columns that are kept beside them.',
    properties: [
      rowsProperty(),
      option('columns', 'list[str]', 'The columns that become rows; without any all that are not kept.', {
        default: [],
      }),
      option('keep', 'list[str]', 'The columns to keep in each row; without any all that do not become rows.', {
        default: [],
      }),
      option('name_as', 'str', 'The column for the names.', { default: 'column' }),
      option('value_as', 'str', 'The column for the values.', { default: 'value' }),
    ],
    cost: costOfUnpivot,
    outputs: [output('output', 'list[dict[str,any]]')],
    run(inputs) {
      const { rows, ...others } = inputs as unknown as Unpivot
      return { output: unpivot({ rows: readRows(rows), ...others }) }
    },
  },
]
