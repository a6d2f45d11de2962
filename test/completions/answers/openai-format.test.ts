// Conversion of tool calls from a server's chunks to a client's format: functions and custom tools, whole and in
// pieces.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatCompletionChunk } from '../../../generated/types.ts'
import type { AnswerPart } from '../../../src/completions/answers/generator.ts'
import { assembleCompletion, encodeChunks } from '../../../src/completions/answers/openai-format.ts'
import { ToolCallReader } from '../../../src/models/providers/openai/tool-call-reader.ts'

const HEAD = { id: 'chatcmpl-1', created: 1, model: 'm/x' }
const PIECES = [
  { index: 0, id: 'a', type: 'custom', custom: { name: 'query', input: '' } },
  { index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '{"at"' } },
  { index: 0, custom: { input: 'SELECT' } },
  { index: 1, function: { arguments: ':1}' } },
  { index: 0, custom: { input: ' 1' } },
]

async function* answer(): AsyncGenerator<AnswerPart, void, void> {
  const calls = new ToolCallReader()
  for (const piece of PIECES) yield calls.readPiece(piece)!
  const use = { model: 'm/x', input_tokens: 1, output_tokens: 1, cost: null }
  yield { type: 'end', use, finish_reason: 'tool_calls' }
}

test('a call of a custom tool keeps its type in a whole answer', async () => {
  const { choices } = await assembleCompletion(answer(), HEAD)
  assert.deepEqual(choices[0]!.message.tool_calls, [
    { id: 'a', type: 'custom', custom: { name: 'query', input: 'SELECT 1' } },
    { id: 'b', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
  ])
})

test('a streamed call of a custom tool keeps its type in each piece', async () => {
  const chunks: ChatCompletionChunk[] = []
  for await (const chunk of encodeChunks(answer(), HEAD, false)) chunks.push(chunk)
  const told = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? [])
  assert.deepEqual(told, PIECES)
})
