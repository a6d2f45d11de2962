// Threads and messages over HTTP: created, listed in pages, renamed, added, deleted; refusals; isolation of owners.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Message, Thread } from '../../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../../../src/access/principal.ts'
import { lines, messagesOf, newThread, threadOf } from '../../chat/kit.ts'
import { type Answer, call } from '../../helpers/http.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'

let server: TestServer
before(async () => {
  server = await startServer()
})
after(() => server[Symbol.asyncDispose]())

function say(thread_id: string, body: object): Promise<Answer<Message>> {
  return call<Message>(server, 'POST', `/api/threads/${thread_id}/messages`, { body })
}

function nextOf({ headers }: Answer): string | undefined {
  return /^<(.+)>; rel="next"$/.exec(String(headers.link ?? ''))?.[1]
}

/** The pages of a list, by their links. */
async function pages<T>(path: string): Promise<T[][]> {
  const found: T[][] = []
  for (let next: string | undefined = path; next; ) {
    const answer: Answer<T[]> = await call<T[]>(server, 'GET', next)
    assert.equal(answer.status, 200, answer.text)
    found.push(answer.body)
    next = nextOf(answer)
    assert.ok(found.length < 50)
  }
  return found
}

describe('a thread', () => {
  test('is created, read, renamed and deleted', async () => {
    const made = await call<Thread>(server, 'POST', '/api/threads', { body: {} })
    assert.equal(made.status, 201)
    const { id, title, status, last_sequence } = made.body
    assert.equal(made.headers.location, `/api/threads/${id}`)
    assert.deepEqual([title, status, last_sequence], [null, 'idle', 0])
    const path = `/api/threads/${id}`
    assert.deepEqual((await call(server, 'GET', path)).body, made.body)
    const renamed = await call<Thread>(server, 'PUT', path, { body: { title: 'A name' } })
    assert.equal(renamed.body.title, 'A name')
    assert.equal((await call<Thread>(server, 'PUT', path, { body: { title: null } })).body.title, 'A name')
    assert.equal((await say(id, { content: 'one' })).status, 201)
    assert.equal((await threadOf(server, id)).title, 'A name')
    assert.equal((await call(server, 'DELETE', path)).status, 204)
    for (const [method, where] of [
      ['GET', path],
      ['DELETE', path],
      ['GET', `${path}/messages`],
    ] as const)
      assert.equal((await call(server, method, where)).status, 404, `${method} ${where}`)
    assert.equal((await say(id, { content: 'late' })).status, 404)
  })

  test('has the title of its first message of the user, cut between words', async () => {
    const long = 'This is a rather long question about the weather of tomorrow in Graz, and of the day after as well'
    for (const [said, title] of [
      [['  Hello\n\tAda  '], 'Hello Ada'],
      [[long], 'This is a rather long question about the weather of tomorrow in Graz, and of…'],
      [['x'.repeat(500)], `${'x'.repeat(79)}…`],
      [[`${'x'.repeat(78)}👋 and more`], `${'x'.repeat(78)}…`],
      [[[{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }], 'Then this'], 'Then this'],
      [[[{ type: 'text', text: 'In a part' }]], 'In a part'],
    ] as const) {
      const id = await newThread(server)
      assert.equal((await say(id, { role: 'system', content: 'Be brief.' })).status, 201)
      for (const content of said) assert.equal((await say(id, { content })).status, 201)
      const { title: given } = await threadOf(server, id)
      assert.equal(given, title)
      assert.ok(given!.length <= 80)
    }
  })
})

test('is listed by its newest message, in pages that have each thread once', async () => {
  await using own = await startServer()
  const ids: string[] = []
  for (let at = 0; at < 7; at++) ids.push(await newThread(own, `Thread ${at}`))
  const { status } = await call(own, 'POST', `/api/threads/${ids[2]}/messages`, { body: { content: 'newest' } })
  assert.equal(status, 201)
  const seen: string[] = []
  for (let next: string | undefined = '/api/threads?limit=3'; next; ) {
    const answer: Answer<Thread[]> = await call<Thread[]>(own, 'GET', next)
    seen.push(...answer.body.map(({ id }) => id))
    next = nextOf(answer)
  }
  assert.equal(seen[0], ids[2])
  assert.deepEqual([...seen].sort(), [...ids].sort())
  assert.deepEqual(
    (await call<Thread[]>(own, 'GET', '/api/threads?q=READ%205')).body.map(({ title }) => title),
    ['Thread 5'],
  )
  for (const cursor of ['nonsense', Buffer.from('[1,2]').toString('base64url')])
    assert.equal((await call(own, 'GET', `/api/threads?cursor=${cursor}`)).status, 400)
})

describe('messages', () => {
  test('are numbered without gaps under concurrent writes, and can be read from any number on', async () => {
    const id = await newThread(server)
    await Promise.all(Array.from({ length: 20 }, (_, at) => say(id, { content: `message ${at}` })))
    const all = await messagesOf(server, id)
    assert.equal(all.length, 20)
    assert.equal((await threadOf(server, id)).last_sequence, 20)
    const found = await pages<Message>(`/api/threads/${id}/messages?limit=6&after_sequence=3`)
    assert.deepEqual(found.flat(), all.slice(3))
    assert.equal(found.length, 3)
    assert.deepEqual((await call(server, 'GET', `/api/threads/${id}/messages?after_sequence=999`)).body, [])
    assert.equal((await call(server, 'GET', `/api/threads/${id}/messages?cursor=x`)).status, 400)
  })

  test('have the parts of their role, and are refused with every invalid part', async () => {
    const id = await newThread(server)
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    const refused = await call<{ error: { problems: { path: string }[] } }>(
      server,
      'POST',
      `/api/threads/${id}/messages`,
      { body: { role: 'system', content: [image, { type: 'text', text: 'x' }, image] } },
    )
    assert.equal(refused.status, 400)
    assert.deepEqual(
      refused.body.error.problems.map(({ path }) => path),
      ['/body/content/0/type', '/body/content/2/type'],
    )
    for (const body of [
      {},
      { content: '' },
      { content: [] },
      { content: 'x', role: 'tool' },
      { content: 'x', more: 1 },
    ])
      assert.equal((await say(id, body)).status, 400, JSON.stringify(body))
    assert.equal((await say(id, { role: 'assistant', content: 'An earlier answer.' })).status, 201)
    assert.deepEqual(lines(await messagesOf(server, id)), ['assistant completed: An earlier answer.'])
  })

  test('are stored without the secrets of their owner', async () => {
    const own = 'a-secret-of-the-owner-1234'
    const { status } = await call(server, 'PUT', '/api/secrets/OF_CHAT', { body: { value: own } })
    assert.ok(status < 300)
    const id = await newThread(server)
    assert.equal((await say(id, { content: `It is ${own}, I think.` })).body.content, 'It is [redacted], I think.')
    const { context } = server
    const kept = context.chat.messages(LOCAL_PRINCIPAL, id, 0, 10)
    assert.equal(kept.length, 1)
    assert.ok(!JSON.stringify(kept).includes(own))
    assert.ok(!JSON.stringify(await threadOf(server, id)).includes(own))
  })
})

describe('limits', () => {
  test('for threads of an owner: one more gives 409, until a thread is deleted', async () => {
    await using small = await startServer({ chat_limits: { threads: 2 } })
    const [first] = [await newThread(small), await newThread(small)]
    assert.equal((await call(small, 'POST', '/api/threads', { body: {} })).status, 409)
    await small.context.chat.threads.create({ user_id: '1', workspace_id: 'another' }, null)
    assert.equal((await call(small, 'DELETE', `/api/threads/${first}`)).status, 204)
    await newThread(small)
  })

  test('for the number of messages, their total length, and the length of a message', async () => {
    await using small = await startServer({ chat_limits: { messages: 3, thread_size: 100, message_size: 60 } })
    const add = async (id: string, content: string) =>
      (await call(small, 'POST', `/api/threads/${id}/messages`, { body: { content } })).status
    const many = await newThread(small)
    for (let at = 0; at < 3; at++) assert.equal(await add(many, 'x'), 201)
    assert.equal(await add(many, 'x'), 409)
    const large = await newThread(small)
    assert.equal(await add(large, 'x'.repeat(59)), 413)
    assert.equal(await add(large, 'x'.repeat(58)), 201)
    assert.equal(await add(large, 'x'.repeat(58)), 409)
    assert.equal(await add(large, 'x'.repeat(30)), 201)
    assert.equal((await messagesOf(small, large)).length, 2)
  })
})
