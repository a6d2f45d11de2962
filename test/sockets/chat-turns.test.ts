// Which turns a command affects: a refusal none, a stop those that were requested before it; and limits under concurrency.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { type Bench, lines, messagesOf, newThread, startChat } from '../chat/kit.ts'
import { until } from '../helpers/server.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'

let bench: Bench
before(async () => {
  bench = await startChat()
})
after(() => bench[Symbol.asyncDispose]())

const ended = (thread_id: string) => (frame: Frame) =>
  frame.thread_id === thread_id && frame.type === 'turn_update' && frame.status !== 'running'

const codeOf = ({ error }: Frame) => (error as { code: string } | undefined)?.code

async function begun(client: Client, thread_id: string, on: Bench = bench) {
  const answer = on.led.answer(on.led.answers.length)
  client.command('chat_message', { thread_id, content: 'Go on', model: 'led/model' })
  const led = await answer
  led.say('and on')
  await client.next({ type: 'chunk', thread_id })
  return led
}

test('a stranger who names a thread is refused without waiting for its turns, as for an unknown thread', async () => {
  const { turns } = bench.server.context.chat
  const thread_id = await newThread(bench.server)
  const said = { content: 'Go on', model: 'led/model', at: '/data' }
  const order: string[] = []
  const answer = bench.led.answer(bench.led.answers.length)
  const owners = turns.submitMessage({ user_id: '1', workspace_id: null }, thread_id, said, () => {})
  const strangers = turns.submitMessage({ user_id: 'stranger', workspace_id: null }, thread_id, said, () => {})
  await Promise.all([
    owners.begun.then(() => order.push('begun')),
    assert.rejects(strangers.begun, { code: 'NOT_FOUND' }).then(() => order.push('refused')),
  ])
  assert.deepEqual(order, ['refused', 'begun'])
  ;(await answer).end()
  await owners.ended
})

describe('a refused message does not affect the running turn:', () => {
  const LIMITS = { message_size: 100, messages: 3, turns: 1 }
  const REFUSED: readonly [what: string, code: string, refuse: (on: Bench) => Promise<object> | object][] = [
    ['too large', 'REQUEST_TOO_LARGE', () => ({ content: 'x'.repeat(200) })],
    ['one too many', 'CONFLICT', () => ({ content: 'more' })],
    ['with a tool that there is not', 'INVALID_REQUEST', () => ({ content: 'x', tools: ['workflow/none'] })],
    [
      'at the end of the server',
      'SERVICE_UNAVAILABLE',
      ({ server }) => {
        server.context.chat.turns.close()
        return { content: 'more' }
      },
    ],
  ]
  for (const [what, code, refuse] of REFUSED)
    test(what, async () => {
      const messages = code === 'CONFLICT' ? 1 : LIMITS.messages
      await using small = await startChat({ chat_limits: { ...LIMITS, messages } })
      await using client = await connect(small.server)
      const thread_id = await newThread(small.server)
      const led = await begun(client, thread_id, small)
      const data = { thread_id, model: 'led/model', ...(await refuse(small)) }
      assert.equal(codeOf(await client.ask('chat_message', data)), code)
      assert.equal(led.signal.aborted, false)
      led.end()
      assert.equal((await client.next(ended(thread_id))).status, 'completed')
      assert.deepEqual(lines(await messagesOf(small.server, thread_id)), [
        'user completed: Go on',
        'assistant completed: and on',
      ])
    })
})

test('a message that was accepted below the limit is stored, even if the turn before it reaches the limit', async () => {
  await using small = await startChat({ chat_limits: { messages: 2 } })
  await using client = await connect(small.server)
  const thread_id = await newThread(small.server)
  await begun(client, thread_id, small)
  client.command('chat_message', { thread_id, content: 'Then this', model: 'builtin/echo' })
  await client.next((frame) => ended(thread_id)(frame) && frame.status === 'completed')
  assert.equal((await messagesOf(small.server, thread_id)).length, 4)
})

test('concurrent messages get no more turns than sequential ones', async () => {
  await using small = await startChat({ chat_limits: { turns: 2 } })
  await using client = await connect(small.server)
  const threads = await Promise.all(Array.from({ length: 8 }, () => newThread(small.server)))
  const sent = threads.map((thread_id, at) => {
    client.command('chat_message', { thread_id, content: 'Go', model: 'led/model' }, `r${at}`)
    return client.next((frame) => frame.request_id === `r${at}` || frame.thread_id === thread_id)
  })
  const codes = (await Promise.all(sent)).map(codeOf)
  assert.equal(codes.filter((code) => code === 'RATE_LIMITED').length, 6)
  // The running turn of the thread does not count against the message that supersedes it.
  client.command('chat_message', { thread_id: threads[0], content: 'Again', model: 'builtin/echo' })
  assert.equal((await client.next(ended(threads[0]!))).status, 'interrupted')
})

test('few long threads call a model at a time, and others wait for their answers', async () => {
  await using small = await startChat({ chat_limits: { long_turns: 2, sent_size: 100 } })
  await using client = await connect(small.server)
  const begin = async (content: string) => {
    const thread_id = await newThread(small.server)
    client.command('chat_message', { thread_id, content, model: 'led/model' })
    await client.next({ type: 'turn_update', thread_id, status: 'running' })
    return thread_id
  }
  const long = 'x'.repeat(300)
  await begin(`1${long}`)
  await begin(`2${long}`)
  const third = await begin(`3${long}`)
  const fourth = await begin(`4${long}`)
  await begin('short')
  const asked = () => small.led.answers.map(({ request }) => String(request.messages.at(-1)?.content).slice(0, 5))
  await small.led.answer(2)
  assert.deepEqual(asked(), ['1xxxx', '2xxxx', 'short'])
  // A waiting turn can be stopped, and leaves the queue.
  client.command('stop', { thread_id: third })
  assert.equal((await client.next(ended(third))).status, 'interrupted')
  small.led.answers[0]!.end()
  await small.led.answer(3)
  assert.equal(asked()[3], '4xxxx')
  for (const led of small.led.answers) if (!led.ended) led.end()
  assert.equal((await client.next(ended(fourth))).status, 'completed')
})

describe('stop', () => {
  test('also ends messages that wait for a turn, but nothing that is sent later', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    for (const content of ['A', 'B', 'C']) client.command('chat_message', { thread_id, content, model: 'led/model' })
    const stopped = client.ask('stop')
    client.command('inference', { messages: [{ role: 'user', content: 'later' }], model: 'builtin/echo' }, 'later')
    assert.equal((await stopped).stopped, 3)
    const later = await client.next({ type: 'rpc_response', request_id: 'later' })
    assert.match(JSON.stringify(later.result), /"content":"later"/)
    await until('all to be answered', async () => {
      const told = lines(await messagesOf(bench.server, thread_id))
      return told.filter((line) => line === 'assistant interrupted: ').length === 3
    })
    assert.equal(bench.server.context.chat.turns.isRunning(thread_id), false)
  })

  test('of a thread overtakes the messages that wait in it', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    for (const content of ['A', 'B']) client.command('chat_message', { thread_id, content, model: 'led/model' })
    assert.equal((await client.ask('stop', { thread_id })).stopped, 2)
    await until('all to be answered', async () => (await messagesOf(bench.server, thread_id)).length === 4)
    assert.equal(bench.server.context.chat.turns.isRunning(thread_id), false)
  })

  test('without a thread does not end the turn of another socket in a thread where this socket had a turn', async () => {
    await using mine = await connect(bench.server)
    await using other = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    mine.command('chat_message', { thread_id, content: 'Mine', model: 'builtin/echo' })
    await mine.next(ended(thread_id))
    const led = await begun(other, thread_id)
    assert.equal((await mine.ask('stop')).stopped, 0)
    led.end()
    assert.equal((await other.next(ended(thread_id))).status, 'completed')
  })
})

test('the draft of a turn names its model, however the model was chosen', async () => {
  const db = new Database(join(bench.server.data_dir, 'svc.db'), { readonly: true })
  try {
    for (const choice of [{ provider: 'led', model: 'model' }, { model: 'led/model' }, { provider: 'led' }]) {
      await using client = await connect(bench.server)
      const thread_id = await newThread(bench.server)
      const answer = bench.led.answer(bench.led.answers.length)
      client.command('chat_message', { thread_id, content: 'Who?', ...choice })
      const led = await answer
      const select = db.prepare('select provider, model from turn join thread on key = thread_key where thread.id = ?')
      await until('the draft', () => (select.get(thread_id) as { model: string | null } | undefined)?.model === 'model')
      assert.deepEqual(select.get(thread_id), { provider: 'led', model: 'model' })
      led.end()
      await client.next(ended(thread_id))
    }
  } finally {
    db.close()
  }
})
