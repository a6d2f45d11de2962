// createChatCompletion and createEmbedding with servers that omit fields that the contract requires: clients get them all the same.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ChatCompletion, EmbeddingList } from '../../generated/types.ts'
import { asking, CHAT, MODEL, post, startGateway } from '../completions/kit.ts'
import { type Answer, call } from '../helpers/http.ts'
import type { Script } from '../helpers/upstream.ts'

const CHOICE = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }
const WHOLE = { id: 'x', object: 'chat.completion', created: 7, model: 'm', choices: [CHOICE] }
const USAGE = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }

/** The answer for a client, validated against the contract. */
async function asked(script: Script): Promise<Answer<ChatCompletion>> {
  await using gateway = await startGateway({ answer: () => script })
  const answer = await call<ChatCompletion>(gateway.server, 'POST', CHAT, { body: JSON.parse(asking()) })
  assert.equal(answer.status, 200, answer.text)
  return answer
}

const completed = async (fields: object): Promise<ChatCompletion> =>
  (await asked({ body: JSON.stringify({ ...WHOLE, usage: USAGE, ...fields }) })).body

const chosen = async (message: object, choice: object = {}) => {
  const { choices } = await completed({ choices: [{ ...CHOICE, ...choice, message }] })
  return choices[0]!
}

describe('a buffered answer', () => {
  for (const nothing of [undefined, null, ''])
    test(`has the fields that the server sends as ${JSON.stringify(nothing)}`, async () => {
      const message = { role: nothing, content: 'Hello' }
      const choices = [
        { index: nothing, message, finish_reason: nothing },
        { index: nothing, message, finish_reason: nothing },
      ]
      const given = { id: nothing, object: nothing, created: nothing, model: nothing, choices }
      const { id, created, model, choices: told, usage } = await completed(given)
      assert.match(id, /^chatcmpl-\w{20,}$/)
      assert.ok(Math.abs(created - Date.now() / 1_000) < 600)
      assert.equal(model, MODEL)
      assert.deepEqual(told, [CHOICE, { ...CHOICE, index: 1 }])
      assert.deepEqual(usage, USAGE)
    })

  test('keeps every other byte unchanged', async () => {
    const usage = JSON.stringify(USAGE)
    const body = `{"choices": [ {"x":1e400, "message": {"content":"\\u00e9é"} ,"finish_reason":null, "index":0} ],"n":1152921504606846976 ,"id":"","created":1.0,"model":"m","usage": ${usage} }\n`
    const { text, body: told } = await asked({ body })
    const id = JSON.stringify(told.id)
    const expected = `{"choices": [ {"x":1e400, "message": {"content":"\\u00e9é","role":"assistant"} ,"finish_reason":"stop", "index":0} ],"n":1152921504606846976 ,"id":${id},"created":1.0,"model":"m","usage": ${usage},"object":"chat.completion" }\n`
    assert.equal(text, expected)
  })

  for (const [name, created] of [
    ['parts of a second', 1_763_800_000.75],
    ['no time', 'now'],
  ] as const)
    test(`has a valid time of creation if the server sends ${name}`, async () => {
      const told = (await completed({ created })).created
      assert.ok(typeof created === 'string' ? told > 1_700_000_000 : told === 1_763_800_000)
    })

  test('has a single text if the server sends it in parts', async () => {
    const thinking = [{ type: 'text', text: 'hm' }]
    const content = [
      { type: 'thinking', thinking },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ]
    const { message } = await chosen({ role: 'assistant', content })
    assert.deepEqual(message, { role: 'assistant', content: 'Hello', reasoning_content: 'hm' })
  })

  test('has its parts counted if the server reports no usage', async () => {
    const content = [{ type: 'text', text: 'eight words in an answer that is counted' }]
    const { usage } = await completed({ usage: null, choices: [{ ...CHOICE, message: { content } }] })
    assert.ok(usage.completion_tokens >= 8)
  })

  for (const content_type of ['text/plain; charset=utf-8', 'text/json', ''])
    test(`may be of the type "${content_type}"`, async () => {
      const body = JSON.stringify({ ...WHOLE, usage: USAGE })
      assert.equal((await asked({ body, content_type })).text, body)
    })

  test('has tool calls that can be sent back, whatever fields the server omits', async () => {
    const tool_calls = [
      { function: { name: 'weather', arguments: { city: 'Zürich', id: 1 } } },
      { id: '', type: null, function: { name: 'weather', arguments: '{"city":"Rome"}' } },
      { id: 'call_own', type: 'function', function: { name: 'now' } },
      { custom: { name: 'sh', input: 'ls' } },
    ]
    await using gateway = await startGateway({
      answer: (_, n) => (n === 0 ? { body: JSON.stringify({ ...WHOLE, choices: [{ message: { tool_calls } }] }) } : {}),
    })
    const send = (body: object) => call<ChatCompletion>(gateway.server, 'POST', CHAT, { body })
    const { choices } = (await send(JSON.parse(asking()))).body
    const { message, finish_reason } = choices[0]!
    assert.equal(finish_reason, 'tool_calls')
    const calls = message.tool_calls!
    const ids = calls.map(({ id }) => id)
    assert.equal(new Set(ids).size, 4)
    for (const id of ids) assert.match(id, /^call_\w+$/)
    assert.deepEqual(
      calls.map(({ id: _, ...rest }) => rest),
      [
        { function: { name: 'weather', arguments: '{"city":"Zürich","id":1}' }, type: 'function' },
        { type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
        { type: 'function', function: { name: 'now', arguments: '{}' } },
        { custom: { name: 'sh', input: 'ls' }, type: 'custom' },
      ],
    )
    const answers = ids.map((tool_call_id) => ({ role: 'tool', tool_call_id, content: 'done' }))
    const messages = [{ role: 'user', content: 'a' }, message, ...answers]
    const { status, text } = await send({ model: MODEL, messages })
    assert.equal(status, 200, text)
  })

  test('has the finish reason of its legacy function calls', async () => {
    const function_call = { name: 'now', arguments: '{}' }
    assert.equal((await chosen({ function_call }, { finish_reason: '' })).finish_reason, 'function_call')
  })
})

describe('a list of embeddings', () => {
  const path = '/v1/embeddings'
  const model = 'up/text-embedding-3-small'

  test('has the fields that the server omits', async () => {
    const vector = (more: string) => `{"embedding":[1.0,1e-400]${more}}`
    const items = ['', ',"index":null,"object":""', ',"index":2, "object":"embedding"'].map(vector)
    const usage = '"usage":{"prompt_tokens":4,"total_tokens":4}'
    const body = `{"data":[ ${items.join(', ')} ],${usage}}`
    for (const split of [[], [3, 9, 40, 41, 70, 99], 'every'] as const) {
      await using gateway = await startGateway({ answer: () => ({ body, split }) })
      const asks = { model, input: ['a', 'b', 'c'] }
      const { status, text } = await call<EmbeddingList>(gateway.server, 'POST', path, { body: asks })
      assert.equal(status, 200, text)
      const filled = [',"object":"embedding","index":0', ',"index":1,"object":"embedding"'].map(vector)
      const data = `"data":[ ${filled.join(', ')}, ${items[2]} ]`
      assert.equal(text, `{${data},${usage},"object":"list","model":"${model}"}`)
    }
  })

  test('gives 502 if it claims to be something else', async () => {
    const bodies = [
      { object: 'model', data: [{ embedding: [1] }] },
      { object: 'list', data: [{ object: 'model', embedding: [1] }] },
    ]
    await using gateway = await startGateway({ answer: (_, n) => ({ body: JSON.stringify(bodies[n]) }) })
    for (const _ of bodies)
      assert.equal((await post(gateway.server, JSON.stringify({ model, input: 'a' }), { path })).status, 502)
  })
})
