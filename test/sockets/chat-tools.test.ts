// Tools in a chat: tools of the client, which answers on any of its sockets, and workflows of the caller.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ChatMessage } from '../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../src/db/owner-scope.ts'
import { type Steps, yieldToEventLoop } from '../../src/shared/time-slices.ts'
import { type Bench, lines, messagesOf, newThread, startChat } from '../chat/kit.ts'
import { until } from '../helpers/server.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
import { graph, greeting, node, stored } from './kit.ts'

const OWNER: OwnerScope = { user_id: '1', workspace_id: null }

let bench: Bench
before(async () => {
  bench = await startChat({ chat_limits: { steps: 4, calls: 3 } })
})
after(() => bench[Symbol.asyncDispose]())

const ended = (frame: Frame) => frame.type === 'turn_update' && frame.status !== 'running'
const next = () => bench.led.answer(bench.led.answers.length)

function tool(name: string) {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  return { type: 'function', function: { name, description: 'Of the client.', parameters } }
}

function call(index: number, name: string, args: string, id = `id-${index}-${Math.random()}`) {
  return { type: 'tool_call', index, id, name, arguments: args } as const
}

async function ask(client: Client, thread_id: string, tools: readonly unknown[]) {
  const answer = next()
  client.command('chat_message', { thread_id, content: 'How is the weather?', model: 'led/model', tools })
  return answer
}

const idsIn = (messages: readonly ChatMessage[]) =>
  messages.flatMap((message) => {
    if (message.role === 'tool') return [message.tool_call_id]
    return message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : []
  })

const roles = (messages: readonly ChatMessage[]) => messages.map(({ role, content }) => `${role}: ${String(content)}`)

describe('tools of the client', () => {
  test('parallel calls each wait for their result, and the model continues with both', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const led = await ask(client, thread_id, [tool('weather')])
    assert.equal(led.request.tools?.length, 1)
    led.say('Let me look.')
    led.give(call(0, 'weather', '{"city":', 'id-a'), call(1, 'weather', '{"city":"Graz"}', 'id-b'))
    led.give({ type: 'tool_call', index: 0, arguments: '"Linz"}' })
    led.end('tool_calls')
    const asked = await client.next({ type: 'tool_call_update' })
    assert.deepEqual([asked.name, asked.arguments, asked.executor], ['weather', { city: 'Linz' }, 'client'])
    const other = await client.next((frame) => frame.type === 'tool_call_update' && frame !== asked)
    const ids = [asked.tool_call_id, other.tool_call_id]
    const after = next()
    const second = await client.ask('tool_result', { thread_id, tool_call_id: ids[1], error: 'no such city' })
    assert.equal(second.tool_call_id, ids[1])
    await client.ask('tool_result', { thread_id, tool_call_id: ids[0], result: { sky: 'blue' } })
    const more = await after
    assert.deepEqual(idsIn(more.request.messages), ['id-a', 'id-b', 'id-b', 'id-a'], 'as the provider knows them')
    assert.deepEqual(roles(more.request.messages), [
      'user: How is the weather?',
      'assistant: Let me look.',
      'tool: Error: no such city',
      'tool: {"sky":"blue"}',
    ])
    more.say('Blue.')
    more.end()
    await client.next(ended)
    const messages = await messagesOf(bench.server, thread_id)
    assert.deepEqual(lines(messages), [
      'user completed: How is the weather?',
      'assistant completed: Let me look.',
      'tool failed: Error: no such city',
      'tool completed: {"sky":"blue"}',
      'assistant completed: Blue.',
    ])
    assert.deepEqual(
      messages[1]!.tool_calls?.map(({ id }) => id),
      ids,
    )
    const again = await client.ask('tool_result', { thread_id, tool_call_id: ids[0], result: 1 })
    assert.equal((again.error as { code: string }).code, 'NOT_FOUND')
  })

  test('a call stays open while its client is disconnected, and is sent again after a reconnect', async () => {
    const thread_id = await newThread(bench.server)
    let id: unknown
    {
      await using client = await connect(bench.server)
      const led = await ask(client, thread_id, [tool('weather')])
      led.give(call(0, 'weather', '{}', 'id-away'))
      led.end('tool_calls')
      id = (await client.next({ type: 'tool_call_update' })).tool_call_id
    }
    await using client = await connect(bench.server, { mode: 'text' })
    client.command('resume_chat', { thread_id, after_sequence: 1 })
    const told = await client.next({ type: 'tool_call_update' })
    assert.equal(told.tool_call_id, id)
    const after = next()
    await client.ask('tool_result', { thread_id, tool_call_id: id })
    const more = await after
    assert.equal(more.request.messages.at(-1)!.content, 'null')
    more.end()
    await client.next(ended)
  })

  test('a turn that is superseded while a call is open leaves no call without a result in the thread', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const led = await ask(client, thread_id, [tool('weather')])
    led.give(call(0, 'weather', '{}', 'id-left'))
    led.end('tool_calls')
    const { tool_call_id } = await client.next({ type: 'tool_call_update' })
    const after = next()
    client.command('chat_message', { thread_id, content: 'Never mind', model: 'led/model' })
    const more = await after
    assert.deepEqual(roles(more.request.messages), [
      'user: How is the weather?',
      'assistant: null',
      'tool: Error: the call was interrupted before it gave a result. It may have taken effect, or still do so. Find out what came of it before you make it again.',
      'user: Never mind',
    ])
    const late = await client.ask('tool_result', { thread_id, tool_call_id, result: 1 })
    assert.equal((late.error as { code: string }).code, 'NOT_FOUND')
    more.end()
    await client.next({ type: 'turn_update', status: 'completed' })
  })

  test('a long result that is not stored yet when its turn ends is no part of the thread', async () => {
    await using client = await connect(bench.server)
    const { chat } = bench.server.context
    const { slices } = bench.server.context.schedulers
    const thread_id = await newThread(bench.server)
    const led = await ask(client, thread_id, [tool('weather')])
    led.give(call(0, 'weather', '{}', 'id-long'), call(1, 'weather', '{}', 'id-open'))
    led.end('tool_calls')
    const { tool_call_id } = await client.next({ type: 'tool_call_update' })
    await client.next((frame) => frame.type === 'tool_call_update' && frame.tool_call_id !== tool_call_id)
    let isFree = false
    function* untilFree(): Steps<void> {
      while (!isFree) yield
    }
    const busy = slices.run(userShareKey(OWNER), untilFree())
    const result = 'x'.repeat(500_000)
    const given = chat.turns.submitToolResult(OWNER, thread_id, String(tool_call_id), { result, error: null })
    const refused = assert.rejects(given, { code: 'NOT_FOUND' })
    await yieldToEventLoop()
    await chat.turns.interrupt(thread_id)
    await client.next({ type: 'turn_update', status: 'interrupted' })
    isFree = true
    await busy
    await refused
    assert.deepEqual(
      (await messagesOf(bench.server, thread_id)).map(({ role, status }) => `${role} ${status}`),
      ['user completed', 'assistant completed', 'assistant interrupted'],
    )
  })

  for (const id of ['call_0', 'functions.weather:0', 'x'.repeat(600), ''])
    test(`the id "${id.slice(0, 20)}", given to two calls, is replaced in both for the client`, async () => {
      await using client = await connect(bench.server)
      const thread_id = await newThread(bench.server)
      const ids: unknown[] = []
      for (const content of ['One', 'Two']) {
        const answer = next()
        client.command('chat_message', { thread_id, content, model: 'led/model', tools: [tool('weather')] })
        const led = await answer
        led.give(call(0, 'weather', '{}', id))
        led.end('tool_calls')
        const asked = await client.next((f) => f.type === 'tool_call_update' && !ids.includes(f.tool_call_id))
        ids.push(asked.tool_call_id)
      }
      const late = await client.ask('tool_result', { thread_id, tool_call_id: ids[0], result: 'of the first' })
      assert.equal((late.error as { code: string }).code, 'NOT_FOUND')
      const after = next()
      await client.ask('tool_result', { thread_id, tool_call_id: ids[1], result: 'of the second' })
      const more = await after
      assert.equal(more.request.messages.at(-1)!.content, 'of the second')
      more.end()
      await client.next({ type: 'turn_update', status: 'completed' })
    })

  test('a tool that takes free text gets the model’s text, and is sent back as the same kind of call', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const led = await ask(client, thread_id, [{ type: 'custom', custom: { name: 'query' } }])
    led.give({ ...call(0, 'query', 'SELECT ', 'id-q'), custom: true })
    led.give({ type: 'tool_call', index: 0, arguments: '1' })
    led.end('tool_calls')
    const asked = await client.next({ type: 'tool_call_update' })
    assert.deepEqual([asked.name, asked.arguments, asked.executor], ['query', { input: 'SELECT 1' }, 'client'])
    const after = next()
    await client.ask('tool_result', { thread_id, tool_call_id: asked.tool_call_id, result: [1] })
    const more = await after
    const [, called] = more.request.messages
    assert.deepEqual(called?.role === 'assistant' && called.tool_calls, [
      { id: 'id-q', type: 'custom', custom: { name: 'query', input: 'SELECT 1' } },
    ])
    more.end()
    await client.next(ended)
    const [, kept] = await messagesOf(bench.server, thread_id)
    assert.equal(kept!.tool_calls![0]!.type, 'custom')
  })

  test('a call without a name makes the answer invalid', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const led = await ask(client, thread_id, [tool('weather')])
    led.give({ type: 'tool_call', index: 0, id: 'x', arguments: '{}' })
    led.end('tool_calls')
    const end = await client.next(ended)
    assert.deepEqual([end.status, (end.error as { code: string }).code], ['failed', 'UPSTREAM_ERROR'])
    assert.deepEqual(
      (await messagesOf(bench.server, thread_id)).map(({ tool_calls }) => tool_calls),
      [null, null],
    )
  })

  const UNTOLD = ['[1', '{"__proto__":{"a":1}}', '{"n":1e400}', `{"n":${'['.repeat(3_000)}${']'.repeat(3_000)}}`]
  test('the model gets an error for arguments that are no JSON object, and for unknown tools', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    let led = await ask(client, thread_id, [tool('weather')])
    for (const args of UNTOLD.slice(0, 2)) {
      const after = next()
      led.give(
        call(0, 'weather', args),
        call(1, 'weather', UNTOLD[args === UNTOLD[0] ? 2 : 3]!),
        call(2, 'nothing', ''),
      )
      led.end('tool_calls')
      led = await after
      assert.deepEqual(roles(led.request.messages.slice(-3)).sort(), [
        'tool: Error: The arguments are no JSON object.',
        'tool: Error: The arguments are no JSON object.',
        'tool: Error: There is no tool "nothing".',
      ])
    }
    const more = led
    more.end()
    await client.next(ended)
  })

  test('arguments are read only up to the limit of a turn', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const led = await ask(client, thread_id, [tool('weather')])
    const after = next()
    led.give(call(0, 'weather', JSON.stringify({ a: 'x'.repeat(500_000) })), call(1, 'weather', '{}'))
    led.end('tool_calls')
    const more = await after
    const beyond = 'tool: Error: At most 500,000 characters of arguments are read in one turn.'
    assert.deepEqual(roles(more.request.messages.slice(-2)), [beyond, beyond])
    more.end()
    await client.next(ended)
  })

  test('a model that calls tools forever is asked a last time without tools, and fails if it calls one again', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    let led = await ask(client, thread_id, [tool('weather')])
    for (let step = 1; step <= 4; step++) {
      assert.equal(led.request.tool_choice, step === 4 ? 'none' : undefined)
      const after = step === 4 ? null : next()
      led.give(call(0, 'nothing', '{}'))
      led.end('tool_calls')
      if (after) led = await after
    }
    const end = await client.next(ended)
    assert.deepEqual([end.status, (end.error as { code: string }).code], ['failed', 'UPSTREAM_ERROR'])
  })
})

test('a call without a result in time fails, and the turn continues', async () => {
  await using short = await startChat({ chat_limits: { tool_ms: 50 } })
  await using client = await connect(short.server)
  const thread_id = await newThread(short.server)
  const tools = [tool('weather')]
  client.command('chat_message', { thread_id, content: 'How is it?', model: 'led/model', tools })
  const led = await short.led.answer(0)
  led.give(call(0, 'weather', '{}'))
  led.end('tool_calls')
  const more = await short.led.answer(1)
  assert.equal(more.request.messages.at(-1)!.content, 'Error: The client gave no result in time.')
  more.end()
  assert.equal((await client.next(ended)).status, 'completed')
})

describe('tools of the server', () => {
  test('a workflow of the caller runs as a job, and the model gets its outputs', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const id = await stored(bench.server, greeting)
    const led = await ask(client, thread_id, [`workflow/${id}`])
    const [definition] = led.request.tools!
    assert.ok(definition?.type === 'function')
    const { name, parameters } = definition.function
    assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
    assert.ok('name' in (parameters as { properties: object }).properties)
    const after = next()
    led.give(call(0, name, '{"name":"Ada"}', 'id-run'))
    led.end('tool_calls')
    const asked = await client.next({ type: 'tool_call_update' })
    assert.deepEqual([asked.name, asked.executor], [`workflow/${id}`, 'server'])
    const result = await client.next({ type: 'tool_result_update' })
    assert.deepEqual([result.result, result.error], [{ greeting: 'Hello, Ada!' }, null])
    const more = await after
    assert.equal(more.request.messages.at(-1)!.content, '{"greeting":"Hello, Ada!"}')
    more.end()
    await client.next(ended)
    const { job_id } = (await messagesOf(bench.server, thread_id))[2]!
    assert.ok(job_id)
    assert.equal((await client.ask('get_status', { job_id })).status, 'completed')
  })

  test('the model gets an error for invalid arguments and for failed runs', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const failing = graph(
      [node('fail', 'math.Formula', { formula: '1 / 0' }), node('out', 'output.Output', { name: 'x' })],
      ['fail.output->out.value'],
    )
    const ids = [await stored(bench.server, greeting), await stored(bench.server, failing)]
    const led = await ask(
      client,
      thread_id,
      ids.map((id) => `workflow/${id}`),
    )
    const [first, second] = ids.map((id) => `workflow_${id}`)
    const after = next()
    led.give(call(0, first!, '{"nobody":1}'), call(1, second!, '{}'))
    led.end('tool_calls')
    const more = await after
    const results = roles(more.request.messages.slice(2)).sort()
    assert.match(results[0]!, /^tool: Error: The run \w+ of the workflow gave no result: /)
    assert.match(results[1]!, /^tool: Error: .*nobody/)
    more.end()
    await client.next(ended)
  })

  test('a workflow answers instead of a model, with the id of its job', async () => {
    await using client = await connect(bench.server)
    const thread_id = await newThread(bench.server)
    const id = await stored(
      bench.server,
      graph(
        [
          node('in', 'input.String', { name: 'message', value: '' }),
          node('say', 'text.Template', { template: 'You said: {{said}}' }),
          node('out', 'output.Output', { name: 'answer' }),
        ],
        ['in.output->say.said', 'say.output->out.value'],
      ),
    )
    client.command('chat_message', { thread_id, content: 'Good morning', workflow_id: id })
    const end = await client.next(ended)
    assert.equal(end.status, 'completed', JSON.stringify(end.error))
    const answer = (await messagesOf(bench.server, thread_id)).at(-1)!
    assert.deepEqual([answer.content, answer.workflow_id], ['You said: Good morning', id])
    assert.ok(answer.job_id !== null && answer.job_id === end.job_id)
    await until('usage', () => answer.usage && answer.usage.total_tokens > 0)
  })
})
