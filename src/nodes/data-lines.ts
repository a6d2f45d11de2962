// data.ReadJsonLines and data.WriteJsonLines: tables in files with one JSON object in a line.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { kindOf } from '../engine/values.ts'
import { decoded, READ_AS, type ReadAs } from './charset.ts'
import { output } from './define.ts'
import { fileNeeds, type TakenFile, taking } from './files.ts'
import { guardJsonText } from './json-size.ts'
import { guardDepth, guardList, guardText } from './limits.ts'
import { columnsOf, type Row, readRows, rowsProperty } from './rows.ts'
import { FILE, nameProperty, tableFile } from './table-files.ts'
import { toJson } from './values.ts'

/** Line ends are those of JSON Lines; U+2028 and the like are characters of their line. */
function* linesOf(text: string): Generator<[string, number]> {
  let from = 0
  for (let number = 1; from < text.length; number++) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end < 0 ? text.length : end).trim()
    if (line !== '') yield [line, number]
    if (end < 0) return
    from = end + 1
  }
}

function read(text: string): Row[] {
  const rows: Row[] = []
  for (const [line, number] of linesOf(text)) {
    rows.push(rowOf(line, number))
    guardList(rows.length, 'The table has', 'rows')
  }
  return rows
}

/** What may be a whole number beyond 2^53. */
const LARGE = /\d{16}/

/** Such numbers stay texts of their digits, as those of other files of tables do. */
function exactly(_key: string, value: unknown, ...[context]: { source?: string }[]): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || !/^-?\d+$/.test(source)) return value
  return Number.isSafeInteger(value) ? value : source
}

function rowOf(line: string, number: number): Row {
  guardJsonText(line)
  let value: unknown
  try {
    value = LARGE.test(line) ? JSON.parse(line, exactly) : JSON.parse(line)
  } catch {
    // What the engine says of it quotes the line, and would be logged.
    throw new NodeError(`Line ${number} of the file is no JSON.`, 'bad_file')
  }
  if (kindOf(value) !== 'dict') {
    const text = `Line ${number} of the file is ${kindOf(value)}: each is to be an object, by column.`
    throw new NodeError(text, 'bad_file')
  }
  guardDepth(value)
  return value as Row
}

function written(rows: readonly Row[]): string {
  let length = 0
  const lines = rows.map((row) => {
    const line = `${toJson(row)}\n`
    length += line.length
    guardText(length)
    return line
  })
  return lines.join('')
}

export const dataLinesNodes: NodeType[] = [
  {
    node_type: 'data.ReadJsonLines',
    title: 'Read JSON Lines file',
    description:
      'Reads a table out of a file that has one JSON object in each line. Empty lines are left out, and whole numbers beyond 2^53 are texts of their digits.',
    properties: [FILE, READ_AS],
    outputs: [output('rows', 'list[dict[str,any]]'), output('columns', 'list[str]')],
    needs: fileNeeds('file'),
    prepare: taking('file', 'The file'),
    run(inputs) {
      const { file, encoding } = inputs as { file: TakenFile; encoding: ReadAs }
      const text = decoded(file, encoding)
      const rows = read(text.startsWith('\uFEFF') ? text.slice(1) : text)
      return { rows, columns: columnsOf(rows) }
    },
  },
  {
    node_type: 'data.WriteJsonLines',
    title: 'Write JSON Lines file',
    description: 'Writes rows, which are objects by column, as a file that has one JSON object in each line, in UTF-8.',
    properties: [rowsProperty(), nameProperty('table.jsonl')],
    outputs: [output('file', 'dataframe')],
    run(inputs) {
      const { rows, name } = inputs as { rows: Row[]; name: string }
      const bytes = new TextEncoder().encode(written(readRows(rows)))
      return { file: tableFile(bytes, 'application/jsonl', name, 'jsonl') }
    },
  },
]
