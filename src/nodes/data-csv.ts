// data.ReadCsv and data.WriteCsv: tables out of CSV files and into them. The text is that of text.ParseCsv and text.FormatCsv.
import type { NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { charsetOf, decoded, encoded, READ_AS, type ReadAs, WRITTEN_AS, type WrittenAs } from './charset.ts'
import { formattedCsv, keysOf, LINE_ENDS, type LineEnd, parsedCsv } from './csv.ts'
import { option, output } from './define.ts'
import { fileNeeds, type TakenFile, taking } from './files.ts'
import { type Row, readRows, rowsProperty } from './rows.ts'
import { costOfCsvFile, costOfTable } from './table-costs.ts'
import { FILE, nameProperty, tableFile } from './table-files.ts'

type Reading = { file: TakenFile; header: boolean; separator: string; convert: boolean; encoding: ReadAs }

type Writing = {
  rows: Row[]
  columns: string[] | null
  header: boolean
  separator: string
  line_end: LineEnd
  encoding: WrittenAs
  name: string
}

const SEPARATOR = option('separator', 'str', 'The character between cells.', { default: ',' })

export const dataCsvNodes: NodeType[] = [
  {
    node_type: 'data.ReadCsv',
    title: 'Read CSV file',
    description:
      'Reads a table out of a CSV file (RFC 4180): rows as objects by column, and the columns in their order. Short rows are filled up, empty lines left out.',
    properties: [
      FILE,
      option(
        'header',
        'bool',
        'Takes the names of the columns from the first row; else they are column1, column2 and so on.',
        {
          default: true,
        },
      ),
      SEPARATOR,
      option('convert', 'bool', 'Makes numbers, true and false of cells that are such, and nothing of empty ones.', {
        default: true,
      }),
      READ_AS,
    ],
    outputs: [output('rows', 'list[dict[str,any]]'), output('columns', 'list[str]')],
    needs: fileNeeds('file'),
    cost: costOfCsvFile,
    prepare: taking('file', 'The file'),
    run(inputs) {
      const { file, header, separator, convert, encoding } = inputs as Reading
      return parsedCsv(decoded(file, encoding), separator, header, convert)
    },
  },
  {
    node_type: 'data.WriteCsv',
    title: 'Write CSV file',
    description:
      'Writes rows, which are objects by column, as a CSV file (RFC 4180). Lists and objects in cells become JSON.',
    properties: [
      rowsProperty(),
      option('columns', 'list[str]?', 'The columns to write, in this order; without it all, as they are first seen.'),
      option('header', 'bool', 'Writes the names of the columns in a first line.', { default: true }),
      SEPARATOR,
      option('line_end', oneOf('lf', 'crlf'), 'What ends a line.', { default: 'lf' }),
      WRITTEN_AS,
      nameProperty('table.csv'),
    ],
    cost: costOfTable,
    outputs: [output('file', 'dataframe')],
    run(inputs) {
      const { rows, columns, header, separator, line_end, encoding, name } = inputs as Writing
      const text = formattedCsv(readRows(rows), columns ?? keysOf(rows), separator, header, LINE_ENDS[line_end])
      return { file: tableFile(encoded(text, encoding), `text/csv; charset=${charsetOf(encoding)}`, name, 'csv') }
    },
  },
]
