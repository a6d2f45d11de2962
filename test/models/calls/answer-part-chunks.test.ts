// Long texts of answers are cut into pieces, and their tokens are counted by samples.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countModelTokens } from '../../../src/models/billing/token-count.ts'
import { chunkPart, isShortPart } from '../../../src/models/calls/answer-part-chunks.ts'
import { builtinProvider } from '../../../src/models/providers/builtin-echo.ts'

test('a long text is cut into pieces that are the same text together, and no piece has half a character', () => {
  const text = `a${'👋'.repeat(100_000)}`
  const parts = chunkPart({ type: 'text', text })
  assert.ok(parts.length > 1 && parts.every(isShortPart))
  const texts = parts.map((part) => (part.type === 'text' ? part.text : ''))
  assert.equal(texts.join(''), text)
  assert.ok(texts.every((one) => one.isWellFormed()))
})

test('the arguments of a call are cut into pieces, of which the first has the name', () => {
  const call = { type: 'tool_call', index: 3, id: 'call_1', name: 'look', arguments: 'x'.repeat(200_000) } as const
  const [first, ...rest] = chunkPart(call)
  assert.deepEqual(first, { ...call, arguments: call.arguments.slice(0, 65_536) })
  assert.ok(rest.length > 0 && rest.every((part) => part.type === 'tool_call' && !('id' in part) && part.index === 3))
})

test('a short part stays unchanged', () => {
  const part = { type: 'thinking', text: 'x'.repeat(65_536) } as const
  assert.ok(isShortPart(part))
  assert.deepEqual(chunkPart(part), [part])
})

test('a long text is counted by samples, and a short one as a whole', () => {
  let looked = 0
  const provider = {
    ...builtinProvider,
    countTokens(text: string) {
      looked += text.length
      return builtinProvider.countTokens(text)
    },
  }
  assert.equal(countModelTokens(provider, 'word '.repeat(20_000)), 20_000)
  looked = 0
  const many = countModelTokens(provider, 'word '.repeat(2_000_000))
  assert.ok(Math.abs(many - 2_000_000) < 20_000, `${many}`)
  assert.ok(looked <= 131_072, `${looked}`)
})
