// Deleted threads: followers are informed and released, and never get messages of another thread with the same number.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { type Bench, newThread, startChat } from '../chat/kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { connect, type Frame } from '../helpers/socket.ts'

let bench: Bench
before(async () => {
  bench = await startChat()
})
after(() => bench[Symbol.asyncDispose]())

const remove = (id: string) => call(bench.server, 'DELETE', `/api/threads/${id}`)
const deleted = (id: string) => (frame: Frame) =>
  frame.type === 'resource_change' && (frame.resource as { id: string }).id === id

test('followers of a deleted thread are informed after the end of its turn, and the server forgets the thread', async () => {
  await using client = await connect(bench.server)
  await using other = await connect(bench.server, { mode: 'text' })
  const thread_id = await newThread(bench.server)
  const answer = bench.led.answer(0)
  client.command('chat_message', { thread_id, content: 'Go', model: 'led/model' })
  const led = await answer
  led.say('So far')
  await client.next({ type: 'chunk' })
  other.command('resume_chat', { thread_id })
  await other.next({ type: 'chat_resumed' })
  assert.equal((await remove(thread_id)).status, 204)
  for (const one of [client, other]) {
    const frame = await one.next(deleted(thread_id))
    assert.deepEqual(frame, {
      type: 'resource_change',
      event: 'deleted',
      resource_type: 'thread',
      resource: { id: thread_id, etag: null },
    })
    const [before] = one.frames.slice(-2)
    assert.deepEqual([before?.type, before?.status], ['turn_update', 'interrupted'])
  }
  await until('nothing to be remembered', () => bench.server.context.chat.tracked_threads === 0)
})

test('a slow follower of a deleted thread gets nothing of the thread that is created next', async () => {
  const { chat } = bench.server.context
  const thread_id = await newThread(bench.server)
  const content = 'a'.repeat(900_000)
  for (let at = 0; at < 25; at++) await chat.threads.add(LOCAL_PRINCIPAL, thread_id, { content })
  await using client = await connect(bench.server)
  client.ws.pause()
  client.command('resume_chat', { thread_id })
  await until('it to be followed', () => chat.tracked_threads === 1)
  const { key } = chat.threads.row(LOCAL_PRINCIPAL, thread_id)
  assert.equal((await remove(thread_id)).status, 204)
  const stranger = { user_id: 'stranger', workspace_id: null }
  const { id } = await chat.threads.create(stranger, null)
  assert.notEqual(chat.threads.row(stranger, id).key, key, 'a key is given out once')
  for (let at = 0; at < 60; at++) await chat.threads.add(stranger, id, { content: `private ${at}` })
  client.ws.resume()
  await client.next(deleted(thread_id))
  assert.ok(!client.frames.some(({ message }) => JSON.stringify(message ?? '').includes('private')))
})

test('messages are read only for their owner, by any id', async () => {
  const { chat } = bench.server.context
  const stranger = { user_id: 'stranger', workspace_id: null }
  const { id } = await chat.threads.create(stranger, null)
  await chat.threads.add(stranger, id, { content: 'private' })
  assert.equal(chat.messages(stranger, id, 0, 10).length, 1)
  assert.deepEqual(chat.messages(LOCAL_PRINCIPAL, id, 0, 10), [])
})
