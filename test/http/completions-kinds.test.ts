// createChatCompletion with servers that answer streamed instead of buffered or the reverse, or with a content type that is no answer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MAX_COMPLETION_BYTES } from '../../src/completions/upstream/buffered-completion.ts'
import { asking, chunksIn, dataOf, open, post, startGateway } from '../completions/kit.ts'
import { keptLog } from '../helpers/kept-log.ts'
import type { Script } from '../helpers/upstream.ts'

const USAGE = { prompt_tokens: 30, completion_tokens: 10, total_tokens: 40 }
const CALL = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{"at":1}' } }
const CHOICES = [
  { index: 0, logprobs: { content: [{ token: 'Hello' }] }, message: { role: 'assistant', content: 'Hello' } },
  { index: 1, message: { role: 'assistant', content: null, tool_calls: [CALL, { ...CALL, id: 'call_2' }] } },
]
const WHOLE = { id: 'x', object: 'chat.completion', created: 7, model: 'm', choices: CHOICES, usage: USAGE }
const HEAD = { id: 'x', object: 'chat.completion.chunk', created: 7, model: 'm' }
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  ...HEAD,
  choices: [{ index: 0, delta, finish_reason, ...more }],
})
const STREAM = { stream: true, stream_options: { include_usage: true } }
const as_events = (events: readonly (object | string)[], more: Script = {}): Script => ({ events, ...more })

async function answered(script: Script, fields: object) {
  await using gateway = await startGateway({ answer: () => script })
  const answer = await post(gateway.server, asking(fields))
  const metrics = await gateway.server.context.metrics.text()
  const tokens = [...metrics.matchAll(/^svc_model_tokens_total\{[^}]*\} (\d+)$/gm)].map(([, sum]) => Number(sum))
  return { ...answer, tokens }
}

describe('a buffered answer to a request for a stream', () => {
  test('becomes a stream of the whole answer', async () => {
    const { status, headers, text, tokens } = await answered({ body: JSON.stringify(WHOLE) }, { ...STREAM, n: 2 })
    assert.deepEqual([status, headers['content-type'], tokens], [200, 'text/event-stream', [30, 10]])
    const calls = [CALL, { ...CALL, id: 'call_2' }].map((call, index) => ({ index, ...call }))
    const of = (choice: object) => ({ ...HEAD, choices: [choice] })
    assert.deepEqual(
      chunksIn(text),
      [
        of({ ...CHOICES[0], message: undefined, delta: CHOICES[0]!.message, finish_reason: null }),
        of({ index: 0, delta: {}, finish_reason: 'stop' }),
        of({ index: 1, delta: { ...CHOICES[1]!.message, tool_calls: calls }, finish_reason: null }),
        of({ index: 1, delta: {}, finish_reason: 'tool_calls' }),
        { ...HEAD, choices: [], usage: USAGE },
      ].map((one) => JSON.parse(JSON.stringify(one))),
    )
    assert.equal(dataOf(text).at(-1), '[DONE]')
  })

  test('has no usage if the client did not request it', async () => {
    const { text, tokens } = await answered({ body: JSON.stringify(WHOLE) }, { stream: true })
    assert.deepEqual([chunksIn(text).some(({ usage }) => usage), tokens], [false, [30, 10]])
  })

  test('gives 502 if it is invalid', async () => {
    for (const body of ['{}', '[]', '{"choices":[]}', 'garbage'])
      assert.equal((await answered({ body }, STREAM)).status, 502, body)
  })
})

describe('a stream to a request for a buffered answer', () => {
  test('becomes one answer of the whole stream', async () => {
    const pieces = [
      chunk({ role: 'assistant', content: 'Hel' }, null, { logprobs: { content: [{ token: 'Hel' }] } }),
      chunk({ content: [{ type: 'text', text: 'lo' }] }, null, { logprobs: { content: [{ token: 'lo' }] } }),
      chunk({ reasoning_content: 'hm', tool_calls: [{ index: 0, ...CALL }] }),
      chunk({
        reasoning_content: ' so',
        tool_calls: [{ index: 1, id: 'b', function: { name: 'two', arguments: '' } }],
      }),
      chunk({ tool_calls: [{ index: 1, function: { arguments: '{"b":2}' } }] }),
      chunk({}, 'tool_calls'),
    ]
    const events = [...pieces, { ...HEAD, choices: [], usage: USAGE }, '[DONE]']
    const { status, headers, text, tokens } = await answered(as_events(events, { split: 'every' }), {})
    assert.equal(status, 200, text)
    assert.match(headers['content-type']!, /^application\/json/)
    const two = { id: 'b', type: 'function', function: { name: 'two', arguments: '{"b":2}' } }
    const message = { role: 'assistant', content: 'Hello', reasoning_content: 'hm so', tool_calls: [CALL, two] }
    const logprobs = { content: [{ token: 'Hel' }, { token: 'lo' }] }
    const choices = [{ index: 0, logprobs, finish_reason: 'tool_calls', message }]
    assert.deepEqual(JSON.parse(text), { ...WHOLE, choices })
    assert.deepEqual(tokens, [30, 10])
  })

  test('becomes an answer of several choices, whose usage is counted here if the server reports none', async () => {
    const of = (index: number, content: string, finish: string | null) => ({
      ...HEAD,
      choices: [{ index, delta: { content }, finish_reason: finish }],
    })
    const events = [of(0, 'a', null), of(1, 'b', null), of(1, 'd', 'length'), of(0, 'c', 'stop'), '[DONE]']
    const { text, tokens } = await answered(as_events(events), { n: 2 })
    const { choices, usage } = JSON.parse(text)
    assert.deepEqual(
      choices.map((one: (typeof CHOICES)[0] & { finish_reason: string }) => [
        one.index,
        one.message.content,
        one.finish_reason,
      ]),
      [
        [0, 'ac', 'stop'],
        [1, 'bd', 'length'],
      ],
    )
    assert.ok(usage.prompt_tokens > 0 && usage.completion_tokens > 0)
    assert.deepEqual(tokens, [usage.prompt_tokens, usage.completion_tokens])
  })

  test('gives 502 if it breaks off or fails, and is charged for its output', async () => {
    const begun = chunk({ role: 'assistant', content: 'x'.repeat(400) })
    for (const script of [
      as_events([begun], { cuts: 1 }),
      as_events([begun]),
      as_events([begun, { error: { message: 'overloaded' } }]),
      as_events([begun, '{"choices":[ garbage', '[DONE]']),
    ]) {
      const { status, tokens } = await answered(script, {})
      assert.deepEqual([status, tokens[1]], [502, 100])
    }
    const { status, tokens } = await answered(as_events([{ error: { message: 'overloaded' } }]), {})
    assert.deepEqual([status, tokens], [502, []])
  })

  test('gives 502 if it does not end', async () => {
    const events = [chunk({ role: 'assistant', content: 'x'.repeat(1_048_576) })]
    await using gateway = await startGateway({ answer: () => as_events(events, { floods: true }) })
    assert.equal((await post(gateway.server, asking())).status, 502)
    const [asked] = gateway.upstream.posts
    await asked!.gone
    assert.ok(asked!.sent >= MAX_COMPLETION_BYTES)
  })

  test('gives 502 instead of embeddings', async () => {
    const list = JSON.stringify({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [1] }],
      model: 'm',
    })
    const script = { content_type: 'text/event-stream', body: list }
    await using gateway = await startGateway({ answer: () => script })
    const body = JSON.stringify({ model: 'up/text-embedding-3-small', input: 'a' })
    assert.equal((await post(gateway.server, body, { path: '/v1/embeddings' })).status, 502)
  })
})

test('the logged content type of an invalid answer contains nothing of the request', async () => {
  const key = 'sk-of-the-provider'
  for (const [content_type, named] of [
    [`text/html; key=${key}`, /an answer of text\/html/],
    [`${key}/x`, /an answer of another type/],
  ] as const) {
    const { log, lines } = keptLog()
    await using gateway = await startGateway(
      { answer: () => ({ content_type, body: 'x' }) },
      { log, environment: { SVC_SECRET_UP_API_KEY: key } },
    )
    for (const fields of [{}, STREAM]) assert.equal((await post(gateway.server, asking(fields))).status, 502)
    assert.match(lines.join('\n'), named)
    assert.doesNotMatch(lines.join('\n'), /sk-of/)
  }
})

test('an answer with an empty error is valid', async () => {
  for (const error of [{ code: null, message: null }, { message: '', metadata: {} }, { code: 0 }]) {
    assert.equal((await answered({ body: JSON.stringify({ ...WHOLE, error }) }, {})).status, 200)
    const events = [{ ...chunk({ content: 'x' }, 'stop'), error }, '[DONE]']
    assert.doesNotMatch((await answered(as_events(events), { stream: true })).text, /upstream_error/)
  }
  for (const error of [{ code: 500, message: null }, { message: 'no' }, 'no'])
    assert.equal((await answered({ body: JSON.stringify({ ...WHOLE, error }) }, {})).status, 502)
})

test('a connection that the server keeps open after the end of a stream is released', async () => {
  const events = [chunk({ content: 'x' }, 'stop'), '[DONE]']
  await using gateway = await startGateway({ answer: () => as_events(events, { hangs: 2 }) })
  const { incoming } = await open(gateway.server, asking({ stream: true }))
  incoming.resume()
  // Otherwise it would wait for two minutes of silence.
  await gateway.upstream.posts[0]!.gone
})
