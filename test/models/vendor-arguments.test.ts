// Requests to vendors with protocols of their own are converted in one go: so calls, their arguments and schemas are limited.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOutputFormat } from '../../src/models/providers/anthropic/response-format.ts'
import { parseConversation } from '../../src/models/providers/shared/conversation.ts'
import { takesLess } from '../helpers/patience.ts'

const calling = (count: number, length: number) => [
  { role: 'user' as const, content: 'Go' },
  ...Array.from({ length: count }, (_, at) => ({
    role: 'assistant' as const,
    content: null,
    tool_calls: [
      { id: `c${at}`, type: 'function' as const, function: { name: 'f', arguments: `{"a":"${'x'.repeat(length)}"}` } },
    ],
  })),
]

test('a conversation may have 750,000 characters of arguments in any number of calls', () => {
  assert.equal(parseConversation(calling(7, 100_000), 'up').turns[1]!.items.length, 7)
  assert.throws(() => parseConversation(calling(8, 100_000), 'up'), {
    param: 'messages[8].tool_calls[0].function.arguments',
    message: 'The provider "up" takes no more than 750,000 characters of arguments in a conversation.',
  })
})

test('a conversation may have 10,000 calls', () => {
  assert.equal(parseConversation(calling(10_000, 1), 'up').turns[1]!.items.length, 10_000)
  assert.throws(() => parseConversation(calling(10_001, 1), 'up'), {
    param: 'messages[10001].tool_calls[0]',
    message: 'The provider "up" takes no more than 10,000 calls in a conversation.',
  })
})

test('a conversation may have 50,000 parts of messages', () => {
  const saying = (count: number) => {
    const content = Array.from({ length: 10_000 }, () => ({ type: 'text' as const, text: 'a' }))
    return Array.from({ length: count }, () => ({ role: 'user' as const, content }))
  }
  assert.equal(parseConversation(saying(5), 'up').turns[0]!.items.length, 50_000)
  assert.throws(() => parseConversation(saying(6), 'up'), {
    param: 'messages[5].content',
    message: 'The provider "up" takes no more than 50,000 parts in a conversation.',
  })
})

test('the conversion of many images takes a short time', async () => {
  const part = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBO' } }
  const content = Array.from({ length: 50_000 }, () => part)
  await takesLess(150, () => {
    const { items } = parseConversation([{ role: 'user', content }], 'up').turns[0]!
    assert.deepEqual(items.at(-1), { ...items[0], place: 'messages[0].content[49999]' })
  })
})

test('the schema of an answer may have 10,000 parts', () => {
  const asking = (count: number) => {
    const schema = { anyOf: Array.from({ length: count }, () => ({ type: 'string', maxLength: 1 })) }
    return createOutputFormat({ type: 'json_schema', json_schema: { name: 'x', schema } }, true, 'up')
  }
  const { schema } = asking(9_999) as { schema: { anyOf: unknown[] } }
  assert.deepEqual(schema.anyOf.at(-1), { type: 'string', description: '(maxLength: 1)' })
  assert.throws(() => asking(10_000), {
    param: 'response_format',
    message: 'The provider "up" takes no schema of more than 10,000 parts.',
  })
})
