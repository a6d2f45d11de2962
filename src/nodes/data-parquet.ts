// data.ReadParquet and data.WriteParquet. The work is done apart, by the tasks of the same names in src/media.
import type { NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { option, output } from './define.ts'
import { fileNeeds, fileOf, worked } from './files.ts'
import { columnSteps, guardCells, guardNameSteps, type Row, readRows, rowsProperty } from './rows.ts'
import { type CellTable, FILE, nameProperty, rowSteps, tableFile } from './table-files.ts'

type Writing = { rows: Row[]; columns: string[] | null; types: object; compression: string; name: string }

const TYPES =
  'Column → bool, int, float, str, date, timestamp, json, or decimal(2) for two places. Others have the type of their values: whole numbers are ' +
  'int, lists and objects have types of their own where all of their values agree, else they are json. An int may be the text of its digits, a ' +
  'decimal too; nothing is rounded.'

export const dataParquetNodes: NodeType[] = [
  {
    node_type: 'data.ReadParquet',
    title: 'Read Parquet file',
    description:
      'Reads a table out of a Parquet file. Dates and times are texts by ISO 8601, whole numbers beyond 2^53 texts of their digits, numbers that are not finite missing; lists and structs stay such.',
    properties: [
      FILE,
      option('columns', 'list[str]?', 'The columns to read, in this order; without it all.'),
      option('from_row', 'int', 'The first row to read, counted from 0.', { default: 0, min: 0 }),
      option('max_rows', 'int?', 'How many rows to read at most. Null: to the last.', { min: 0 }),
      option(
        'decimals',
        oneOf('text', 'number'),
        'Decimal numbers are texts of their digits, or the nearest numbers.',
        {
          default: 'text',
        },
      ),
      option(
        'binary',
        oneOf('text', 'base64'),
        'Columns of bytes that do not say what they are: as UTF-8, or in Base64.',
        { default: 'text' },
      ),
    ],
    outputs: [output('rows', 'list[dict[str,any]]'), output('columns', 'list[str]'), output('row_count', 'int')],
    needs: fileNeeds('file'),
    async run({ file, max_rows, ...params }, context) {
      const taken = await fileOf(file, 'The file', context)
      await context.inSlices(guardNameSteps((params.columns as string[] | null) ?? []))
      const { value } = await worked('data.readParquet', [taken], { ...params, most_rows: max_rows ?? null }, context)
      const table = value as CellTable & { rows: number }
      return { rows: await context.inSlices(rowSteps(table)), columns: table.columns, row_count: table.rows }
    },
  },
  {
    node_type: 'data.WriteParquet',
    title: 'Write Parquet file',
    description: 'Writes rows, which are objects by column, as a Parquet file.',
    properties: [
      rowsProperty(),
      option('columns', 'list[str]?', 'The columns to write, in this order; without it all, as they are first seen.'),
      option('types', 'dict[str,str]', TYPES, { default: {} }),
      option('compression', oneOf('snappy', 'zstd', 'none'), 'How the columns are packed.', { default: 'snappy' }),
      nameProperty('table.parquet'),
    ],
    outputs: [output('file', 'dataframe')],
    async run(inputs, context) {
      const { rows, types, compression, name, ...given } = inputs as Writing
      const columns = given.columns ?? (await context.inSlices(columnSteps(readRows(rows))))
      await context.inSlices(guardNameSteps(columns))
      guardCells(rows.length, columns.length)
      const params = { rows: readRows(rows), columns, types, compression }
      const { files } = await worked('data.writeParquet', [], params, context)
      return { file: tableFile(files[0]!, 'application/vnd.apache.parquet', name, 'parquet') }
    },
  },
]
