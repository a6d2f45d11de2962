// data.Join: joins two tables by columns that their rows have in common.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { KeyIndex } from '../shared/equality-keys.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import { costOfJoin } from '../shared/table-costs.ts'
import {
  createRow,
  guardCells,
  guardColumnNames,
  guardColumns,
  listColumns,
  MOST_TABLE_CELLS,
  readCell,
  rowsProperty,
  type TableRow,
  validateRows,
} from '../shared/table-rows.ts'
import { createStepBudget } from '../shared/value-limits.ts'

const JOIN_TYPES = {
  inner: { left: false, right: false },
  left: { left: true, right: false },
  right: { left: false, right: true },
  full: { left: true, right: true },
}

/** The matches of a row that has none. */
const NO_PLACES: readonly number[] = []

interface JoinInputs {
  left: TableRow[]
  right: TableRow[]
  on: string[]
  left_on: string[]
  right_on: string[]
  how: keyof typeof JOIN_TYPES
  suffix: string
}

/** The columns to compare, of the left and of the right table. */
function resolveJoinKeys({ on, left_on, right_on }: JoinInputs): readonly [string[], string[]] {
  if (on.length > 0 && left_on.length + right_on.length > 0) {
    throw new NodeError('Set either "on", or both "left_on" and "right_on".', 'bad_input')
  }
  const keys = on.length > 0 ? ([on, on] as const) : ([left_on, right_on] as const)
  if (keys[0].length > 0 && keys[0].length === keys[1].length) return keys
  const counts = `${keys[0].length} of the left table and ${keys[1].length} of the right one`
  throw new NodeError(
    `A join needs the same number of columns of both tables, at least one, but got ${counts}.`,
    'bad_input',
  )
}

/** The positions of right rows, by the number of their key. */
function indexByKey(rows: readonly TableRow[], on: readonly string[], keys: KeyIndex): number[][] {
  const found: number[][] = []
  for (const [place, row] of rows.entries()) {
    // A missing value matches nothing, not even another missing value.
    if (hasMissingKey(row, on)) continue
    const number = keys.add((at) => readCell(row, on[at]!))
    if (number === found.length) found.push([])
    found[number]!.push(place)
  }
  return found
}

function hasMissingKey(row: TableRow, columns: readonly string[]): boolean {
  return columns.some((column) => readCell(row, column) === null)
}

interface JoinedColumn {
  as: string
  left: string | null
  right: string | null
}

/** The columns of the result. Keys come from the left table, or from the right table if there is no left row. */
function listJoinedColumns(inputs: JoinInputs, leftOn: readonly string[], rightOn: readonly string[]): JoinedColumn[] {
  const left = [...new Set([...leftOn, ...listColumns(inputs.left)])]
  const right = [...new Set([...rightOn, ...listColumns(inputs.right)])]
  const keys = new Map(leftOn.map((column, at) => [column, rightOn[at]!]))
  const taken = new Set(left)
  const hidden = new Set(rightOn)
  const made = [
    ...left.map((column) => ({ as: column, left: column, right: keys.get(column) ?? null })),
    ...right
      .filter((column) => !hidden.has(column))
      .map((column) => ({ as: taken.has(column) ? column + inputs.suffix : column, left: null, right: column })),
  ]
  guardColumnNames(made.map(({ as }) => as))
  return made
}

function joinTables(inputs: JoinInputs): TableRow[] {
  const { left, right, how } = inputs
  const [leftOn, rightOn] = resolveJoinKeys(inputs)
  guardColumns(left, leftOn)
  guardColumns(right, rightOn)
  createStepBudget(MOST_TABLE_CELLS)((left.length + right.length) * leftOn.length)
  const keys = new KeyIndex(leftOn.length)
  const byKey = indexByKey(right, rightOn, keys)
  const matches = left.map((row) => byKey[keys.find((at) => readCell(row, leftOn[at]!))] ?? NO_PLACES)
  const met = new Set(matches.flatMap((found) => (found.length > 0 ? [found[0]!] : [])))
  const lonely = JOIN_TYPES[how].right ? findUnmatchedRightRows(right, byKey, met) : []
  const least = JOIN_TYPES[how].left ? 1 : 0
  const count = matches.reduce((sum, found) => sum + Math.max(least, found.length), lonely.length)
  const all = listJoinedColumns(inputs, leftOn, rightOn)
  guardCells(count, all.length)
  const names = all.map(({ as }) => as)
  const made: TableRow[] = []
  for (const [at, found] of matches.entries()) {
    for (const place of found) made.push(joinRows(all, names, left[at]!, right[place]!))
    if (found.length === 0 && JOIN_TYPES[how].left) made.push(joinRows(all, names, left[at]!, null))
  }
  for (const row of lonely) made.push(joinRows(all, names, null, row))
  return made
}

/** The right rows that no left row matches. `met` has the first position of each matched key. */
function findUnmatchedRightRows(
  right: readonly TableRow[],
  byKey: readonly number[][],
  met: ReadonlySet<number>,
): TableRow[] {
  const gone = new Set(byKey.filter((found) => met.has(found[0]!)).flat())
  return right.filter((_, place) => !gone.has(place))
}

function joinRows(
  columns: readonly JoinedColumn[],
  names: readonly string[],
  left: TableRow | null,
  right: TableRow | null,
): TableRow {
  return createRow(names, (at) => {
    const column = columns[at]!
    if (left && column.left !== null) return readCell(left, column.left)
    return right && column.right !== null ? readCell(right, column.right) : null
  })
}

const columnsProperty = (name: string, description: string) =>
  optionalProperty(name, 'list[str]', description, { default: [] })

export const joinNodes: NodeType[] = [
  {
    node_type: 'data.Join',
    title: 'Join tables',
    description:
      'Joins rows of two tables that have the same values in some columns. A missing value matches nothing. Rows are in the order of the left table; unmatched right rows follow.',
    properties: [
      rowsProperty('left', 'The rows of the left table.'),
      rowsProperty('right', 'The rows of the right table.'),
      columnsProperty('on', 'The columns to compare, if both tables name them the same.'),
      columnsProperty('left_on', 'The columns of the left table, if the right table names them differently.'),
      columnsProperty('right_on', 'The columns of the right table, in the same order.'),
      optionalProperty(
        'how',
        createEnumType(...Object.keys(JOIN_TYPES)),
        'Which table keeps its unmatched rows: neither (inner), left, right or both (full).',
        {
          default: 'inner',
        },
      ),
      optionalProperty(
        'suffix',
        'str',
        'The suffix for a right column if the left table has a column of the same name.',
        {
          default: '_right',
        },
      ),
    ],
    cost: costOfJoin,
    outputs: [valueOutput('output', 'list[dict[str,any]]')],
    run(inputs) {
      const { left, right, ...others } = inputs as unknown as JoinInputs
      return { output: joinTables({ left: validateRows(left), right: validateRows(right), ...others }) }
    },
  },
]
