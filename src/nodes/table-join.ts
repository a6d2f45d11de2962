// data.Join: two tables side by side, by what their rows have in common.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { option, output } from './define.ts'
import { Keys } from './keys.ts'
import { budget } from './limits.ts'
import {
  cell,
  columnsOf,
  guardCells,
  guardColumns,
  guardNames,
  MOST_CELLS,
  type Row,
  readRows,
  rowOf,
  rowsProperty,
} from './rows.ts'
import { costOfJoin } from './table-costs.ts'

const HOW = {
  inner: { left: false, right: false },
  left: { left: true, right: false },
  right: { left: false, right: true },
  full: { left: true, right: true },
}

/** The places of rows that meet none. */
const NONE: readonly number[] = []

interface Join {
  left: Row[]
  right: Row[]
  on: string[]
  left_on: string[]
  right_on: string[]
  how: keyof typeof HOW
  suffix: string
}

/** The columns to compare, of the left and of the right table. */
function keysOf({ on, left_on, right_on }: Join): readonly [string[], string[]] {
  if (on.length > 0 && left_on.length + right_on.length > 0) {
    throw new NodeError('Give either "on", or "left_on" and "right_on".', 'bad_input')
  }
  const keys = on.length > 0 ? ([on, on] as const) : ([left_on, right_on] as const)
  if (keys[0].length > 0 && keys[0].length === keys[1].length) return keys
  const counts = `${keys[0].length} of the left table and ${keys[1].length} of the right one`
  throw new NodeError(`A join takes as many columns of both tables, one at least: here are ${counts}.`, 'bad_input')
}

/** The places of the right rows, by the number of their key. */
function places(rows: readonly Row[], on: readonly string[], keys: Keys): number[][] {
  const found: number[][] = []
  for (const [place, row] of rows.entries()) {
    // What is missing is the same as nothing, also when that is missing too.
    if (lacks(row, on)) continue
    const number = keys.add((at) => cell(row, on[at]!))
    if (number === found.length) found.push([])
    found[number]!.push(place)
  }
  return found
}

function lacks(row: Row, columns: readonly string[]): boolean {
  return columns.some((column) => cell(row, column) === null)
}

interface Column {
  as: string
  left: string | null
  right: string | null
}

/** The columns of the result; the keys are those of the left table, filled from the right one where that has no row. */
function columns(inputs: Join, leftOn: readonly string[], rightOn: readonly string[]): Column[] {
  const left = [...new Set([...leftOn, ...columnsOf(inputs.left)])]
  const right = [...new Set([...rightOn, ...columnsOf(inputs.right)])]
  const keys = new Map(leftOn.map((column, at) => [column, rightOn[at]!]))
  const taken = new Set(left)
  const hidden = new Set(rightOn)
  const made = [
    ...left.map((column) => ({ as: column, left: column, right: keys.get(column) ?? null })),
    ...right
      .filter((column) => !hidden.has(column))
      .map((column) => ({ as: taken.has(column) ? column + inputs.suffix : column, left: null, right: column })),
  ]
  guardNames(made.map(({ as }) => as))
  return made
}

function join(inputs: Join): Row[] {
  const { left, right, how } = inputs
  const [leftOn, rightOn] = keysOf(inputs)
  guardColumns(left, leftOn)
  guardColumns(right, rightOn)
  budget(MOST_CELLS)((left.length + right.length) * leftOn.length)
  const keys = new Keys(leftOn.length)
  const byKey = places(right, rightOn, keys)
  const matches = left.map((row) => byKey[keys.find((at) => cell(row, leftOn[at]!))] ?? NONE)
  const met = new Set(matches.flatMap((found) => (found.length > 0 ? [found[0]!] : [])))
  const lonely = HOW[how].right ? rightAlone(right, byKey, met) : []
  const least = HOW[how].left ? 1 : 0
  const count = matches.reduce((sum, found) => sum + Math.max(least, found.length), lonely.length)
  const all = columns(inputs, leftOn, rightOn)
  guardCells(count, all.length)
  const names = all.map(({ as }) => as)
  const made: Row[] = []
  for (const [at, found] of matches.entries()) {
    for (const place of found) made.push(joined(all, names, left[at]!, right[place]!))
    if (found.length === 0 && HOW[how].left) made.push(joined(all, names, left[at]!, null))
  }
  for (const row of lonely) made.push(joined(all, names, null, row))
  return made
}

/** The rows of the right table that no row of the left one has met. `met` has the first place of each key that was. */
function rightAlone(right: readonly Row[], byKey: readonly number[][], met: ReadonlySet<number>): Row[] {
  const gone = new Set(byKey.filter((found) => met.has(found[0]!)).flat())
  return right.filter((_, place) => !gone.has(place))
}

function joined(columns: readonly Column[], names: readonly string[], left: Row | null, right: Row | null): Row {
  return rowOf(names, (at) => {
    const column = columns[at]!
    if (left && column.left !== null) return cell(left, column.left)
    return right && column.right !== null ? cell(right, column.right) : null
  })
}

const ons = (name: string, description: string) => option(name, 'list[str]', description, { default: [] })

export const tableJoinNodes: NodeType[] = [
  {
    node_type: 'data.Join',
    title: 'Join tables',
    description:
      'Puts rows of two tables side by side that have the same values in some columns; a missing value is the same as none. In the order of the left table, then rows of the right one alone.',
    properties: [
      rowsProperty('left', 'The rows of the left table.'),
      rowsProperty('right', 'The rows of the right table.'),
      ons('on', 'The columns to compare, called the same in both tables.'),
      ons('left_on', 'The columns of the left table, where they are called otherwise than in the right one.'),
      ons('right_on', 'The columns of the right table, in the same order.'),
      option('how', oneOf(...Object.keys(HOW)), 'Of which table rows stay that meet none of the other.', {
        default: 'inner',
      }),
      option('suffix', 'str', 'What is put behind the name of a right column that the left table has too.', {
        default: '_right',
      }),
    ],
    cost: costOfJoin,
    outputs: [output('output', 'list[dict[str,any]]')],
    run(inputs) {
      const { left, right, ...others } = inputs as unknown as Join
      return { output: join({ left: readRows(left), right: readRows(right), ...others }) }
    },
  },
]
