// Bodies with errors throughout, or much too long: refused with their first problems before they delay other requests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, post } from '../completions/kit.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'

const MANY = 100_000
const list = (item: unknown, length = MANY) => Array.from({ length }, () => item)
const map = (value: unknown, length = MANY) =>
  Object.fromEntries(Array.from({ length }, (_, at) => [`key${at}`, value]))
const user = (content: unknown = 'hi') => ({ role: 'user', content })
const text = { type: 'text', text: 'a' }
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const CHAT = '/v1/chat/completions'
const model = 'builtin/echo'

/** Bodies for each operation that takes one; without limits these take minutes. */
const ENDLESS: readonly (readonly [operation: string, path: string, body: object])[] = [
  ...[
    { tools: list({}) },
    { tools: list({ type: 'function', function: {} }, 1_000) },
    { functions: list({}) },
    { functions: list({}, 1_000) },
    { logit_bias: map({}) },
    { logit_bias: map({}, 10_000) },
    { metadata: map({}) },
    { modalities: list({}) },
    { stop: list({}) },
    { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: list(5) } } },
    { messages: list({}) },
    { messages: list({ role: 'x' }, 10_000) },
    { messages: list(user([{ type: 'x' }, { type: 'text' }]), 10_000) },
    { messages: [user(list({}))] },
    { messages: [user(list(5, 10_000))] },
    { messages: [{ role: 'assistant', tool_calls: list({ id: '' }, 10_000) }] },
  ].map((fields) => ['createChatCompletion', CHAT, { model, messages: [user()], ...fields }] as const),
  ['createEmbedding', '/v1/embeddings', { model, input: list({}) }],
  ['createEmbedding', '/v1/embeddings', { model, input: list([{}], 2_048) }],
  ['runWorkflow', '/api/workflows/none/run', map(1)],
  ['createWorkflow', '/api/workflows', { name: 'a', graph: { nodes: list({}), edges: [] } }],
  ['createWorkflow', '/api/workflows', { name: 'a', graph: { nodes: [], edges: list({}) } }],
  ['createWorkflow', '/api/workflows', { name: 'a', graph: { nodes: [], edges: [] }, tags: list({}) }],
  ['createThread', '/api/threads', map(1)],
  ['createMessage', '/api/threads/none/messages', { role: 'user', content: list({}) }],
  ['preflightWorkflow', '/api/sdk/v1/preflight', { workflow_id: 'x', params: {}, ...map(1) }],
  [
    'getWorkflowInterfaces',
    '/api/sdk/v1/workflow-interfaces',
    { ids: Array.from({ length: MANY }, (_, a) => ({ a })) },
  ],
  ['createToken', '/api/tokens', { name: 'a', scopes: list({}) }],
  ['resumeJob', '/api/jobs/none/resume', map(1)],
  ['createChatCompletion', CHAT, { model, messages: [user()], x: list('\ud800') }],
]

describe('an endless body', { timeout: 60_000 }, () => {
  test('is refused with its first problems by every operation', async () => {
    await using server = await startServer()
    for (const [operation, path, body] of ENDLESS) {
      const { status, text: refusal } = await post(server, JSON.stringify(body), { path })
      assert.equal(status, 400, `${operation}: ${refusal.slice(0, 300)}`)
      assert.ok(refusal.length < 50_000, `${operation}: ${refusal.length} characters`)
      const { message, problems } = JSON.parse(refusal).error ?? {}
      assert.ok(problems === undefined || problems.length <= 100, `${operation}: ${message}`)
    }
  })

  test('is refused as a command as well', async () => {
    await using server = await startServer()
    await using client = await connect(server, { mode: 'text' })
    for (const [command, data] of [
      ['run_job', { graph: { nodes: list({}), edges: [] } }],
      ['chat_message', { thread_id: 't', content: 'a', tools: list({}) }],
      ['inference', { model, messages: list({}) }],
    ] as const) {
      const request_id = `${command}-1`
      client.command(command, data, request_id)
      const answer = await client.next({ request_id })
      const told = JSON.stringify(answer)
      assert.match(told, /invalid_command|INVALID_REQUEST/)
      assert.ok(told.length < 50_000, command)
    }
  })
})

describe('a long conversation', () => {
  test('with a problem near its end gets the path of the problem', async () => {
    await using server = await startServer()
    const wrong = async (messages: unknown[]) => {
      const { status, text: refusal } = await post(server, asking({ model, messages }))
      assert.equal(status, 400)
      return JSON.parse(refusal).error.param
    }
    assert.equal(await wrong([...list(user(), 5_000), { role: 'wizard' }]), 'messages[5000].role')
    assert.equal(await wrong([...list(user(), 10_001)]), 'messages')
    const parts = [...list(text, 700), { type: 'text' }]
    assert.equal(await wrong([...list(user(), 5_000), user(parts)]), 'messages[5000].content[700].text')
    assert.equal(await wrong([user(list(text, 10_001))]), 'messages[0].content')
    const tool_calls = [...list(call, 700), { ...call, id: '' }]
    assert.equal(await wrong([user(), { role: 'assistant', tool_calls }]), 'messages[1].tool_calls[700].id')
  })

  test('is answered if it is valid', async () => {
    await using server = await startServer()
    assert.equal((await post(server, asking({ model, messages: list(user([text, text]), 10_000) }))).status, 200)
  })
})
