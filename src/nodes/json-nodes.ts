// json.*: values as JSON text and back.

import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { MAX_VALUE_DEPTH } from '../engine/node-api/values/measure.ts'
import { jsonErrorReason, locateJsonSyntaxError } from '../shared/json-syntax-error.ts'
import { guardJsonText } from './shared/json-size.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from './shared/node-type-builders.ts'
import { guardDepth } from './shared/value-limits.ts'
import { toJson } from './shared/value-operations.ts'

function parseText(text: string): unknown {
  guardJsonText(text)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new NodeError(`The text is not JSON: ${describeJsonError(text, error)}`, 'not_json')
  }
}

/** In characters. The error position is not located in longer texts, because that takes as long as twenty reads. */
const LONGEST_LOCATED = 1_000_000

function describeJsonError(text: string, error: unknown): string {
  if (text.length > LONGEST_LOCATED) return jsonErrorReason(error)
  const { reason, line, column } = locateJsonSyntaxError(text, error)
  return `${reason} (line ${line}, column ${column})`
}

function parseValue(text: string): unknown {
  const value = parseText(text)
  guardDepth(value)
  return value
}

export const jsonNodes: NodeType[] = [
  {
    node_type: 'json.Parse',
    title: 'Read JSON',
    description: `Reads a value from a JSON text, nested at most ${MAX_VALUE_DEPTH} levels deep.`,
    properties: [requiredProperty('text', 'str', 'The text.')],
    outputs: [valueOutput('output', 'any')],
    gives_all: true,
    converts: ['dict', 'list'].map((to) => typeConversion('str', to, 'reads it as JSON')),
    run: ({ text }: { text: string }) => ({ output: parseValue(text) }),
  },
  {
    node_type: 'json.Stringify',
    title: 'Write JSON',
    description: 'Writes a value as JSON text.',
    properties: [
      optionalProperty('value', 'any', 'The value.'),
      optionalProperty('indent', 'int', 'Spaces per level; 0 writes one line.', { default: 0, min: 0, max: 10 }),
    ],
    outputs: [valueOutput('output', 'str')],
    gives_all: true,
    converts: ['dict', 'list[dict]'].map((from) => typeConversion(from, 'str', 'writes it as JSON')),
    run: ({ value, indent }: { value: unknown; indent: number }) => ({ output: toJson(value, indent) }),
  },
]
