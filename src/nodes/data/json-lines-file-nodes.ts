// data.ReadJsonLines and data.WriteJsonLines: tables in files with one JSON object in a line.
import { NodeError, type NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { decodeTextFile, READ_ENCODING_PROPERTY, type ReadEncoding } from '../shared/charset.ts'
import { createFileNeedsReader, type InputFile, prepareFileInput } from '../shared/file-inputs.ts'
import { guardJsonText } from '../shared/json-size.ts'
import { valueOutput } from '../shared/node-type-builders.ts'
import { createTableFile, FILE_PROPERTY, fileNameProperty } from '../shared/table-files.ts'
import { listColumns, rowsProperty, type TableRow, validateRows } from '../shared/table-rows.ts'
import { guardDepth, guardListLength, guardTextLength } from '../shared/value-limits.ts'
import { toJson } from '../shared/value-operations.ts'

/** Line ends are those of JSON Lines; U+2028 and the like are characters of their line. */
function* numberedLines(text: string): Generator<[string, number]> {
  let from = 0
  for (let number = 1; from < text.length; number++) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end < 0 ? text.length : end).trim()
    if (line !== '') yield [line, number]
    if (end < 0) return
    from = end + 1
  }
}

function parseRows(text: string): TableRow[] {
  const rows: TableRow[] = []
  for (const [line, number] of numberedLines(text)) {
    rows.push(parseRow(line, number))
    guardListLength(rows.length, 'The table has', 'rows')
  }
  return rows
}

/** What may be a whole number beyond 2^53. */
const LARGE_INTEGER = /\d{16}/

/** Such numbers stay texts of their digits, as those of other files of tables do. */
function keepExactInteger(_key: string, value: unknown, ...[context]: { source?: string }[]): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || !/^-?\d+$/.test(source)) return value
  return Number.isSafeInteger(value) ? value : source
}

function parseRow(line: string, number: number): TableRow {
  guardJsonText(line)
  let value: unknown
  try {
    value = LARGE_INTEGER.test(line) ? JSON.parse(line, keepExactInteger) : JSON.parse(line)
  } catch {
    // What the engine says of it quotes the line, and would be logged.
    throw new NodeError(`Line ${number} of the file is no JSON.`, 'bad_file')
  }
  if (getValueKind(value) !== 'dict') {
    const text = `Line ${number} of the file is ${getValueKind(value)}: each is to be an object, by column.`
    throw new NodeError(text, 'bad_file')
  }
  guardDepth(value)
  return value as TableRow
}

function formatRows(rows: readonly TableRow[]): string {
  let length = 0
  const lines = rows.map((row) => {
    const line = `${toJson(row)}\n`
    length += line.length
    guardTextLength(length)
    return line
  })
  return lines.join('')
}

export const jsonLinesFileNodes: NodeType[] = [
  {
    node_type: 'data.ReadJsonLines',
    title: 'Read JSON Lines file',
    description:
      'Reads a table out of a file that has one JSON object in each line. Empty lines are left out, and whole numbers beyond 2^53 are texts of their digits.',
    properties: [FILE_PROPERTY, READ_ENCODING_PROPERTY],
    outputs: [valueOutput('rows', 'list[dict[str,any]]'), valueOutput('columns', 'list[str]')],
    needs: createFileNeedsReader('file'),
    prepare: prepareFileInput('file', 'The file'),
    run(inputs) {
      const { file, encoding } = inputs as { file: InputFile; encoding: ReadEncoding }
      const text = decodeTextFile(file, encoding)
      const rows = parseRows(text.startsWith('\uFEFF') ? text.slice(1) : text)
      return { rows, columns: listColumns(rows) }
    },
  },
  {
    node_type: 'data.WriteJsonLines',
    title: 'Write JSON Lines file',
    description: 'Writes rows, which are objects by column, as a file that has one JSON object in each line, in UTF-8.',
    properties: [rowsProperty(), fileNameProperty('table.jsonl')],
    outputs: [valueOutput('file', 'dataframe')],
    run(inputs) {
      const { rows, name } = inputs as { rows: TableRow[]; name: string }
      const bytes = new TextEncoder().encode(formatRows(validateRows(rows)))
      return { file: createTableFile(bytes, 'application/jsonl', name, 'jsonl') }
    },
  },
]
