// Reads tables from Parquet files with hyparquet. The stated sizes of a file are checked before any part is unpacked.

import { parquetMetadata, parquetSchema, type RowGroup, type SchemaTree } from 'hyparquet'
import { assembleNested } from 'hyparquet/src/assemble.js'
import { readColumn } from 'hyparquet/src/column.js'
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js'
import { truncateText } from '../../../../shared/text-truncation.ts'
import { MediaFault } from '../../../fault.ts'
import type { MediaTaskResult } from '../../../task-runner.ts'
import { formatCount, MOST_TASK_CELLS, MOST_TASK_ROWS } from '../table-limits.ts'
import { decompressors } from './decompression.ts'
import {
  type ColumnChunk,
  damagedParquet,
  guardFooter,
  guardPages,
  mapParquetErrors,
  PageBudget,
  readColumnChunk,
} from './pages.ts'
import { guardParquetSchema } from './schema-validation.ts'
import { createPlainCopier, createValueDecoder, type ValueDecodingOptions } from './value-decoder.ts'

export interface ParquetReadParams extends ValueDecodingOptions {
  /** Null: all columns. */
  readonly columns: readonly string[] | null
  readonly from_row: number
  /** Null: up to the last row. */
  readonly most_rows: number | null
}

/** A range of rows in one group, counted from the group's first row. */
interface RowGroupRange {
  readonly group: RowGroup
  readonly rows: number
  readonly from: number
  readonly to: number
}

/** @throws MediaFault `bad_file`, `unsupported`, `too_large`; `bad_input` for missing columns */
export function readParquet(bytes: Uint8Array, selection: ParquetReadParams): MediaTaskResult {
  return mapParquetErrors(() => {
    guardFooter(bytes)
    const metadata = parquetMetadata(bytes, { geoparquet: false })
    guardParquetSchema(metadata.schema)
    const trees = selectColumns(parquetSchema(metadata).children, selection.columns)
    const { parts, all } = selectRowGroups(metadata.row_groups, selection)
    const columns = trees.map(({ element }) => element.name)
    return { value: { columns, cells: readCells(bytes, trees, parts, selection), rows: all } }
  })
}

function readCells(
  bytes: Uint8Array,
  trees: SchemaTree[],
  parts: RowGroupRange[],
  as: ValueDecodingOptions,
): unknown[][] {
  const count = parts.reduce((sum, { from, to }) => sum + to - from, 0)
  guardTableSize(count, trees.length)
  const budget = new PageBudget()
  // All columns are checked before any page is unpacked.
  const plans = parts.map((part) =>
    trees.map((tree) => listLeafPaths(tree).map((path) => planColumn(bytes, part, path, budget))),
  )
  const plain = createPlainCopier()
  const cells = Array.from({ length: count }, () => new Array<unknown>(trees.length).fill(null))
  let first = 0
  for (const [index, part] of parts.entries()) {
    const rows = part.to - part.from
    for (const [column, tree] of trees.entries()) {
      const values = readColumnValues(tree, plans[index]![column]!, part, as)
      for (let row = 0; row < rows; row++) cells[first + row]![column] = plain(values[row])
    }
    first += rows
  }
  return cells
}

function guardTableSize(rows: number, columns: number): void {
  if (rows <= MOST_TASK_ROWS && rows * columns <= MOST_TASK_CELLS) return
  throw new MediaFault(
    'too_large',
    `The table has more than ${formatCount(MOST_TASK_ROWS)} rows or ${formatCount(MOST_TASK_CELLS)} cells. Read fewer rows or columns.`,
  )
}

function selectColumns(trees: readonly SchemaTree[], columns: readonly string[] | null): SchemaTree[] {
  if (columns === null) return [...trees]
  return columns.map((name) => {
    const tree = trees.find(({ element }) => element.name === name)
    if (!tree) throw new MediaFault('bad_input', `The file has no column "${truncateText(name, 100)}".`)
    return tree
  })
}

/** Converts a stated count to a safe integer. */
function readCount(value: bigint): number {
  if (typeof value !== 'bigint' || value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw damagedParquet()
  return Number(value)
}

function selectRowGroups(
  groups: readonly RowGroup[],
  { from_row, most_rows }: ParquetReadParams,
): { parts: RowGroupRange[]; all: number } {
  const end = most_rows === null ? Number.POSITIVE_INFINITY : from_row + most_rows
  let start = 0
  const parts: RowGroupRange[] = []
  for (const group of groups) {
    const rows = readCount(group.num_rows)
    const from = Math.max(0, from_row - start)
    const to = Math.min(rows, end - start)
    if (from < to) parts.push({ group, rows, from, to })
    start += rows
  }
  return { parts, all: start }
}

/** The paths from the root to each leaf column. */
function listLeafPaths(tree: SchemaTree, above: readonly SchemaTree[] = []): SchemaTree[][] {
  const path = [...above, tree]
  return tree.children.length === 0 ? [path] : tree.children.flatMap((child) => listLeafPaths(child, path))
}

interface ColumnPlan {
  readonly chunk: ColumnChunk
  readonly path: readonly SchemaTree[]
}

function planColumn(
  bytes: Uint8Array,
  { group, rows }: RowGroupRange,
  path: readonly SchemaTree[],
  budget: PageBudget,
): ColumnPlan {
  const leaf = path.at(-1)!
  const name = leaf.path.join('.')
  const column = group.columns.find(({ meta_data }) => meta_data?.path_in_schema.join('.') === name)
  if (!column?.meta_data) throw damagedParquet()
  const chunk = readColumnChunk(bytes, column.meta_data, leaf.element)
  guardPages(chunk, path.length === 1 && leaf.element.repetition_type !== 'REPEATED' ? rows : null, budget)
  return { chunk, path }
}

const ROOT = { count: 0, children: [], path: [], element: { name: 'root' } } as SchemaTree

/** Reads the values of a column, row by row, for one range. */
function readColumnValues(
  tree: SchemaTree,
  plans: readonly ColumnPlan[],
  { rows, from, to }: RowGroupRange,
  as: ValueDecodingOptions,
): ArrayLike<unknown> {
  const read = plans.map(({ chunk, path }): [string, unknown[]] => {
    const leaf = path.at(-1)!
    const value = createValueDecoder(leaf.element, as)
    const decoder = {
      pathInSchema: leaf.path,
      // The library is told that all values are timestamps, with our decoder for timestamps: so our decoder reads every value.
      element: { ...leaf.element, converted_type: undefined, logical_type: TIMESTAMP_TYPE },
      schemaPath: [ROOT, ...path],
      type: chunk.meta.type,
      codec: chunk.meta.codec,
      compressors: decompressors,
      utf8: false,
      parsers: { ...DEFAULT_PARSERS, timestampFromMilliseconds: value, timestampFromNanoseconds: value } as never,
    }
    const range = { groupStart: 0, groupRows: rows, selectStart: from, selectEnd: to }
    const { data, skipped } = readColumn({ view: chunk.view, offset: 0 }, range, decoder)
    const values = data.flatMap((some) => Array.from(some as ArrayLike<unknown>))
    if (skipped > from || skipped + values.length < to) throw damagedParquet()
    return [leaf.path.join('.'), values.slice(from - skipped, to - skipped)]
  })
  const byPath = new Map(read)
  if (tree.children.length > 0) assembleNested(byPath, tree, DEFAULT_PARSERS)
  const values = byPath.get(tree.path.join('.'))
  if (!values || values.length < to - from) throw damagedParquet()
  return values
}

const TIMESTAMP_TYPE = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const
