// data.ParseJsonLines and data.FormatJsonLines: tables as JSON Lines, one row on each line (jsonlines.org).
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { jsonErrorReason } from '../../shared/json-syntax-error.ts'
import { JsonSize } from '../shared/json-size.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { rowsProperty, type TableRow, validateRows } from '../shared/table-rows.ts'
import { guardDepth, guardListLength, guardTextLength } from '../shared/value-limits.ts'
import { toJson } from '../shared/value-operations.ts'

/** In lines. A text with so many invalid lines is no table, and each error costs time. */
const MOST_SKIPPED = 10_000

/** The row of a line, or the reason why the line is invalid. */
function readLine(line: string, size: JsonSize): TableRow | string {
  if (!line.startsWith('{')) return 'not a JSON object'
  size.add(line)
  try {
    return JSON.parse(line) as TableRow
  } catch (error) {
    return `not JSON: ${jsonErrorReason(error)}`
  }
}

/** Each non-empty line, with its number from 1. */
function* numberedLines(text: string): Generator<[string, number]> {
  for (let from = 0, number = 1; from < text.length; number++) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end < 0 ? text.length : end).trim()
    if (line !== '') yield [line, number]
    from = end < 0 ? text.length : end + 1
  }
}

function parseJsonLines(text: string, invalid: string) {
  const rows: TableRow[] = []
  const size = new JsonSize()
  let skipped = 0
  for (const [line, number] of numberedLines(text)) {
    const row = readLine(line, size)
    if (typeof row !== 'string') {
      guardDepth(row)
      guardListLength(rows.length + 1, 'The table would have', 'rows')
      rows.push(row)
      continue
    }
    if (invalid === 'fail') throw new NodeError(`Line ${number} is ${row}.`, 'not_json')
    if (++skipped <= MOST_SKIPPED) continue
    const most = MOST_SKIPPED.toLocaleString('en')
    throw new NodeError(
      `More than ${most} lines are not JSON objects. The text is probably not JSON Lines.`,
      'not_json',
    )
  }
  return { rows, skipped }
}

function formatJsonLines(rows: readonly TableRow[]): string {
  let length = 0
  const made = rows.map((row) => {
    const line = toJson(row)
    length += line.length + 1
    guardTextLength(length)
    return `${line}\n`
  })
  return made.join('')
}

export const jsonLinesNodes: NodeType[] = [
  {
    node_type: 'data.ParseJsonLines',
    title: 'Read JSON Lines',
    description: 'Reads a table from a text with a JSON object on each line. Empty lines are skipped.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty('invalid', createEnumType('fail', 'skip'), 'What to do with lines that are not JSON objects.', {
        default: 'fail',
      }),
    ],
    outputs: [valueOutput('rows', 'list[dict[str,any]]'), valueOutput('skipped', 'int')],
    run: ({ text, invalid }: { text: string; invalid: string }) => parseJsonLines(text, invalid),
  },
  {
    node_type: 'data.FormatJsonLines',
    title: 'Write JSON Lines',
    description: 'Writes a table as a text with each row as a JSON object on its own line.',
    properties: [rowsProperty()],
    outputs: [valueOutput('output', 'str')],
    run: ({ rows }: { rows: TableRow[] }) => ({ output: formatJsonLines(validateRows(rows)) }),
  },
]
