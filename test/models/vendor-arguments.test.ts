// Vendors with protocols of their own get arguments of calls as values, which are read in one go: there is an end to them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conversationOf } from '../../src/models/vendor-turns.ts'

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

test('a conversation may have 750,000 characters of arguments, however many calls have them', () => {
  assert.equal(conversationOf(calling(7, 100_000), 'up').turns[1]!.items.length, 7)
  assert.throws(() => conversationOf(calling(8, 100_000), 'up'), {
    param: 'messages[8].tool_calls[0].function.arguments',
    message: 'The provider "up" takes no more than 750,000 characters of arguments in a conversation.',
  })
})
