// createChatCompletion and createEmbedding with servers that report a failure with status 200, or the cost of an answer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, dataOf, type Gateway, post, startGateway, textIn } from '../completions/kit.ts'
import type { Script } from '../helpers/upstream.ts'

const KEY = 'sk-of-the-provider'
const STREAM = asking({ stream: true })
const LIMITED = { code: 429, message: `said so of ${KEY}` }
const CHOICE = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }
const WHOLE = { id: 'x', object: 'chat.completion', created: 7, model: 'm', choices: [CHOICE] }
const USAGE = { prompt_tokens: 30, completion_tokens: 10, total_tokens: 40 }
const chunk = (choice: object, more: object = {}) => ({
  ...{ id: 'x', object: 'chat.completion.chunk', created: 7, model: 'm' },
  choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null, ...choice }],
  ...more,
})

const started = (script: Script, config = {}): Promise<Gateway> =>
  startGateway({ answer: () => script }, { environment: { SVC_SECRET_UP_API_KEY: KEY }, config })

interface Refusal {
  readonly message: string
  readonly type: string
  readonly code: number
}

/** The error that the client gets, which has no words of the server. */
function refusalIn(text: string): Refusal {
  assert.doesNotMatch(text, /said so|sk-of/)
  return JSON.parse(text).error
}

async function tokensOf({ server }: Gateway): Promise<string[]> {
  const metrics = await server.context.metrics.text()
  return metrics.split('\n').filter((line) => /^svc_model_tokens_total\{.* [1-9]/.test(line))
}

const failed = (error: unknown, more = {}) => ({
  ...WHOLE,
  choices: [{ ...CHOICE, finish_reason: 'error', ...(error === undefined ? {} : { error }) }],
  ...more,
})

describe('a buffered answer that reports a failure', () => {
  for (const [name, body, type, code] of [
    ['too much is asked of it', { error: LIMITED }, 'rate_limited', 429],
    ['its quota is used up', { error: { code: 'insufficient_quota', message: 'said so' } }, 'rate_limited', 429],
    ['it does not work', { error: { code: 500, message: 'said so' } }, 'upstream_error', 502],
    ['it does not work, beside an answer', { ...WHOLE, error: { message: 'said so' } }, 'upstream_error', 502],
    ['it does not work, in another form', { object: 'error', message: 'said so', code: 500 }, 'upstream_error', 502],
    ['a choice is limited', failed(LIMITED), 'rate_limited', 429],
    ['a choice failed', failed({ code: 502, message: 'said so' }), 'upstream_error', 502],
    ['a choice failed, in a word', failed('said so'), 'upstream_error', 502],
    ['a choice failed, without a word', failed(undefined), 'upstream_error', 502],
  ] as const)
    test(`because of ${name} gives ${code}, and costs nothing`, async () => {
      await using gateway = await started({ body: JSON.stringify(body) })
      const { status, text } = await post(gateway.server, asking())
      const refusal = refusalIn(text)
      assert.deepEqual([status, refusal.type, refusal.code], [code, type, code])
      assert.deepEqual(await tokensOf(gateway), [])
    })

  test('is charged for the usage of its server', async () => {
    await using gateway = await started({ body: JSON.stringify(failed(LIMITED, { usage: USAGE })) })
    assert.equal((await post(gateway.server, asking())).status, 429)
    assert.match((await tokensOf(gateway)).join(), /input"\} 30,.*output"\} 10$/)
  })

  test('gives the same error instead of embeddings, and costs nothing', async () => {
    await using gateway = await started({ body: JSON.stringify({ error: LIMITED }) })
    const body = JSON.stringify({ model: 'up/text-embedding-3-small', input: 'some words' })
    const { status, text } = await post(gateway.server, body, { path: '/v1/embeddings' })
    assert.deepEqual([status, refusalIn(text).type], [429, 'rate_limited'])
    assert.deepEqual(await tokensOf(gateway), [])
  })

  test('gives the same error instead of a stream, and costs nothing', async () => {
    for (const content_type of ['application/json', 'text/plain']) {
      await using gateway = await started({ body: JSON.stringify({ error: LIMITED }), content_type })
      const { status, text } = await post(gateway.server, STREAM)
      assert.deepEqual([status, refusalIn(text).type], [429, 'rate_limited'])
      assert.deepEqual(await tokensOf(gateway), [])
    }
  })
})

describe('a stream that reports a failure', () => {
  const told: readonly (readonly [name: string, event: object, type: string, code: number])[] = [
    ['with an error', { error: LIMITED }, 'rate_limited', 429],
    ['in a choice', chunk({ finish_reason: 'error', error: { code: 502, message: 'said so' } }), 'upstream_error', 502],
    ['in a choice that is limited', chunk({ error: LIMITED }), 'rate_limited', 429],
    ['with a reason alone', chunk({ finish_reason: 'error' }), 'upstream_error', 502],
  ]
  for (const [name, event, type, code] of told) {
    test(`${name} at its beginning gives an HTTP error, and costs nothing`, async () => {
      await using gateway = await started({ events: [event] })
      const { status, text } = await post(gateway.server, STREAM)
      assert.deepEqual([status, refusalIn(text).type], [code, type])
      assert.deepEqual(await tokensOf(gateway), [])
    })

    test(`${name} later gives an error event, and is charged for its output`, async () => {
      await using gateway = await started({ events: [chunk({}), event, '[DONE]'] })
      const { status, text } = await post(gateway.server, STREAM)
      const data = dataOf(text)
      const refusal = refusalIn(data.at(-2)!)
      assert.deepEqual([status, refusal.type, refusal.code], [200, type, code])
      assert.deepEqual([data.length, textIn(text), data.at(-1)], [3, 'Hello', '[DONE]'])
      assert.equal((await tokensOf(gateway)).length, 2)
    })
  }
})

describe('the cost that a server reports for an answer', () => {
  const counting = { usage: { ...USAGE, cost: 0.6 } }
  const finish = chunk({ finish_reason: 'stop' })
  for (const [name, script] of Object.entries<Script>({
    whole: { body: JSON.stringify({ ...WHOLE, ...counting }) },
    streamed: { events: [chunk({}), finish, { ...finish, choices: [], ...counting }, '[DONE]'] },
    'streamed with the last piece': { events: [chunk({}), { ...finish, ...counting }, '[DONE]'] },
    'streamed before its last count': { events: [chunk({}, counting), { ...finish, usage: USAGE }, '[DONE]'] },
  }))
    test(`counts towards the limits: ${name}`, async () => {
      await using gateway = await started(script, { max_cost_per_day: 1 })
      const body = name === 'whole' ? asking() : STREAM
      for (let n = 0; n < 2; n++) assert.equal((await post(gateway.server, body)).status, 200)
      const { status, text } = await post(gateway.server, body)
      assert.deepEqual([status, refusalIn(text).type], [429, 'budget_exceeded'])
      const metrics = await gateway.server.context.metrics.text()
      assert.match(metrics, /svc_model_cost_total\{provider="up",currency="USD"\} 1\.2\n/)
    })

  test('counts for embeddings as well', async () => {
    const data = [{ object: 'embedding', index: 0, embedding: [1] }]
    const usage = { prompt_tokens: 3, total_tokens: 3, cost: 0.25 }
    await using gateway = await started({ body: JSON.stringify({ object: 'list', model: 'm', data, usage }) })
    const body = JSON.stringify({ model: 'up/text-embedding-3-small', input: 'some words' })
    assert.equal((await post(gateway.server, body, { path: '/v1/embeddings' })).status, 200)
    assert.match(await gateway.server.context.metrics.text(), /svc_model_cost_total\{[^}]*\} 0\.25\n/)
  })

  test('counts in US dollars for a model without a known price', async () => {
    await using gateway = await started({ body: JSON.stringify({ ...WHOLE, ...counting }) })
    assert.equal((await post(gateway.server, asking({ model: 'up/of-no-price:online' }))).status, 200)
    assert.match(
      await gateway.server.context.metrics.text(),
      /svc_model_cost_total\{provider="up",currency="USD"\} 0\.6\n/,
    )
  })

  test('is ignored if it is impossible', async () => {
    for (const cost of [-1, '2', null, 1e300]) {
      await using gateway = await started({ body: JSON.stringify({ ...WHOLE, usage: { ...USAGE, cost } }) })
      assert.equal((await post(gateway.server, asking())).status, 200)
      assert.doesNotMatch(await gateway.server.context.metrics.text(), /svc_model_cost_total\{[^}]*\} [^0]/)
    }
  })
})
