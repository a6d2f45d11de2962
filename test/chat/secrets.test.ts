// Keys of a caller, planted in all messages and calls: none of them is stored, sent to a client or sent to a model.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Thread } from '../../generated/types.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { call } from '../helpers/http.ts'
import { connect, type Frame } from '../helpers/socket.ts'
import { makeWorkflow } from '../settings/kit.ts'
import { messagesOf, newThread, Reader, startChat } from './kit.ts'

const KEY = 'planted-key-4711-of-a-caller'
const MARK = '[redacted]'

const ended = (frame: Frame) => frame.type === 'turn_update' && frame.status !== 'running'

/** The text in the files of the data folder. */
function filesOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')).join('\n')
}

test('a key in a message, an answer, a tool call, a tool result or an error is in no row, frame or request', async () => {
  await using bench = await startChat()
  const { server, led } = bench
  assert.ok((await call(server, 'PUT', '/api/secrets/PLANTED', { body: { value: KEY } })).status < 300)
  await using client = await connect(server)
  const thread_id = await newThread(server)
  const tools = [{ type: 'function', function: { name: 'look', description: `With ${KEY}.` } }]
  client.command('chat_message', { thread_id, content: `It is ${KEY}.`, model: 'led/model', tools })
  const first = await led.answer(0)
  assert.ok(!JSON.stringify(first.request).includes(KEY))
  first.say(`So ${KEY}`, ', and then ', KEY.slice(0, 9), KEY.slice(9))
  first.give({ type: 'tool_call', index: 0, id: `id-${KEY}`, name: 'look', arguments: JSON.stringify({ with: KEY }) })
  first.end('tool_calls')
  const asked = await client.next({ type: 'tool_call_update' })
  assert.deepEqual(asked.arguments, { with: MARK })
  await client.ask('tool_result', { thread_id, tool_call_id: asked.tool_call_id, result: { found: KEY } })
  const nameless = await led.answer(1)
  nameless.give({ type: 'tool_call', index: 0, id: 'looks', name: `look-${KEY}`, arguments: '{}' })
  nameless.end('tool_calls')
  await client.next({ type: 'tool_result_update', error: `There is no tool "look-${MARK}".` })
  const second = await led.answer(2)
  assert.ok(!JSON.stringify(second.request).includes(KEY))
  second.say('Then it ', 'broke')
  second.fail(new ProviderError('rejected', `The provider says ${MARK}`, { cause: new Error(`with ${KEY}`) }))
  await client.next(ended)
  const stored = await messagesOf(server, thread_id)
  assert.equal(stored[0]!.content, `It is ${MARK}.`)
  assert.equal(stored[1]!.content, `So ${MARK}, and then ${MARK}`)
  assert.equal(stored[2]!.content, `{"found":"${MARK}"}`)
  assert.deepEqual(
    stored.slice(3).map(({ content }) => content),
    [null, `Error: There is no tool "look-${MARK}".`, 'Then it broke'],
  )
  const [called, unknown] = [stored[1]!, stored[3]!].map(({ tool_calls }) => tool_calls![0]!.id)
  assert.deepEqual([stored[2]!.tool_call_id, stored[4]!.tool_call_id], [called, unknown])
  for (const frame of client.frames) assert.ok(!JSON.stringify(frame).includes(KEY), JSON.stringify(frame))
  assert.ok(!filesOf(server.data_dir).includes(KEY), 'no file holds it')
  assert.ok(filesOf(server.data_dir).includes('and then'), 'and what is said is found there')
  assert.equal(stored.length, 6)
})

test('a key that arrives in pieces is sent to no follower, also to none that joins later', async () => {
  await using bench = await startChat()
  const { server, led } = bench
  assert.ok((await call(server, 'PUT', '/api/secrets/PLANTED', { body: { value: KEY } })).status < 300)
  await using client = await connect(server)
  await using other = await connect(server)
  const thread_id = await newThread(server)
  const [reader, late] = [new Reader(), new Reader()]
  client.command('chat_message', { thread_id, content: 'Which?', model: 'led/model' })
  const answer = await led.answer(0)
  answer.give({ type: 'thinking', text: `Hm, ${KEY.slice(0, 20)}` }, { type: 'thinking', text: KEY.slice(20) })
  answer.say('It is ', KEY.slice(0, 9), KEY.slice(9, 20))
  await client.next({ type: 'chunk', content: 'It is ' })
  other.command('resume_chat', { thread_id })
  await other.next({ type: 'chunk', thinking: true })
  answer.say(KEY.slice(20), ', and ', KEY.slice(0, 12))
  answer.end()
  for (const one of [client, other]) await one.next(ended)
  for (const frame of client.frames) reader.take(frame)
  for (const frame of other.frames) late.take(frame)
  const { content } = (await messagesOf(server, thread_id)).at(-1)!
  assert.equal(content, `It is ${MARK}, and ${KEY.slice(0, 12)}`)
  assert.deepEqual([reader.written.get(2), late.written.get(2)], [content, content])
  const thoughts = client.frames.filter(({ thinking }) => thinking).map((frame) => frame.content)
  assert.equal(thoughts.join(''), `Hm, ${MARK}`)
})

test('an answer that is stopped, superseded or fails in the middle of a key keeps no part of it', async () => {
  await using bench = await startChat()
  const { server, led } = bench
  assert.ok((await call(server, 'PUT', '/api/secrets/PLANTED', { body: { value: KEY } })).status < 300)
  const broken = new ProviderError('rejected', 'The provider is gone.')
  await using client = await connect(server)
  for (const [at, cut] of ['stop', 'supersede', 'fail'].entries()) {
    const thread_id = await newThread(server)
    client.command('chat_message', { thread_id, content: 'Which?', model: 'led/model' })
    const answer = await led.answer(at)
    answer.say('It is ', KEY.slice(0, 20))
    await client.next({ type: 'chunk', thread_id, content: 'It is ' })
    if (cut === 'stop') client.command('stop', { thread_id })
    else if (cut === 'supersede') client.command('chat_message', { thread_id, content: 'No.', model: 'builtin/echo' })
    else answer.fail(broken)
    await client.next((frame) => ended(frame) && frame.thread_id === thread_id)
    const stored = (await messagesOf(server, thread_id)).find(({ role }) => role === 'assistant')!
    assert.equal(stored.content, `It is ${MARK}`, cut)
  }
  for (const frame of client.frames) assert.ok(!JSON.stringify(frame).includes(KEY.slice(0, 8)), JSON.stringify(frame))
  assert.ok(!filesOf(server.data_dir).includes(KEY.slice(0, 8)), 'no file holds it')
})

test('a key that an error quotes from a workflow, whole or in part, is in no message, frame or request', async () => {
  await using bench = await startChat()
  const { server, led } = bench
  const long = 'Zq7Kx2Vb9Lm4Rt8W'.repeat(8)
  for (const [name, value] of Object.entries({ PLANTED: KEY, LONG: long }))
    assert.ok((await call(server, 'PUT', `/api/secrets/${name}`, { body: { value } })).status < 300)
  await using client = await connect(server)
  for (const [at, value] of [KEY, long].entries()) {
    const nodes = [
      { id: 'in', type: 'input.String', data: { name: 'text' } },
      { id: 'get', type: 'dict.Get', data: { dict: {}, path: `a..${value}` } },
      { id: 'out', type: 'output.Output', data: { name: 'text' } },
    ]
    const edges = [{ source: 'in', sourceHandle: 'output', target: 'out', targetHandle: 'value' }]
    const workflow_id = await makeWorkflow(server, { name: 'Quoting', graph: { nodes, edges } })
    const failing = await newThread(server)
    client.command('chat_message', { thread_id: failing, content: 'Hello', workflow_id })
    const { error } = await client.next((frame) => ended(frame) && frame.thread_id === failing)
    assert.match((error as { message: string }).message, /"a\.\.\[redacted\]…?"/)
    const thread_id = await newThread(server)
    const tools = [`workflow/${workflow_id}`]
    client.command('chat_message', { thread_id, content: 'Hello', model: 'led/model', tools })
    const first = await led.answer(2 * at)
    const [tool] = first.request.tools!
    assert.ok(tool?.type === 'function')
    first.give({ type: 'tool_call', index: 0, id: 'call', name: tool.function.name, arguments: '{"text": "x"}' })
    first.end('tool_calls')
    const second = await led.answer(2 * at + 1)
    assert.match(JSON.stringify(second.request.messages.at(-1)), /a\.\.\[redacted\]/)
    second.end()
    await client.next((frame) => ended(frame) && frame.thread_id === thread_id)
    const kept = JSON.stringify([await messagesOf(server, failing), await messagesOf(server, thread_id)])
    const told = JSON.stringify([client.frames, led.answers.map(({ request }) => request)])
    for (const text of [kept, told]) assert.ok(!/planted-key|Zq7Kx2Vb9Lm4/.test(text), text)
  }
})

test('a key in a title is replaced, and in the name of a tool refused', async () => {
  await using bench = await startChat()
  const { server } = bench
  assert.ok((await call(server, 'PUT', '/api/secrets/PLANTED', { body: { value: KEY } })).status < 300)
  const id = await newThread(server, `Of ${KEY}`)
  const path = `/api/threads/${id}`
  assert.equal((await call<Thread>(server, 'GET', path)).body.title, `Of ${MARK}`)
  const title = `${'x'.repeat(255 - KEY.length)}${KEY}`
  const renamed = await call<Thread>(server, 'PUT', path, { body: { title } })
  assert.equal(renamed.body.title, title.replace(KEY, MARK))
  await using client = await connect(server)
  const tools = [{ type: 'function', function: { name: KEY } }]
  const refused = await client.ask('chat_message', { thread_id: id, content: 'x', model: 'led/model', tools })
  assert.equal((refused.error as { code: string }).code, 'INVALID_REQUEST')
  assert.deepEqual(await messagesOf(server, id), [])
})
