// Tables as Parquet files, by hyparquet-writer. The types of columns are those of their values, unless they are told.
import { zstdCompressSync } from 'node:zlib'
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { MediaFault } from '../fault.ts'
import type { Made } from '../serving.ts'
import { cellOf, MOST_CELLS, MOST_COLUMNS, MOST_ROWS, type Row, readable } from './data-limits.ts'
import { type Kind, kindOf, toldKind } from './data-parquet-kinds.ts'
import { writtenAs } from './data-parquet-written.ts'

export interface Writing {
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
  /** Column → what it holds, in the words of `toldKind`. */
  readonly types: Readonly<Record<string, string>>
  readonly compression: 'snappy' | 'zstd' | 'none'
}

const CODECS = { snappy: 'SNAPPY', zstd: 'ZSTD', none: 'UNCOMPRESSED' } as const

/** Rows in a group: what a reader has to unpack at once. */
const GROUP_ROWS = 100_000

/** @throws MediaFault `bad_input` for values that a column cannot hold, `too_large` */
export function parquetOf({ rows, columns, types, compression }: Writing): Made {
  if (columns.length === 0)
    throw new MediaFault('bad_input', 'The table has no columns, which no Parquet file can say.')
  if (columns.length > MOST_COLUMNS || rows.length > MOST_ROWS || rows.length * columns.length > MOST_CELLS)
    throw new MediaFault('too_large', `The table has more than ${readable(MOST_CELLS)} cells.`)
  const schema: SchemaElement[] = [{ name: 'schema', num_children: columns.length }]
  const columnData = columns.map((name) => {
    const cells = rows.map((row) => cellOf(row, name))
    const told = Object.hasOwn(types, name) ? types[name]! : null
    const kind = told === null ? kindOf(name, cells) : toldKind(name, told)
    schema.push(...elementsOf(name, kind))
    return { name, data: cells.map((cell) => writtenAs(kind, cell, name)) }
  })
  const writer = new ByteWriter()
  const compressors = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) }
  const file = new ParquetWriter({ writer, schema, codec: CODECS[compression], compressors, createdBy: 'svc' })
  file.write({ columnData, rowGroupSize: GROUP_ROWS })
  file.finish()
  return { files: [writer.getBytes()] }
}

/** A column, or a branch of one, as the file describes it. */
function elementsOf(name: string, kind: Kind): SchemaElement[] {
  const repetition_type = 'OPTIONAL'
  if (kind.kind === 'list')
    return [
      { name, repetition_type, converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...elementsOf('element', kind.item),
    ]
  if (kind.kind === 'struct')
    return [
      { name, repetition_type, num_children: kind.fields.length },
      ...kind.fields.flatMap(([field, of]) => elementsOf(field, of)),
    ]
  if (kind.kind === 'decimal') {
    const { scale } = kind
    const decimal = { converted_type: 'DECIMAL', scale, precision: 38 } as const
    return [{ name, repetition_type, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, ...decimal }]
  }
  return [{ name, repetition_type, ...SCALARS[kind.kind] }]
}

const SCALARS: Readonly<Record<Exclude<Kind['kind'], 'list' | 'struct' | 'decimal'>, Partial<SchemaElement>>> = {
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
