// Chat on `/ws`: a message and its answer in both encodings, followers, superseding, stop, refusals.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Message } from '../../generated/types.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { type Bench, lines, messagesOf, newThread, startChat, threadOf, usage } from '../chat/kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { connect, type Frame } from '../helpers/socket.ts'

let bench: Bench
before(async () => {
  bench = await startChat()
})
after(() => bench[Symbol.asyncDispose]())

const shape = ({ type, status, sequence, offset, content, done, message }: Frame) => {
  if (type === 'turn_update') return `turn ${status}`
  if (type === 'chunk') return `chunk ${sequence}@${offset} ${JSON.stringify(content)}${done ? ' done' : ''}`
  if (type !== 'message') return String(type)
  const { role, status: how, content: text } = message as unknown as Message
  return `message ${role} ${how} ${text}`
}

const ended = (frame: Frame) => frame.type === 'turn_update' && frame.status !== 'running'

/** The next answer of the provider, for any caller. */
const next = () => bench.led.answer(bench.led.answers.length)

describe('a turn', () => {
  for (const mode of ['binary', 'text'] as const) {
    test(`is sent and stored, in the encoding ${mode}`, async () => {
      await using client = await connect(bench.server, { mode })
      const thread_id = await newThread(bench.server)
      const answer = next()
      client.command('chat_message', { thread_id, content: 'Say hello to Ada, please.', model: 'led/model' })
      const led = await answer
      assert.deepEqual(led.request.messages, [{ role: 'user', content: 'Say hello to Ada, please.' }])
      led.give({ type: 'thinking', text: 'Hm.' })
      led.say('Hello, ', 'Ada. ', '👋')
      led.end()
      const end = await client.next(ended)
      assert.deepEqual([end.status, end.last_sequence, end.error], ['completed', 2, null])
      assert.deepEqual(client.frames.filter((frame) => frame.thread_id === thread_id).map(shape), [
        'turn running',
        'message user completed Say hello to Ada, please.',
        'chunk 2@0 "Hm."',
        'chunk 2@0 "Hello, "',
        'chunk 2@7 "Ada. "',
        'chunk 2@12 "👋"',
        'chunk 2@14 "" done',
        'message assistant completed Hello, Ada. 👋',
        'turn completed',
      ])
      const stored = await messagesOf(bench.server, thread_id)
      assert.deepEqual(lines(stored), [
        'user completed: Say hello to Ada, please.',
        'assistant completed: Hello, Ada. 👋',
      ])
      const { provider, model, usage: used, workflow_id, job_id } = stored[1]!
      assert.deepEqual(
        { provider, model, used, workflow_id, job_id },
        { provider: 'led', model: 'model', used: usage, workflow_id: null, job_id: null },
      )
      const { title, status, last_sequence } = await threadOf(bench.server, thread_id)
      assert.deepEqual([title, status, last_sequence], ['Say hello to Ada, please.', 'idle', 2])
    })
  }

  test('continues after its socket has closed, and another socket follows it from its present position', async () => {
    const thread_id = await newThread(bench.server)
    const answer = next()
    {
      await using client = await connect(bench.server)
      client.command('chat_message', { thread_id, content: 'Count', provider: 'led', model: 'model' })
      const led = await answer
      // A chunk that ends with a space cannot hold the beginning of a secret, which would be held back.
      led.say('one ', 'two ')
      await client.next({ type: 'chunk', content: 'two ' })
    }
    const led = await answer
    led.say('three ')
    await using client = await connect(bench.server)
    client.command('resume_chat', { thread_id, after_sequence: 0 })
    await client.next({ type: 'chat_resumed' })
    led.say('four')
    led.end()
    await client.next(ended)
    assert.deepEqual(client.frames.map(shape).slice(0, 2), ['chat_resumed', 'message user completed Count'])
    assert.match(shape(client.frames[2]!), /^chunk 2@0 "one two (three )?"$/)
    assert.equal((await threadOf(bench.server, thread_id)).status, 'idle')
    assert.deepEqual(lines(await messagesOf(bench.server, thread_id)).at(-1), 'assistant completed: one two three four')
  })

  test('is superseded by a new message, whose turn includes the text so far', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const first = next()
    client.command('chat_message', { thread_id, content: 'First', model: 'led/model' })
    const led = await first
    led.say('Half of ')
    await client.next({ type: 'chunk', content: 'Half of ' })
    const second = next()
    client.command('chat_message', { thread_id, content: 'Second', model: 'led/model' })
    const other = await second
    await until('the first to end', () => led.ended)
    assert.deepEqual(other.request.messages, [
      { role: 'user', content: 'First' },
      { role: 'assistant', content: 'Half of ' },
      { role: 'user', content: 'Second' },
    ])
    other.say('Whole')
    other.end()
    await client.next({ type: 'turn_update', status: 'completed' })
    assert.deepEqual(lines(await messagesOf(bench.server, thread_id)), [
      'user completed: First',
      'assistant interrupted: Half of ',
      'user completed: Second',
      'assistant completed: Whole',
    ])
    const told = client.frames.filter(({ type }) => type === 'turn_update').map(shape)
    assert.deepEqual(told, ['turn running', 'turn interrupted', 'turn running', 'turn completed'])
    const interrupted = (await messagesOf(bench.server, thread_id))[1]!
    assert.ok(interrupted.usage!.total_tokens > 0)
  })

  test('that fails keeps its text, and gives a reason that reveals nothing', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const answer = next()
    client.command('chat_message', { thread_id, content: 'Fail', model: 'led/model' })
    const led = await answer
    led.say('So far')
    led.fail(new ProviderError('failed', 'no words for clients', { cause: new Error('sk-secret') }))
    const end = await client.next(ended)
    assert.equal(end.status, 'failed')
    assert.equal((end.error as { code: string }).code, 'UPSTREAM_ERROR')
    const stored = (await messagesOf(bench.server, thread_id)).at(-1)!
    assert.deepEqual([stored.status, stored.content], ['failed', 'So far'])
    assert.equal(stored.error, 'The model provider failed or returned an invalid response.')
    assert.ok(!JSON.stringify(client.frames).includes('sk-secret'))
  })

  test('of an unknown model fails as well, and the thread continues', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    client.command('chat_message', { thread_id, content: 'Hello?', model: 'nobody/nothing' })
    assert.equal(((await client.next(ended)).error as { code: string }).code, 'MODEL_NOT_FOUND')
    client.command('chat_message', { thread_id, content: 'And now', model: 'builtin/echo' })
    assert.equal((await client.next(ended)).status, 'completed')
    assert.deepEqual(lines(await messagesOf(bench.server, thread_id)), [
      'user completed: Hello?',
      'assistant failed: ',
      'user completed: And now',
      'assistant completed: And now',
    ])
  })
})

describe('stop', () => {
  test('ends the turn of a thread from any socket', async () => {
    await using client = await connect(bench.server)
    await using other = await connect(bench.server, { mode: 'text' })
    const thread_id = await newThread(bench.server)
    const answer = next()
    client.command('chat_message', { thread_id, content: 'Go on', model: 'led/model' })
    const led = await answer
    led.say('on and ')
    await client.next({ type: 'chunk', content: 'on and ' })
    assert.equal((await other.ask('stop', { thread_id })).stopped, 1)
    assert.equal((await client.next(ended)).status, 'interrupted')
    await until('the model to be let go', () => led.ended)
    assert.equal((await other.ask('stop', { thread_id })).stopped, 0)
    assert.deepEqual(lines(await messagesOf(bench.server, thread_id)).at(-1), 'assistant interrupted: on and ')
  })

  test('without a thread ends only turns and inferences of this socket', async () => {
    await using client = await connect(bench.server)
    await using other = await connect(bench.server)
    const [mine, others] = [await newThread(bench.server), await newThread(bench.server)]
    const first = next()
    other.command('chat_message', { thread_id: others, content: 'Other', model: 'led/model' })
    const kept = await first
    client.command('chat_message', { thread_id: mine, content: 'Mine', model: 'led/model' })
    // The turn may not have begun yet.
    assert.equal((await client.ask('stop')).stopped, 1)
    assert.equal((await client.next(ended)).status, 'interrupted')
    assert.equal((await threadOf(bench.server, others)).status, 'running')
    kept.end()
    await other.next(ended)
  })

  test('of an unknown thread is NOT_FOUND', async () => {
    await using client = await connect(bench.server)
    const { error } = await client.ask('stop', { thread_id: 'thread_nowhere' })
    assert.equal((error as { code: string }).code, 'NOT_FOUND')
  })
})

describe('refusals', () => {
  test('an unknown thread gives an error if there is a request id, else a failed turn', async () => {
    await using client = await connect(bench.server)
    const data = { thread_id: 'thread_nowhere', content: 'x' }
    assert.equal(((await client.ask('chat_message', data)).error as { code: string }).code, 'NOT_FOUND')
    client.command('chat_message', data)
    const failed = await client.next({ type: 'turn_update' })
    assert.deepEqual([failed.thread_id, failed.status, failed.last_sequence], ['thread_nowhere', 'failed', 0])
    for (const command of ['resume_chat', 'tool_result', 'stop']) {
      const more = command === 'tool_result' ? { tool_call_id: 'call' } : {}
      client.command(command, { thread_id: `thread_of_${command}`, ...more })
      const told = await client.next({ thread_id: `thread_of_${command}` })
      assert.deepEqual(
        [told.type, told.status, (told.error as { code: string }).code],
        ['turn_update', 'failed', 'NOT_FOUND'],
      )
      const { error } = await client.ask(command, { thread_id: 'thread_nowhere', ...more })
      assert.equal((error as { code: string }).code, 'NOT_FOUND', command)
    }
  })

  test('an invalid command without a request id is answered with the id of its thread', async () => {
    await using client = await connect(bench.server)
    client.command('chat_message', { thread_id: 'thread_1' })
    const told = await client.next({ type: 'error' })
    assert.deepEqual([told.command, told.thread_id], ['chat_message', 'thread_1'])
    assert.match(String(told.message), /content/)
  })

  const BAD: Readonly<Record<string, object>> = {
    'a part that users do not say': { content: [{ type: 'refusal', refusal: 'no' }] },
    'a model and a workflow at once': { content: 'x', model: 'led/model', workflow_id: 'greeting' },
    'a tool that there is not': { content: 'x', tools: ['no.such'] },
    'a workflow as a tool that there is not': { content: 'x', tools: ['workflow/none'] },
    'two tools of one name': {
      content: 'x',
      tools: ['a', 'a'].map((name) => ({ type: 'function', function: { name } })),
    },
    'an empty message': { content: '' },
    'no content': {},
  }
  for (const [what, data] of Object.entries(BAD)) {
    test(`${what}: nothing is stored`, async () => {
      await using client = await connect(bench.server)
      const thread_id = await newThread(bench.server)
      const { error } = await client.ask('chat_message', { thread_id, ...data })
      assert.equal((error as { code: string }).code, 'INVALID_REQUEST')
      assert.deepEqual(await messagesOf(bench.server, thread_id), [])
    })
  }
})

test('while a turn runs, no other message can be added, and a deletion ends the turn first', async () => {
  await using client = await connect(bench.server)
  const thread_id = await newThread(bench.server)
  const answer = next()
  client.command('chat_message', { thread_id, content: 'Go', model: 'led/model' })
  const led = await answer
  assert.equal((await threadOf(bench.server, thread_id)).status, 'running')
  const path = `/api/threads/${thread_id}`
  const added = await call(bench.server, 'POST', `${path}/messages`, { body: { content: 'beside' } })
  assert.equal(added.status, 409)
  assert.equal((await call(bench.server, 'DELETE', path)).status, 204)
  assert.equal((await client.next(ended)).status, 'interrupted')
  await until('the model to be let go', () => led.ended)
  assert.equal((await call(bench.server, 'GET', path)).status, 404)
  assert.equal(((await client.ask('resume_chat', { thread_id })).error as { code: string }).code, 'NOT_FOUND')
})

test('the server forgets ended turns and closed sockets', async () => {
  {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    client.command('chat_message', { thread_id, content: 'Hello', model: 'builtin/echo' })
    await client.next(ended)
    assert.equal(bench.server.context.chat.tracked_threads, 1)
  }
  await until('nothing to be remembered', () => bench.server.context.chat.tracked_threads === 0)
})
