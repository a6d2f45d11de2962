// The conversation that a model receives of a long thread: the newest whole exchanges, always the instructions, and
// each call with its result.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ChatMessage } from '../../generated/types.ts'
import { readConversationSteps } from '../../src/chat/conversation.ts'
import { appendMessage, createUnsequencedMessage, type NewMessage } from '../../src/chat/message-storage.ts'
import type { Tx } from '../../src/db/store.ts'
import { deleteThread, findOwnedThread, insertThread } from '../../src/db/threads.ts'
import { systemPlatform } from '../../src/platform.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { openStore } from '../helpers/store.ts'

const OWNER = { user_id: '1', workspace_id: null }
const AT = '2026-01-01T00:00:00.000Z'
const platform = systemPlatform()

const exchange: fc.Arbitrary<NewMessage[]> = fc
  .record({ text: fc.string({ maxLength: 20 }), calls: fc.nat(2), results: fc.nat(2), cut: fc.boolean() })
  .map(({ text, calls, results, cut }) => {
    const ids = Array.from({ length: calls }, (_, at) => `call-${at}`)
    const tool_calls = ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }) as const)
    return [
      { role: 'user', content: `u${text}` },
      ...(calls > 0 ? [{ role: 'assistant', content: null, tool_calls } as const] : []),
      ...ids.slice(0, results).map((id) => ({ role: 'tool', content: 'r', tool_call_id: id }) as const),
      { role: 'assistant', content: cut ? '' : `a${text}`, status: cut ? 'interrupted' : 'completed' },
    ]
  })

function fill(tx: Tx, said: readonly NewMessage[]): number {
  const row = { id: 't', ...OWNER, title: null, last_sequence: 0, size: 0 }
  insertThread(tx, { ...row, spoken_at: AT, created_at: AT, updated_at: AT })
  const { key } = findOwnedThread(tx, OWNER, 't')!
  for (const one of said) appendMessage(tx, createUnsequencedMessage(key, one, platform))
  return key
}

/** The rules of model servers for conversations. */
function assertSound(messages: readonly ChatMessage[]): void {
  let open: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      assert.ok(open.includes(message.tool_call_id), 'a result has a call right before it')
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    assert.deepEqual(open, [], 'each call has its result')
    if (message.role !== 'assistant') continue
    open = (message.tool_calls ?? []).map(({ id }) => id)
    assert.ok(open.length > 0 || message.content !== '', 'nobody says nothing')
  }
  assert.deepEqual(open, [])
}

test('any thread gives a conversation that models accept, for any limits', async () => {
  await using opened = await openStore()
  const { store } = opened
  await fc.assert(
    fc.asyncProperty(
      fc.array(exchange, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 120 }),
      fc.integer({ min: 1, max: 1_000 }),
      async (exchanges, sent_messages, sent_size) => {
        const said: NewMessage[] = [{ role: 'system', content: 'Be brief.' }, ...exchanges.flat()]
        const key = await store.write((tx) => fill(tx, said))
        const messages = runToCompletion(readConversationSteps(store, key, { sent_messages, sent_size }))
        await store.write((tx) => deleteThread(tx, OWNER, 't', () => true))
        assertSound(messages)
        assert.deepEqual(messages[0], { role: 'system', content: 'Be brief.' })
        const [, ...rest] = messages
        assert.equal(rest[0]?.role, 'user')
        const users = rest.filter(({ role }) => role === 'user').map(({ content }) => content)
        const all = exchanges.map(([first]) => first!.content)
        assert.deepEqual(users, all.slice(all.length - users.length), 'the newest ones, in order')
        assert.ok(users.length === 1 || rest.length <= sent_messages + 2 * exchanges.length)
      },
    ),
    { numRuns: 60 },
  )
})

test('the newest exchanges that fit are sent, and always the last', async () => {
  await using opened = await openStore()
  const said = Array.from({ length: 250 }, (_, at): NewMessage[] => [
    { role: 'user', content: `question ${at}` },
    { role: 'assistant', content: `answer ${at}` },
  ]).flat()
  const key = await opened.store.write((tx) => fill(tx, said))
  const sent = (sent_messages: number, sent_size = 1_000_000) =>
    runToCompletion(readConversationSteps(opened.store, key, { sent_messages, sent_size })).map(
      ({ content }) => content,
    )
  assert.equal(sent(1_000).length, 500)
  assert.deepEqual(sent(5), ['question 248', 'answer 248', 'question 249', 'answer 249'])
  assert.deepEqual(sent(4), ['question 248', 'answer 248', 'question 249', 'answer 249'])
  assert.deepEqual(sent(1), ['question 249', 'answer 249'])
  assert.deepEqual(sent(1_000, 10), ['question 249', 'answer 249'])
})

test('of too many instructions the newest are sent', async () => {
  await using opened = await openStore()
  const said = Array.from({ length: 130 }, (_, at): NewMessage => ({ role: 'system', content: `rule ${at}` }))
  const question: NewMessage = { role: 'user', content: 'question' }
  const key = await opened.store.write((tx) => fill(tx, [...said, question, question]))
  const messages = runToCompletion(readConversationSteps(opened.store, key, { sent_messages: 1, sent_size: 1_000 }))
  assert.deepEqual(
    messages.map(({ content }) => content),
    [...said.slice(30).map(({ content }) => content), 'question'],
  )
})

test('of instructions that are too long together, the newest that fit are sent, and always the last', async () => {
  await using opened = await openStore()
  const said = Array.from({ length: 5 }, (_, at): NewMessage => ({ role: 'system', content: `${at}`.repeat(100) }))
  const key = await opened.store.write((tx) => fill(tx, [...said, { role: 'user', content: 'question' }]))
  const sent = (sent_size: number) => {
    const messages = runToCompletion(readConversationSteps(opened.store, key, { sent_messages: 1, sent_size }))
    return messages.map(({ content }) => (content as string)[0])
  }
  assert.deepEqual(sent(250), ['3', '4', 'q'])
  assert.deepEqual(sent(20), ['4', 'q'])
})
