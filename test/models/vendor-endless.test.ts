// Answers of vendors that go on without end: what is kept of them, and told of them in one go, is bounded.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnthropicAnswer } from '../../src/models/anthropic-answer.ts'
import { GoogleAnswer } from '../../src/models/google-answer.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { ToolNames } from '../../src/models/vendor-names.ts'

const names = new ToolNames(/^\w+$/, [])
const failed = () => new ProviderError('failed', 'it failed')
const MALFORMED = { name: 'Malformed' }

function claude() {
  return new AnthropicAnswer({ names, failed, thought() {}, counted() {} })
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
  test(`an answer of Anthropic has an end: ${what}`, () => {
    const answer = claude()
    for (let at = 0; at < 16; at++) answer.read(event)
    assert.throws(() => answer.read(event), MALFORMED)
  })

test('a chunk of Google has as many parts as are told in one go', () => {
  const answer = new GoogleAnswer({ names, failed, newId: () => 'c', sealed() {}, counted() {} })
  const chunk = (count: number) => ({ candidates: [{ content: { parts: Array(count).fill({ text: 'a' }) } }] })
  assert.equal(answer.read(chunk(10_000)).length, 10_000)
  assert.throws(() => answer.read(chunk(10_001)), MALFORMED)
})
