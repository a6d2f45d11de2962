// createChatCompletion with servers that report usage in parts, not at all, or for failures: what the client gets, and what is charged.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, chunksIn, dataOf, post, startGateway } from '../completions/kit.ts'
import type { Script } from '../helpers/upstream.ts'

const HEAD = { id: 'x', object: 'chat.completion.chunk', created: 7, model: 'm' }
const chunk = (delta: object, usage?: object, finish_reason: string | null = null) => ({
  ...HEAD,
  choices: [{ index: 0, delta, finish_reason }],
  ...(usage ? { usage } : {}),
})
const counts = (usage: object) => ({ ...HEAD, choices: [], usage })
const BEGIN = chunk({ role: 'assistant', content: 'Hello' })
const END = chunk({}, undefined, 'stop')
const FULL = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }
const ZEROS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
const PRICED = { id: 'gpt-4o-mini', pricing: { prompt: '0.001', completion: '0.002' } }
const WISHING = asking({ stream: true, stream_options: { include_usage: true } })
const VECTORS = JSON.stringify({ model: 'up/text-embedding-3-small', input: 'some words of a text' })

interface Charged {
  readonly status: number
  readonly text: string
  /** The sums of input and output tokens, and of costs. */
  readonly sums: readonly number[]
}

async function charged(script: Script, body: string, path?: string): Promise<Charged> {
  const data = [PRICED, { ...PRICED, id: 'text-embedding-3-small' }]
  await using gateway = await startGateway({
    answer: () => script,
    listing: () => ({ body: JSON.stringify({ object: 'list', data }) }),
  })
  const { status, text } = await post(gateway.server, body, path ? { path } : {})
  const metrics = await gateway.server.context.metrics.text()
  const sum = (name: string) => Number(new RegExp(`^svc_model_${name}\\} (\\S+)$`, 'm').exec(metrics)?.[1] ?? 0)
  const tokens = (direction: string) => sum(`tokens_total\\{provider="up",direction="${direction}"`)
  return { status, text, sums: [tokens('input'), tokens('output'), sum('cost_total\\{[^}]*')] }
}

const lastUsage = (text: string) => chunksIn(text).findLast(({ usage }) => usage)?.usage

describe('the usage of a stream', () => {
  for (const [name, events] of [
    ['is followed by one of nothing', [BEGIN, chunk({}, FULL, 'stop'), counts({})]],
    ['is followed by one of zeros', [BEGIN, END, counts(FULL), counts(ZEROS)]],
    ['is followed by zeros with a choice', [BEGIN, chunk({}, FULL), chunk({}, ZEROS, 'stop')]],
    ['comes in pieces', [chunk({ content: 'Hi' }, { prompt_tokens: 100 }), END, counts({ completion_tokens: 50 })]],
    ['comes before the answer', [counts(FULL), BEGIN, END]],
    ['comes at its end', [BEGIN, END, counts(FULL)]],
  ] as const)
    test(`is kept if it ${name}`, async () => {
      const { status, text, sums } = await charged({ events: [...events, '[DONE]'] }, WISHING)
      assert.equal(status, 200)
      assert.deepEqual(lastUsage(text), FULL)
      assert.deepEqual(sums, [100, 50, 0.2])
    })

  test('is sent once if the server sends it once', async () => {
    const given = [BEGIN, chunk({}, FULL, 'stop')]
    const { text } = await charged({ events: [...given, '[DONE]'] }, WISHING)
    assert.deepEqual(chunksIn(text), given)
  })

  for (const usage of [ZEROS, {}, { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 }])
    test(`is counted here if each choice has ${JSON.stringify(usage)}`, async () => {
      const events = [chunk({ content: 'Hello out there' }, usage), chunk({}, usage, 'stop'), '[DONE]']
      const { text, sums } = await charged({ events }, WISHING)
      const { prompt_tokens, completion_tokens, total_tokens } = lastUsage(text)
      assert.ok(prompt_tokens > 0 && completion_tokens > 0 && total_tokens === prompt_tokens + completion_tokens)
      assert.deepEqual(sums.slice(0, 2), [prompt_tokens, completion_tokens])
      assert.deepEqual(chunksIn(text).at(-1).choices, [])
    })

  test('is sent, requested or not, if the stream has nothing else', async () => {
    for (const body of [asking({ stream: true }), WISHING]) {
      const { text, sums } = await charged({ events: [counts(FULL), '[DONE]'] }, body)
      assert.deepEqual([chunksIn(text).map(({ usage }) => usage), dataOf(text).at(-1)], [[FULL], '[DONE]'])
      assert.deepEqual(sums, [100, 50, 0.2])
    }
  })

  test('includes the texts of all choices if it is counted here', async () => {
    const choice = (index: number, finish_reason: string | null) => ({
      index,
      delta: { content: 'x'.repeat(400) },
      finish_reason,
    })
    const both = (finish: string | null) => ({ ...HEAD, choices: [choice(0, finish), choice(1, finish)] })
    const { sums } = await charged({ events: [both(null), both('stop'), '[DONE]'] }, asking({ stream: true, n: 2 }))
    assert.equal(sums[1], 400)
  })
})

describe('a failure for which the server reports usage', () => {
  const error = { message: 'overloaded', code: 500 }
  const usage = { ...FULL, cost: 3 }
  for (const [name, script, body] of [
    ['in a stream', { events: [BEGIN, { error, usage }] }, WISHING],
    ['at the beginning of a stream', { events: [{ error, usage }] }, WISHING],
    ['in a choice', { events: [BEGIN, { ...chunk({}, usage, 'error') }] }, WISHING],
    ['in the place of a stream', { body: JSON.stringify({ error, usage }) }, WISHING],
    ['in the place of an answer', { body: JSON.stringify({ error, usage }) }, asking()],
  ] as const)
    test(`is charged: ${name}`, async () => {
      const { text, sums } = await charged(script, body)
      assert.match(text, /upstream_error/)
      assert.deepEqual(sums, [100, 50, 3])
    })

  test('is charged instead of embeddings', async () => {
    const { status, sums } = await charged({ body: JSON.stringify({ error, usage }) }, VECTORS, '/v1/embeddings')
    assert.deepEqual([status, sums], [502, [100, 0, 3]])
  })

  test('costs nothing if the usage is zero', async () => {
    for (const events of [[{ error, usage: ZEROS }], [chunk({ role: 'assistant' }, ZEROS), { error }]])
      assert.deepEqual((await charged({ events }, WISHING)).sums, [0, 0, 0])
  })
})

describe('a failure instead of embeddings', () => {
  for (const told of [{ errors: [{ message: 'no' }] }, { detail: [{ loc: ['body', 'input'], msg: 'no' }] }])
    test(`costs nothing: ${JSON.stringify(told)}`, async () => {
      const { status, sums } = await charged({ body: JSON.stringify(told) }, VECTORS, '/v1/embeddings')
      assert.deepEqual([status, sums], [502, [0, 0, 0]])
    })
})
