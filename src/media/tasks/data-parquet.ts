// Tables out of Parquet files. The library is hyparquet; what a file claims is held against bounds before any of it is unpacked.

import { parquetMetadata, parquetSchema, type RowGroup, type SchemaTree } from 'hyparquet'
import { assembleNested } from 'hyparquet/src/assemble.js'
import { readColumn } from 'hyparquet/src/column.js'
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js'
import { cut } from '../../short.ts'
import { MediaFault } from '../fault.ts'
import type { Made } from '../serving.ts'
import { MOST_CELLS, MOST_ROWS, readable } from './data-limits.ts'
import { compressors } from './data-parquet-compressed.ts'
import { type Chunk, chunkOf, damaged, guardFooter, guardPages, judged, PageBudget } from './data-parquet-pages.ts'
import { guardSchema } from './data-parquet-schema.ts'
import { plainly, type ValuesAs, valueReader } from './data-parquet-values.ts'

export interface Selection extends ValuesAs {
  /** Null: all of them. */
  readonly columns: readonly string[] | null
  readonly from_row: number
  /** Null: to the last. */
  readonly most_rows: number | null
}

/** Rows of one group, counted from its first. */
interface Part {
  readonly group: RowGroup
  readonly rows: number
  readonly from: number
  readonly to: number
}

/** @throws MediaFault `bad_file`, `unsupported`, `too_large`; `bad_input` for columns that are not there */
export function tableOf(bytes: Uint8Array, selection: Selection): Made {
  return judged(() => {
    guardFooter(bytes)
    const metadata = parquetMetadata(bytes, { geoparquet: false })
    guardSchema(metadata.schema)
    const trees = chosen(parquetSchema(metadata).children, selection.columns)
    const { parts, all } = partsOf(metadata.row_groups, selection)
    const columns = trees.map(({ element }) => element.name)
    return { value: { columns, cells: cellsOf(bytes, trees, parts, selection), rows: all } }
  })
}

function cellsOf(bytes: Uint8Array, trees: SchemaTree[], parts: Part[], as: ValuesAs): unknown[][] {
  const count = parts.reduce((sum, { from, to }) => sum + to - from, 0)
  guardSize(count, trees.length)
  const budget = new PageBudget()
  // All is looked at before anything is unpacked.
  const plans = parts.map((part) =>
    trees.map((tree) => leavesOf(tree).map((path) => planOf(bytes, part, path, budget))),
  )
  const plain = plainly()
  const cells = Array.from({ length: count }, () => new Array<unknown>(trees.length).fill(null))
  let first = 0
  for (const [index, part] of parts.entries()) {
    const rows = part.to - part.from
    for (const [column, tree] of trees.entries()) {
      const values = columnOf(tree, plans[index]![column]!, part, as)
      for (let row = 0; row < rows; row++) cells[first + row]![column] = plain(values[row])
    }
    first += rows
  }
  return cells
}

function guardSize(rows: number, columns: number): void {
  if (rows <= MOST_ROWS && rows * columns <= MOST_CELLS) return
  throw new MediaFault(
    'too_large',
    `The table has more than ${readable(MOST_ROWS)} rows or ${readable(MOST_CELLS)} cells. Read fewer rows or columns.`,
  )
}

function chosen(trees: readonly SchemaTree[], columns: readonly string[] | null): SchemaTree[] {
  if (columns === null) return [...trees]
  return columns.map((name) => {
    const tree = trees.find(({ element }) => element.name === name)
    if (!tree) throw new MediaFault('bad_input', `The file has no column "${cut(name, 100)}".`)
    return tree
  })
}

/** A count that a file tells, as a number that is one. */
function counted(value: bigint): number {
  if (typeof value !== 'bigint' || value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged()
  return Number(value)
}

function partsOf(groups: readonly RowGroup[], { from_row, most_rows }: Selection): { parts: Part[]; all: number } {
  const end = most_rows === null ? Number.POSITIVE_INFINITY : from_row + most_rows
  let start = 0
  const parts: Part[] = []
  for (const group of groups) {
    const rows = counted(group.num_rows)
    const from = Math.max(0, from_row - start)
    const to = Math.min(rows, end - start)
    if (from < to) parts.push({ group, rows, from, to })
    start += rows
  }
  return { parts, all: start }
}

/** The paths from the root to each column that holds values. */
function leavesOf(tree: SchemaTree, above: readonly SchemaTree[] = []): SchemaTree[][] {
  const path = [...above, tree]
  return tree.children.length === 0 ? [path] : tree.children.flatMap((child) => leavesOf(child, path))
}

interface Plan {
  readonly chunk: Chunk
  readonly path: readonly SchemaTree[]
}

function planOf(bytes: Uint8Array, { group, rows }: Part, path: readonly SchemaTree[], budget: PageBudget): Plan {
  const leaf = path.at(-1)!
  const name = leaf.path.join('.')
  const column = group.columns.find(({ meta_data }) => meta_data?.path_in_schema.join('.') === name)
  if (!column?.meta_data) throw damaged()
  const chunk = chunkOf(bytes, column.meta_data, leaf.element)
  guardPages(chunk, path.length === 1 && leaf.element.repetition_type !== 'REPEATED' ? rows : null, budget)
  return { chunk, path }
}

const ROOT = { count: 0, children: [], path: [], element: { name: 'root' } } as SchemaTree

/** The values of one row after the other, from a part's first to its last. */
function columnOf(
  tree: SchemaTree,
  plans: readonly Plan[],
  { rows, from, to }: Part,
  as: ValuesAs,
): ArrayLike<unknown> {
  const read = plans.map(({ chunk, path }): [string, unknown[]] => {
    const leaf = path.at(-1)!
    const value = valueReader(leaf.element, as)
    const decoder = {
      pathInSchema: leaf.path,
      // Values are ours to read: the library is told that all of them are moments, and how a moment is read.
      element: { ...leaf.element, converted_type: undefined, logical_type: MOMENT },
      schemaPath: [ROOT, ...path],
      type: chunk.meta.type,
      codec: chunk.meta.codec,
      compressors,
      utf8: false,
      parsers: { ...DEFAULT_PARSERS, timestampFromMilliseconds: value, timestampFromNanoseconds: value } as never,
    }
    const range = { groupStart: 0, groupRows: rows, selectStart: from, selectEnd: to }
    const { data, skipped } = readColumn({ view: chunk.view, offset: 0 }, range, decoder)
    const values = data.flatMap((some) => Array.from(some as ArrayLike<unknown>))
    if (skipped > from || skipped + values.length < to) throw damaged()
    return [leaf.path.join('.'), values.slice(from - skipped, to - skipped)]
  })
  const byPath = new Map(read)
  if (tree.children.length > 0) assembleNested(byPath, tree, DEFAULT_PARSERS)
  const made = byPath.get(tree.path.join('.'))
  if (!made || made.length < to - from) throw damaged()
  return made
}

const MOMENT = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const
