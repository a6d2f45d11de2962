// data.ParseJsonLines and data.FormatJsonLines: tables as JSON Lines, one row on each line (jsonlines.org).
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { jsonReason } from '../json-mistake.ts'
import { option, output, required } from './define.ts'
import { JsonSize } from './json-size.ts'
import { guardDepth, guardList, guardText } from './limits.ts'
import { type Row, readRows, rowsProperty } from './rows.ts'
import { toJson } from './values.ts'

/** Where so many lines are no rows, the text is no table; and each one costs some time. */
const MOST_SKIPPED = 10_000

/** The row of a line, or why there is none. */
function readLine(line: string, size: JsonSize): Row | string {
  if (!line.startsWith('{')) return 'no JSON object'
  size.add(line)
  try {
    return JSON.parse(line) as Row
  } catch (error) {
    return `no JSON: ${jsonReason(error)}`
  }
}

/** Each line that isn't empty, with its number from 1. */
function* lines(text: string): Generator<[string, number]> {
  for (let from = 0, number = 1; from < text.length; number++) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end < 0 ? text.length : end).trim()
    if (line !== '') yield [line, number]
    from = end < 0 ? text.length : end + 1
  }
}

function parse(text: string, invalid: string) {
  const rows: Row[] = []
  const size = new JsonSize()
  let skipped = 0
  for (const [line, number] of lines(text)) {
    const row = readLine(line, size)
    if (typeof row !== 'string') {
      guardDepth(row)
      guardList(rows.length + 1, 'The table would have', 'rows')
      rows.push(row)
      continue
    }
    if (invalid === 'fail') throw new NodeError(`Line ${number} is ${row}.`, 'not_json')
    if (++skipped <= MOST_SKIPPED) continue
    const most = MOST_SKIPPED.toLocaleString('en')
    throw new NodeError(`More than ${most} lines are no JSON objects: the text is no table.`, 'not_json')
  }
  return { rows, skipped }
}

function format(rows: readonly Row[]): string {
  let length = 0
  const made = rows.map((row) => {
    const line = toJson(row)
    length += line.length + 1
    guardText(length)
    return `${line}\n`
  })
  return made.join('')
}

export const tableLinesNodes: NodeType[] = [
  {
    node_type: 'data.ParseJsonLines',
    title: 'Read JSON Lines',
    description: 'Reads a table out of a text that has a JSON object on each line. Empty lines are left out.',
    properties: [
      required('text', 'str', 'The text.'),
      option('invalid', oneOf('fail', 'skip'), 'What to do with lines that are no JSON object.', { default: 'fail' }),
    ],
    outputs: [output('rows', 'list[dict[str,any]]'), output('skipped', 'int')],
    run: ({ text, invalid }: { text: string; invalid: string }) => parse(text, invalid),
  },
  {
    node_type: 'data.FormatJsonLines',
    title: 'Write JSON Lines',
    description: 'Writes a table as a text that has each row as a JSON object on a line of its own.',
    properties: [rowsProperty()],
    outputs: [output('output', 'str')],
    run: ({ rows }: { rows: Row[] }) => ({ output: format(readRows(rows)) }),
  },
]
