// data.ReadJsonLines and data.WriteJsonLines: tables in files with one JSON object in each line.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { decodeTextFile, READ_ENCODING_PROPERTY, type ReadEncoding } from '../shared/charset.ts'
import { createFileNeedsReader, type InputFile, prepareFileInput } from '../shared/file-inputs.ts'
import { guardJsonText } from '../shared/json-size.ts'
import { valueOutput } from '../shared/node-type-builders.ts'
import { createTableFile, FILE_PROPERTY, fileNameProperty } from '../shared/table-files.ts'
import { listColumns, rowsProperty, type TableRow, validateRows } from '../shared/table-rows.ts'
import { guardDepth, guardListLength, guardTextLength } from '../shared/value-limits.ts'
import { toJson } from '../shared/value-operations.ts'

/** Lines end at "\n" only, as JSON Lines demands. U+2028 and similar characters are part of a line. */
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

/** Matches text that may hold a whole number beyond 2^53. */
const LARGE_INTEGER = /\d{16}/

/** Keeps such numbers as the text of their digits, as other table files do. */
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
    // The message of the JSON parser quotes the line, which would then be logged.
    throw new NodeError(`Line ${number} of the file is not JSON.`, 'bad_file')
  }
  if (getValueKind(value) !== 'dict') {
    const text = `Line ${number} of the file is ${getValueKind(value)}. Each line must be an object with a key for each column.`
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
      'Reads a table from a file with one JSON object in each line. Empty lines are skipped. Whole numbers beyond 2^53 become the text of their digits.',
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
    description: 'Writes rows, which are objects by column, as a UTF-8 file with one JSON object in each line.',
    properties: [rowsProperty(), fileNameProperty('table.jsonl')],
    outputs: [valueOutput('file', 'dataframe')],
    run(inputs) {
      const { rows, name } = inputs as { rows: TableRow[]; name: string }
      const bytes = new TextEncoder().encode(formatRows(validateRows(rows)))
      return { file: createTableFile(bytes, 'application/jsonl', name, 'jsonl') }
    },
  },
]
