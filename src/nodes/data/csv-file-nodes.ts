// data.ReadCsv and data.WriteCsv: read and write tables as CSV files. Parsing and formatting are those of text.ParseCsv and text.FormatCsv.
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import {
  charsetOf,
  decodeTextFile,
  encodeTextFile,
  READ_ENCODING_PROPERTY,
  type ReadEncoding,
  WRITE_ENCODING_PROPERTY,
  type WriteEncoding,
} from '../shared/charset.ts'
import { createFileNeedsReader, type InputFile, prepareFileInput } from '../shared/file-inputs.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import { costOfCsvFile, costOfTable } from '../shared/table-costs.ts'
import { createTableFile, FILE_PROPERTY, fileNameProperty } from '../shared/table-files.ts'
import { rowsProperty, type TableRow, validateRows } from '../shared/table-rows.ts'
import { collectColumnNames, formatCsvTable, LINE_ENDS, type LineEnd, parseCsvTable } from '../text/csv-nodes.ts'

type ReadCsvInputs = { file: InputFile; header: boolean; separator: string; convert: boolean; encoding: ReadEncoding }

type WriteCsvInputs = {
  rows: TableRow[]
  columns: string[] | null
  header: boolean
  separator: string
  line_end: LineEnd
  encoding: WriteEncoding
  name: string
}

const SEPARATOR_PROPERTY = optionalProperty('separator', 'str', 'The character between cells.', { default: ',' })

export const csvFileNodes: NodeType[] = [
  {
    node_type: 'data.ReadCsv',
    title: 'Read CSV file',
    description:
      'Reads a table from a CSV file (RFC 4180): rows as objects by column, and the columns in their order. Short rows are filled up, empty lines are skipped.',
    properties: [
      FILE_PROPERTY,
      optionalProperty(
        'header',
        'bool',
        'Takes the column names from the first row; else they are column1, column2 and so on.',
        {
          default: true,
        },
      ),
      SEPARATOR_PROPERTY,
      optionalProperty(
        'convert',
        'bool',
        'Converts cells that look like numbers, true or false. Empty cells become missing.',
        {
          default: true,
        },
      ),
      READ_ENCODING_PROPERTY,
    ],
    outputs: [valueOutput('rows', 'list[dict[str,any]]'), valueOutput('columns', 'list[str]')],
    needs: createFileNeedsReader('file'),
    cost: costOfCsvFile,
    prepare: prepareFileInput('file', 'The file'),
    run(inputs) {
      const { file, header, separator, convert, encoding } = inputs as ReadCsvInputs
      return parseCsvTable(decodeTextFile(file, encoding), separator, header, convert)
    },
  },
  {
    node_type: 'data.WriteCsv',
    title: 'Write CSV file',
    description:
      'Writes rows, which are objects by column, as a CSV file (RFC 4180). Lists and objects in cells become JSON.',
    properties: [
      rowsProperty(),
      optionalProperty(
        'columns',
        'list[str]?',
        'The columns to write, in this order. Without it all columns are written, in order of first appearance.',
      ),
      optionalProperty('header', 'bool', 'Writes the names of the columns in a first line.', { default: true }),
      SEPARATOR_PROPERTY,
      optionalProperty('line_end', createEnumType('lf', 'crlf'), 'The line ending.', { default: 'lf' }),
      WRITE_ENCODING_PROPERTY,
      fileNameProperty('table.csv'),
    ],
    cost: costOfTable,
    outputs: [valueOutput('file', 'dataframe')],
    run(inputs) {
      const { rows, columns, header, separator, line_end, encoding, name } = inputs as WriteCsvInputs
      const text = formatCsvTable(
        validateRows(rows),
        columns ?? collectColumnNames(rows),
        separator,
        header,
        LINE_ENDS[line_end],
      )
      return {
        file: createTableFile(encodeTextFile(text, encoding), `text/csv; charset=${charsetOf(encoding)}`, name, 'csv'),
      }
    },
  },
]
