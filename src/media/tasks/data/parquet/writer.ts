// Writes tables as Parquet files with hyparquet-writer. Column types are inferred from the values, unless they are given.
import { zstdCompressSync } from 'node:zlib'
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { MediaFault } from '../../../fault.ts'
import type { MediaTaskResult } from '../../../task-runner.ts'
import {
  cellOf,
  formatCount,
  MOST_TASK_CELLS,
  MOST_TASK_COLUMNS,
  MOST_TASK_ROWS,
  type TableRow,
} from '../table-limits.ts'
import { inferColumnType, type ParquetColumnType, parseColumnType } from './column-types.ts'
import { encodeValue } from './value-encoder.ts'

export interface ParquetWriteParams {
  readonly rows: readonly TableRow[]
  readonly columns: readonly string[]
  /** Types by column, in the words that `parseColumnType` reads. */
  readonly types: Readonly<Record<string, string>>
  readonly compression: 'snappy' | 'zstd' | 'none'
}

const CODECS = { snappy: 'SNAPPY', zstd: 'ZSTD', none: 'UNCOMPRESSED' } as const

/** Rows in a group, which a reader unpacks at once. */
const GROUP_ROWS = 100_000

/** @throws MediaFault `bad_input` for values that a column cannot hold, `too_large` */
export function writeParquet({ rows, columns, types, compression }: ParquetWriteParams): MediaTaskResult {
  if (columns.length === 0)
    throw new MediaFault('bad_input', 'The table has no columns: a Parquet file needs at least one.')
  if (
    columns.length > MOST_TASK_COLUMNS ||
    rows.length > MOST_TASK_ROWS ||
    rows.length * columns.length > MOST_TASK_CELLS
  )
    throw new MediaFault('too_large', `The table has more than ${formatCount(MOST_TASK_CELLS)} cells.`)
  const schema: SchemaElement[] = [{ name: 'schema', num_children: columns.length }]
  const columnData = columns.map((name) => {
    const cells = rows.map((row) => cellOf(row, name))
    const typeWord = Object.hasOwn(types, name) ? types[name]! : null
    const kind = typeWord === null ? inferColumnType(name, cells) : parseColumnType(name, typeWord)
    schema.push(...describeColumn(name, kind))
    return { name, data: cells.map((cell) => encodeValue(kind, cell, name)) }
  })
  const writer = new ByteWriter()
  const compressors = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) }
  const file = new ParquetWriter({ writer, schema, codec: CODECS[compression], compressors, createdBy: 'svc' })
  file.write({ columnData, rowGroupSize: GROUP_ROWS })
  file.finish()
  return { files: [writer.getBytes()] }
}

/** The schema elements of a column, or of a branch of it. */
function describeColumn(name: string, kind: ParquetColumnType): SchemaElement[] {
  const repetition_type = 'OPTIONAL'
  if (kind.kind === 'list')
    return [
      { name, repetition_type, converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...describeColumn('element', kind.item),
    ]
  if (kind.kind === 'struct')
    return [
      { name, repetition_type, num_children: kind.fields.length },
      ...kind.fields.flatMap(([field, of]) => describeColumn(field, of)),
    ]
  if (kind.kind === 'decimal') {
    const { scale } = kind
    const decimal = { converted_type: 'DECIMAL', scale, precision: 38 } as const
    return [{ name, repetition_type, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, ...decimal }]
  }
  return [{ name, repetition_type, ...SCALAR_ELEMENTS[kind.kind] }]
}

const SCALAR_ELEMENTS: Readonly<
  Record<Exclude<ParquetColumnType['kind'], 'list' | 'struct' | 'decimal'>, Partial<SchemaElement>>
> = {
  bool: { type: 'BOOLEAN' },
  int: { type: 'INT64' },
  float: { type: 'DOUBLE' },
  str: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } },
  bytes: { type: 'BYTE_ARRAY' },
  date: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
}
