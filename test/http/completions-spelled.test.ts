// Keys that model servers repeat in unread places, spell out in other fields, or interleave with other text: no client gets them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, chunksIn, post, startGateway, textIn } from '../completions/kit.ts'
import { chunk, END, environment, gatewayOf, holdsNone, KEY } from '../completions/secrets-kit.ts'
import type { Script } from '../helpers/upstream.ts'

/** So long that its beginning comes long before its end, whatever part of a beginning may be sent. */
const LONG = 'sk-Planted/key+4711-9f8e7d6c5b4a/3210zyxw'
const CUT = LONG.match(/.{1,4}/g)!
/** Its parts that must never be sent. */
const HIDDEN = CUT.slice(6)
const eventOf = (value: object | string) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
const eventsOf = (...events: readonly string[]): Script => ({
  body: [eventOf(chunk({ role: 'assistant', content: 'a' })), ...events, ENDING].join(''),
  content_type: 'text/event-stream',
})
const ENDING = eventOf(chunk({}, { finish_reason: 'stop' })) + eventOf('[DONE]')
const AROUND = '"object":"chat.completion.chunk","created":1,"model":"m"'
/** The joined texts of a choice: its content by default. */
// biome-ignore lint/suspicious/noExplicitAny: whatever came
const saidBy = (text: string, index: number, said = (delta: any): string => delta.content ?? ''): string =>
  chunksIn(text)
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ delta }) => said(delta))
    .join('')

describe('a key in unread parts of an answer', () => {
  const BESIDE: Readonly<Record<string, string>> = {
    'a comment': `: Authorization: Bearer ${KEY}\n${eventOf(chunk({ content: 'b' }))}`,
    'an id': `id: ${KEY}\n${eventOf(chunk({ content: 'b' }))}`,
    'a name': `event: ${KEY}\n${eventOf(chunk({ content: 'b' }))}`,
    'an unknown line': `x-key: ${KEY}\n${eventOf(chunk({ content: 'b' }))}`,
    'a member that comes twice': eventOf(
      `{"x":"${KEY}","x":1,"id":"x",${AROUND},"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}`,
    ),
    'a text that comes twice': eventOf(
      `{"id":"x",${AROUND},"choices":[{"index":0,"delta":{"content":"\\u0073${KEY.slice(1)}","content":"b"},"finish_reason":null}]}`,
    ),
  }
  for (const [where, event] of Object.entries(BESIDE))
    test(`${where} of an event is never sent`, async () => {
      await using gateway = await gatewayOf(eventsOf(event))
      const { text } = await post(gateway.server, asking({ stream: true }))
      holdsNone(text)
      holdsNone(text.replaceAll('\\u0073', 's'))
      assert.equal(textIn(text), 'ab')
      assert.ok(text.endsWith(ENDING))
    })

  test('is removed from a line of an event, whose name stays', async () => {
    const event = `event: completion\nid: ${KEY}\n${eventOf(chunk({ content: 'b' }))}`
    await using gateway = await gatewayOf(eventsOf(event))
    const { text } = await post(gateway.server, asking({ stream: true }))
    holdsNone(text)
    assert.ok(text.includes(`\n\nevent: completion\n${eventOf(chunk({ content: 'b' }))}`), text)
  })

  test('is removed from a duplicate member of a buffered answer, and in and around embeddings', async () => {
    const message = '{"role":"assistant","content":"hi"}'
    const usage = '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'
    const completion = `{"x":"${KEY}","x":1,"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":${message},"finish_reason":"stop"}],${usage}}`
    const vector = (index: number, more: string) => `{"object":"embedding","index":${index},${more}"embedding":[1,2.5]}`
    const twice = `"x":"${KEY}","x":1,`
    const lists = [
      `{"object":"list","data":[${vector(0, twice)},${vector(1, '')}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`,
      `{"object":"list",${twice}"data":[${vector(0, '')},${vector(1, '')}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`,
    ]
    await using gateway = await startGateway(
      { answer: ({ path }, n) => ({ body: path === '/v1/embeddings' ? lists[n]! : completion }) },
      { environment },
    )
    for (const _ of lists) {
      const body = JSON.stringify({ model: 'up/text-embedding-3-small', input: ['a', 'b'] })
      const { text, status } = await post(gateway.server, body, { path: '/v1/embeddings' })
      assert.equal(status, 200, text)
      holdsNone(text)
      // biome-ignore lint/suspicious/noExplicitAny: whatever came
      const vectors = JSON.parse(text).data.map(({ index, embedding }: any) => [index, embedding])
      assert.deepEqual(
        vectors,
        [0, 1].map((index) => [index, [1, 2.5]]),
      )
    }
    const whole = await post(gateway.server, asking())
    holdsNone(whole.text)
    assert.deepEqual(JSON.parse(whole.text), JSON.parse(completion))
  })
})

describe('a key that other fields spell out', () => {
  const tokenOf = (token: string) => ({ token, logprob: -0.1, bytes: [...Buffer.from(token)], top_logprobs: [] })
  const bytesOf = (tokens: readonly string[]) => tokens.map((token) => [...Buffer.from(token)].join())

  test('as tokens is not sent, streamed or buffered', async () => {
    const events = CUT.map((content) => eventOf(chunk({ content }, { logprobs: { content: [tokenOf(content)] } })))
    const plain = eventOf(chunk({ content: '!' }, { logprobs: { content: [tokenOf('!')] } }))
    const silent = CUT.map((token) => eventOf(chunk({ content: '' }, { logprobs: { content: [tokenOf(token)] } })))
    for (const script of [eventsOf(...events, plain), eventsOf(...silent, plain)]) {
      await using gateway = await gatewayOf(script, LONG)
      const { text } = await post(gateway.server, asking({ stream: true, logprobs: true }))
      for (const token of [...HIDDEN.map((one) => JSON.stringify(one)), ...bytesOf(HIDDEN)])
        assert.ok(!text.includes(token), text)
      assert.ok(text.includes(plain), 'other events keep theirs')
    }
    for (const tokens of [CUT, [LONG]]) {
      const message = { role: 'assistant', content: LONG }
      const choices = [{ index: 0, message, logprobs: { content: tokens.map(tokenOf) }, finish_reason: 'stop' }]
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      const body = JSON.stringify({ ...END, object: 'chat.completion', choices, usage })
      await using gateway = await gatewayOf({ body }, LONG)
      const { text } = await post(gateway.server, asking({ logprobs: true }))
      for (const token of [...tokens.map((one) => JSON.stringify(one)), ...bytesOf(tokens)])
        assert.ok(!text.includes(token), text)
      assert.equal(JSON.parse(text).choices[0].logprobs, null)
    }
  })

  const FIELDS: Readonly<Record<string, (piece: string) => object>> = {
    reasoning_details: (text) => ({ content: '', reasoning: text, reasoning_details: [{ type: 'x', text, index: 0 }] }),
    'reasoning_details that are counted': (text) => ({
      content: '',
      reasoning_details: [{ type: 'x', text, index: CUT.indexOf(text) }],
    }),
    thinking: (thinking) => ({ content: '', thinking }),
    'unknown lists': (text) => ({ content: '', more: { deep: [text] } }),
    'names of calls': (name) => ({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name } }] }),
    'a member with a special name': (text) => JSON.parse(`{"content":"","__proto__":{"text":${JSON.stringify(text)}}}`),
  }
  for (const [name, deltaOf] of Object.entries(FIELDS))
    test(`in parts of ${name} is not sent`, async () => {
      const events = CUT.map((piece) => eventOf(chunk(deltaOf(piece))))
      await using gateway = await gatewayOf(eventsOf(...events, eventOf(chunk({ content: 'ok' }))), LONG)
      const { text } = await post(gateway.server, asking({ stream: true }))
      for (const piece of HIDDEN) assert.ok(!text.includes(piece), text)
      assert.match(text, /\[redacted\]/)
      assert.equal(textIn(text), 'aok')
    })

  test('in parts of a list in a buffered answer is not sent', async () => {
    const reasoning_details = CUT.map((text) => ({ type: 'x', text }))
    const message = { role: 'assistant', content: 'ok', reasoning_details }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    await using gateway = await gatewayOf(
      { body: JSON.stringify({ ...END, object: 'chat.completion', choices, usage }) },
      LONG,
    )
    const { text } = await post(gateway.server, asking())
    const told = JSON.parse(text).choices[0].message.reasoning_details.map((one: { text: string }) => one.text)
    assert.equal(told.join(''), '[redacted]')
  })
})

describe('an interleaved key', () => {
  const said = (index: number, content: string) => eventOf({ ...END, choices: [{ index, delta: { content } }] })
  const ends = (index: number) => eventOf({ ...END, choices: [{ index, delta: {}, finish_reason: 'stop' }] })

  test('in alternating choices, up to the maximum, is not sent', async () => {
    for (const [n, size] of [
      [20, 3],
      [20, 4],
      [128, 4],
    ] as const) {
      const pieces = ['so: ', ...LONG.match(new RegExp(`.{1,${size}}`, 'g'))!, '!']
      const indexes = [...Array(n).keys()]
      const body = pieces.map((piece) => indexes.map((index) => said(index, index === 0 ? piece : 'w ')).join(''))
      const script = { body: [...body, ...indexes.map(ends), eventOf('[DONE]')].join('') }
      await using gateway = await gatewayOf({ ...script, content_type: 'text/event-stream' }, LONG)
      const { text } = await post(gateway.server, asking({ stream: true, n }))
      assert.match(saidBy(text, 0), /^so: .{0,19}\[redacted\]!$/)
      for (const index of indexes.slice(1)) assert.equal(saidBy(text, index), 'w '.repeat(pieces.length))
    }
  })

  test('with keep-alive comments between its parts is not sent', async () => {
    const pings = ': ping\n\n'.repeat(20)
    await using gateway = await gatewayOf(
      eventsOf(
        ...[LONG.slice(0, 24), LONG.slice(24, 30), LONG.slice(30), '!'].map(
          (content) => eventOf(chunk({ content })) + pings,
        ),
      ),
      LONG,
    )
    const { text } = await post(gateway.server, asking({ stream: true }))
    assert.match(textIn(text), /^a.{0,19}\[redacted\]!$/)
    assert.equal(text.split(': ping').length, 81)
  })

  test('is not sent, while text that only looked like a key is sent later, at the latest at the end', async () => {
    const looks = LONG.slice(0, -1)
    const pings = ': ping\n\n'.repeat(20)
    for (const [then, told] of [
      ['? no', /^ask-Planted.*zyx\? no$/],
      [null, /^a.{0,19}\[redacted\]$/],
    ] as const) {
      const more = then === null ? '' : eventOf(chunk({ content: then }))
      await using gateway = await gatewayOf(eventsOf(eventOf(chunk({ content: looks })) + pings + more), LONG)
      const { text } = await post(gateway.server, asking({ stream: true }))
      assert.match(textIn(text), told)
      assert.ok(text.endsWith(eventOf('[DONE]')))
      for (const one of chunksIn(text)) assert.equal(one.id, 'x')
    }
  })
})
