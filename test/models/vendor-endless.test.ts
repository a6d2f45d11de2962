// Endless answers of vendors: the kept content, and the parts of one chunk, are limited.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProviderError } from '../../src/models/provider-error.ts'
import { AnthropicAnswerReader } from '../../src/models/providers/anthropic/answer-reader.ts'
import { GoogleAnswerReader } from '../../src/models/providers/google/answer-reader.ts'
import { ToolNameMapping } from '../../src/models/providers/shared/tool-name-mapping.ts'

const names = new ToolNameMapping(/^\w+$/, [])
const failed = () => new ProviderError('failed', 'it failed')
const MALFORMED = { name: 'Malformed' }

function claude() {
  return new AnthropicAnswerReader({ names, createError: failed, storeThinking() {}, reportUsage() {} })
}

const start = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block })
const delta = (given: object) => ({ type: 'content_block_delta', index: 0, delta: given })
const LONG = 'x'.repeat(1_000_000)

const ENDLESS: Readonly<Record<string, object>> = {
  'blocks that hide what was thought': start({ type: 'redacted_thinking', data: LONG }),
  'blocks of thoughts': start({ type: 'thinking', thinking: LONG }),
  'arguments of calls': start({ type: 'tool_use', id: 'c', name: 'f', input: { a: LONG } }),
  'a signature': delta({ type: 'signature_delta', signature: LONG }),
  'a thought': delta({ type: 'thinking_delta', thinking: LONG }),
}

for (const [what, event] of Object.entries(ENDLESS))
  test(`an answer of Anthropic is limited: ${what}`, () => {
    const answer = claude()
    for (let at = 0; at < 16; at++) answer.readEvent(event)
    assert.throws(() => answer.readEvent(event), MALFORMED)
  })

test('a chunk of Google has a limited number of parts', () => {
  const answer = new GoogleAnswerReader({
    names,
    createError: failed,
    newId: () => 'c',
    storeCallState() {},
    reportUsage() {},
  })
  const chunk = (count: number) => ({ candidates: [{ content: { parts: Array(count).fill({ text: 'a' }) } }] })
  assert.equal(answer.readChunk(chunk(10_000)).length, 10_000)
  assert.throws(() => answer.readChunk(chunk(10_001)), MALFORMED)
})
