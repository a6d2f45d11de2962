// data.ReadParquet and data.WriteParquet. Tasks of the same names in src/media do the work in a worker.
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { createFileNeedsReader, readFileInput, runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import {
  type CellTable,
  createRowsInSteps,
  createTableFile,
  FILE_PROPERTY,
  fileNameProperty,
} from '../shared/table-files.ts'
import {
  guardCells,
  guardColumnNamesInSteps,
  listColumnsInSteps,
  rowsProperty,
  type TableRow,
  validateRows,
} from '../shared/table-rows.ts'

type WriteParquetInputs = {
  rows: TableRow[]
  columns: string[] | null
  types: object
  compression: string
  name: string
}

const TYPES_DESCRIPTION =
  'Column → bool, int, float, str, date, timestamp, json, or decimal(2) for two places. Other columns have the type of their values: whole numbers are ' +
  'int; lists and objects have their own types if all of their values agree, else they are json. An int or ' +
  'a decimal may be the text of its digits. Numbers are not rounded.'

export const parquetFileNodes: NodeType[] = [
  {
    node_type: 'data.ReadParquet',
    title: 'Read Parquet file',
    description:
      'Reads a table from a Parquet file. Dates and times become ISO 8601 texts, and whole numbers beyond 2^53 the text of their digits. Numbers that are not finite become missing. Lists and structs stay lists and objects.',
    properties: [
      FILE_PROPERTY,
      optionalProperty('columns', 'list[str]?', 'The columns to read, in this order. Without it all columns are read.'),
      optionalProperty('from_row', 'int', 'The first row to read, counted from 0.', { default: 0, min: 0 }),
      optionalProperty('max_rows', 'int?', 'How many rows to read at most. Null: to the last.', { min: 0 }),
      optionalProperty(
        'decimals',
        createEnumType('text', 'number'),
        'Whether decimal numbers become the text of their digits, or the nearest number.',
        {
          default: 'text',
        },
      ),
      optionalProperty(
        'binary',
        createEnumType('text', 'base64'),
        'How byte columns without a declared type are read: as UTF-8 text, or as Base64.',
        { default: 'text' },
      ),
    ],
    outputs: [
      valueOutput('rows', 'list[dict[str,any]]'),
      valueOutput('columns', 'list[str]'),
      valueOutput('row_count', 'int'),
    ],
    needs: createFileNeedsReader('file'),
    async run({ file, max_rows, ...params }, context) {
      const taken = await readFileInput(file, 'The file', context)
      await context.inSlices(guardColumnNamesInSteps((params.columns as string[] | null) ?? []))
      const { value } = await runMediaTask(
        'data.readParquet',
        [taken],
        { ...params, most_rows: max_rows ?? null },
        context,
      )
      const table = value as CellTable & { rows: number }
      return { rows: await context.inSlices(createRowsInSteps(table)), columns: table.columns, row_count: table.rows }
    },
  },
  {
    node_type: 'data.WriteParquet',
    title: 'Write Parquet file',
    description: 'Writes rows, which are objects by column, as a Parquet file.',
    properties: [
      rowsProperty(),
      optionalProperty(
        'columns',
        'list[str]?',
        'The columns to write, in this order. Without it all columns are written, in order of first appearance.',
      ),
      optionalProperty('types', 'dict[str,str]', TYPES_DESCRIPTION, { default: {} }),
      optionalProperty('compression', createEnumType('snappy', 'zstd', 'none'), 'The compression of the columns.', {
        default: 'snappy',
      }),
      fileNameProperty('table.parquet'),
    ],
    outputs: [valueOutput('file', 'dataframe')],
    async run(inputs, context) {
      const { rows, types, compression, name, ...given } = inputs as WriteParquetInputs
      const columns = given.columns ?? (await context.inSlices(listColumnsInSteps(validateRows(rows))))
      await context.inSlices(guardColumnNamesInSteps(columns))
      guardCells(rows.length, columns.length)
      const params = { rows: validateRows(rows), columns, types, compression }
      const { files } = await runMediaTask('data.writeParquet', [], params, context)
      return { file: createTableFile(files[0]!, 'application/vnd.apache.parquet', name, 'parquet') }
    },
  },
]
