// The texts of an answer and their keys: keys are stored, so their length is limited for any nesting.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectTextsSteps, isJsonText, type TextPiece } from '../../../src/completions/redaction/choice-texts.ts'
import { runToCompletion as atOnce } from '../../../src/shared/time-slices.ts'

const LONGEST = 256
const textsOf = (choice: object) => atOnce(collectTextsSteps({ choices: [choice] }))
const longest = (pieces: readonly TextPiece[]) => Math.max(...pieces.map(({ key }) => key.length))

test('keys have a limited length, also for deeply nested names', () => {
  let nested: unknown = 'x'
  for (let at = 0; at < 400; at++) nested = { a: 'x', ['n'.repeat(1_000)]: nested }
  const pieces = textsOf({ index: 0, delta: { nested, ['m'.repeat(1_000)]: { arguments: '{}' } } })
  assert.equal(pieces.length, 402)
  assert.ok(longest(pieces) <= LONGEST, `${longest(pieces)}`)
  assert.ok(isJsonText(pieces.at(-1)!.key))
})

test('indexes of choices and calls are numbers, even if the server sends other values', () => {
  const index = { toString: 'none' }
  const call = { index: Array.from({ length: 100_000 }, () => 1), function: { name: 'f', arguments: '{}' } }
  const pieces = textsOf({ index, message: { tool_calls: [call, { ...call, index }] } })
  const keys = pieces.filter(({ key }) => isJsonText(key)).map(({ key }) => key)
  assert.ok(longest(pieces) <= LONGEST && new Set(keys).size === 2)
})
