// Long messages are encoded in time slices, and not parsed again for followers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolCall } from '../../generated/types.ts'
import { createMessageFrame } from '../../src/chat/frames.ts'
import { encodeContent, encodeMessageTexts } from '../../src/chat/message-storage.ts'
import type { MessageTable } from '../../src/db/tables/chat.ts'
import { runToCompletion, type Steps } from '../../src/shared/time-slices.ts'

const owner = { user_id: 'ada', workspace_id: null }

test('a long message is encoded in slices of its user, and a short one at once', async () => {
  const runs: string[] = []
  const slices = {
    async run<T>(of: string, steps: Steps<T>): Promise<T> {
      runs.push(of)
      return runToCompletion(steps)
    },
  }
  assert.equal(encodeContent(slices, owner, null), null)
  assert.equal(encodeContent(slices, owner, 'Hello "Ada"'), '"Hello \\"Ada\\""')
  assert.deepEqual(runs, [])
  const long = '"\n'.repeat(500_000)
  assert.equal(await encodeContent(slices, owner, long), JSON.stringify(long))
  assert.equal(runs.length, 1)
  const calling = (text: string): ToolCall[] => [
    { id: 'c', type: 'function', function: { name: 'f', arguments: text } },
  ]
  const [few, many] = [calling('{}'), calling(long)]
  assert.deepEqual(encodeMessageTexts(slices, owner, { content: null }), { content: null, tool_calls: null })
  assert.deepEqual(encodeMessageTexts(slices, owner, { content: 'Hi', tool_calls: few }), {
    content: '"Hi"',
    tool_calls: JSON.stringify(few),
  })
  assert.equal(runs.length, 1)
  assert.deepEqual(await encodeMessageTexts(slices, owner, { content: 'Hi', tool_calls: many }), {
    content: '"Hi"',
    tool_calls: JSON.stringify(many),
  })
  assert.equal(runs.length, 2)
})

test('parsed content of a message is not parsed again from its row', () => {
  const row = { role: 'user', content: 'no JSON', tool_calls: null, usage: null } as MessageTable
  assert.equal(createMessageFrame('thread_1', row, 'Hello').message.content, 'Hello')
  assert.throws(() => createMessageFrame('thread_1', row), SyntaxError)
  const asking = { ...row, tool_calls: 'no JSON' }
  assert.deepEqual(createMessageFrame('thread_1', asking, 'Hello', []).message.tool_calls, [])
  assert.throws(() => createMessageFrame('thread_1', asking, 'Hello'), SyntaxError)
})
