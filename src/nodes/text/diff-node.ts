// text.Diff: the changes from one text to another, line by line. The package diff compares them (Myers).
import type { StructuredPatch } from 'diff'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { costOfDiff } from '../shared/firing-costs.ts'
import { diffLibrary } from '../shared/lazy-libraries.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { ensureTextLimit } from '../shared/value-limits.ts'
import { countOccurrences } from './string-functions.ts'

/** In removed and added lines. The work grows with their square. */
const MOST_CHANGES = 2000
const MOST_LINES = 200_000

interface DiffOutputs {
  output: string
  added: number
  removed: number
  changed: boolean
}

function tooLarge(what: string): NodeError {
  return new NodeError(`${what}, which is the limit. Compare parts of the texts.`, 'too_large')
}

/** A text with each line replaced by its number; equal lines have the same number. The part after the last line end may be empty. */
function numberLines(text: string, numbers: Map<string, number>): string {
  const lines = text.split('\n').map((line, at, all) => {
    if (line === '' && at === all.length - 1) return line
    const number = numbers.get(line) ?? numbers.size
    numbers.set(line, number)
    return String(number)
  })
  return lines.join('\n')
}

/** Long lines would be compared many times, so numbers replace them for the comparison. */
function compareLines(a: string, b: string, context: number): StructuredPatch {
  for (const text of [a, b]) {
    if (countOccurrences(text, '\n') > MOST_LINES) throw tooLarge('A text has more than 200,000 lines')
  }
  const numbers = new Map<string, number>()
  const [before, after] = [numberLines(a, numbers), numberLines(b, numbers)]
  const options = { context, maxEditLength: MOST_CHANGES }
  const patch = diffLibrary().structuredPatch('a', 'b', before, after, undefined, undefined, options)
  if (!patch) throw tooLarge('The texts differ in more than 2,000 lines')
  const lines = [...numbers.keys()]
  const written = (line: string) => (line.startsWith('\\') ? line : line[0] + lines[Number(line.slice(1))]!)
  return { ...patch, hunks: patch.hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(written) })) }
}

function diffTexts(a: string, b: string, context: number): DiffOutputs {
  if (a === b) return { output: '', added: 0, removed: 0, changed: false }
  const { FILE_HEADERS_ONLY, formatPatch } = diffLibrary()
  const patch = compareLines(a, b, context)
  const lines = patch.hunks.flatMap((hunk) => hunk.lines)
  return {
    output: ensureTextLimit(formatPatch(patch, FILE_HEADERS_ONLY)),
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
    changed: true,
  }
}

export const diffNodes: NodeType[] = [
  {
    node_type: 'text.Diff',
    title: 'Difference of texts',
    description:
      'Compares two texts line by line: a unified diff, which is empty if they are the same, and the numbers of added and removed lines. At most 2,000 changed lines.',
    properties: [
      requiredProperty('a', 'str', 'The text before.'),
      requiredProperty('b', 'str', 'The text after.'),
      optionalProperty('context', 'int', 'How many unchanged lines to show around a change.', {
        default: 3,
        min: 0,
        max: 1000,
      }),
    ],
    cost: costOfDiff,
    outputs: [
      valueOutput('output', 'str'),
      valueOutput('added', 'int'),
      valueOutput('removed', 'int'),
      valueOutput('changed', 'bool'),
    ],
    run: ({ a, b, context }: { a: string; b: string; context: number }) => ({ ...diffTexts(a, b, context) }),
  },
]
