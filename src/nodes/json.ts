// json.*: values as JSON text and back.
import { DEEPEST_VALUE } from '../engine/measure.ts'
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { jsonMistake, jsonReason } from '../json-mistake.ts'
import { conversion, option, output, required } from './define.ts'
import { guardJsonText } from './json-size.ts'
import { guardDepth } from './limits.ts'
import { toJson } from './values.ts'

function read(text: string): unknown {
  guardJsonText(text)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new NodeError(`The text is no JSON: ${whyNoJson(text, error)}`, 'not_json')
  }
}

/** Of longer texts the place is not looked for, which takes as long as to read them twenty times. */
const LONGEST_PLACED = 1_000_000

function whyNoJson(text: string, error: unknown): string {
  if (text.length > LONGEST_PLACED) return jsonReason(error)
  const { reason, line, column } = jsonMistake(text, error)
  return `${reason} (line ${line}, column ${column})`
}

function parse(text: string): unknown {
  const value = read(text)
  guardDepth(value)
  return value
}

export const jsonNodes: NodeType[] = [
  {
    node_type: 'json.Parse',
    title: 'Read JSON',
    description: `Reads a value out of a JSON text, nested at most ${DEEPEST_VALUE} levels deep.`,
    properties: [required('text', 'str', 'The text.')],
    outputs: [output('output', 'any')],
    gives_all: true,
    converts: ['dict', 'list'].map((to) => conversion('str', to, 'reads it as JSON')),
    run: ({ text }: { text: string }) => ({ output: parse(text) }),
  },
  {
    node_type: 'json.Stringify',
    title: 'Write JSON',
    description: 'Writes a value as JSON text.',
    properties: [
      option('value', 'any', 'The value.'),
      option('indent', 'int', 'Spaces per level; 0 writes one line.', { default: 0, min: 0, max: 10 }),
    ],
    outputs: [output('output', 'str')],
    gives_all: true,
    converts: ['dict', 'list[dict]'].map((from) => conversion(from, 'str', 'writes it as JSON')),
    run: ({ value, indent }: { value: unknown; indent: number }) => ({ output: toJson(value, indent) }),
  },
]
