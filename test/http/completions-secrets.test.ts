// Model servers that repeat their key: no client gets it, however it is split, and everything else passes unchanged.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, chunksIn, dataOf, MODEL, open, post, startGateway, textIn } from '../completions/kit.ts'
import { chunk, END, environment, gatewayOf, holdsNone, KEY } from '../completions/secrets-kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { edge, node } from './kit.ts'

const MINE = 'pk-my own "secret"'

describe('an answer that repeats a key', () => {
  const SAYS: Readonly<Record<string, readonly string[]>> = {
    whole: [`the key is ${KEY}!`],
    'between others': ['the key is ', KEY, '!'],
    'in two pieces': ['the key is sk-Planted/k', 'ey+4711', '!'],
    'in pieces of which one is no guess': ['the key is sk-Planted/ke', 'y+4711', '!'],
    'character by character': [...`the key is ${KEY}!`],
    'as base64': ['the key is ', btoa(KEY).slice(0, 9), btoa(KEY).slice(9), '!'],
    'in a URL': ['the key is ', encodeURIComponent(KEY), '!'],
  }
  /** The text that is sent at the end of a chunk, up to the threshold. */
  const TOLD: Readonly<Record<string, string>> = {
    'in two pieces': 'sk-Planted/k',
    'character by character': 'sk-Planted/k',
    'as base64': 'c2stUGxhb',
  }
  for (const [how, text] of Object.entries(SAYS))
    test(`${how} is sent without it, streamed or not`, async () => {
      await using gateway = await gatewayOf({ text, thinking: text })
      const streamed = await post(gateway.server, asking({ stream: true }))
      const told = `the key is ${TOLD[how] ?? ''}[redacted]!`
      assert.equal(textIn(streamed.text), told)
      assert.equal(dataOf(streamed.text).at(-1), '[DONE]')
      const thought = chunksIn(streamed.text).map(({ choices }) => choices[0]?.delta.reasoning_content ?? '')
      assert.equal(thought.join(''), told)
      const whole = await post(gateway.server, asking())
      assert.equal(JSON.parse(whole.text).choices[0].message.content, 'the key is [redacted]!')
      for (const answer of [streamed, whole]) {
        assert.equal(answer.status, 200)
        holdsNone(
          answer.text + textIn(`${answer.text.startsWith('{') ? '' : answer.text}`) + JSON.stringify(answer.headers),
        )
      }
    })

  test('in tool calls, in several choices, in unknown fields and in escapes is sent without it', async () => {
    const numbered = [...KEY].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    await using gateway = await gatewayOf({
      events: [
        chunk({ role: 'assistant', content: '' }, { key: KEY }),
        { ...chunk({ content: 'a' }), id: KEY, [KEY]: [{ deep: `x${KEY}` }] },
        JSON.stringify(chunk({ content: 'NUMBERED' })).replace('NUMBERED', numbered),
        chunk({
          tool_calls: [{ index: 0, id: 'call', type: 'function', function: { name: 'f', arguments: '{"a":"sk-Pl' } }],
        }),
        chunk({ tool_calls: [{ index: 1, id: 'call2', type: 'function', function: { name: KEY, arguments: '{}' } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: 'anted/key+4711"}' } }] }),
        chunk({}, { finish_reason: 'tool_calls' }),
        '[DONE]',
      ],
    })
    const { text, status } = await post(gateway.server, asking({ stream: true }))
    assert.equal(status, 200)
    holdsNone(text)
    for (const data of dataOf(text).slice(0, -1)) holdsNone(JSON.stringify(JSON.parse(data)))
    const calls = chunksIn(text).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    const first = calls.filter(({ index }) => index === 0).map((one) => one.function.arguments)
    assert.deepEqual(JSON.parse(first.join('')), { a: 'sk-Pl[redacted]' })
    await using two = await gatewayOf({
      events: [
        { ...END, choices: [0, 1].map((index) => ({ index, delta: { role: 'assistant', content: 'sk-Plan' } })) },
        {
          ...END,
          choices: [1, 0].map((index) => ({ index, delta: { content: 'ted/key+4711' }, finish_reason: 'stop' })),
        },
        '[DONE]',
      ],
    })
    const both = await post(two.server, asking({ stream: true, n: 2 }))
    holdsNone(both.text)
    for (const index of [0, 1]) {
      const said = chunksIn(both.text).flatMap(({ choices }) =>
        choices.filter((one: { index: number }) => one.index === index),
      )
      assert.equal(said.map(({ delta }) => delta.content ?? '').join(''), 'sk-Plan[redacted]')
    }
  })

  test('and breaks off in the middle of it is sent without it', async () => {
    await using gateway = await gatewayOf({ events: [chunk({ content: 'well: sk-Planted/ke' })] })
    const { text } = await post(gateway.server, asking({ stream: true }))
    holdsNone(text)
    assert.equal(textIn(text), 'well: [redacted]')
    assert.match(text, /"error"/)
  })

  test('as embeddings, as a list of models, and over a socket is sent without it', async () => {
    await using gateway = await startGateway(
      {
        models: ['gpt-4o-mini', `model-${KEY}`, 'text-embedding-3-small'],
        answer: ({ path, json }) => {
          if (path !== '/v1/embeddings') return { text: ['the key is sk-Plan', 'ted/key+4711', '!'] }
          const embedding = json.encoding_format === 'base64' ? btoa(KEY.padEnd(24)) : [1, 2]
          const data = [{ object: 'embedding', index: 0, embedding, note: KEY }]
          return {
            body: JSON.stringify({ object: 'list', data, model: KEY, usage: { prompt_tokens: 1, total_tokens: 1 } }),
          }
        },
      },
      { environment },
    )
    for (const encoding_format of ['float', 'base64']) {
      const body = JSON.stringify({ model: 'up/text-embedding-3-small', input: 'a', encoding_format })
      const { text, status } = await post(gateway.server, body, { path: '/v1/embeddings' })
      assert.equal(status, 200, text)
      holdsNone(text)
    }
    for (const path of ['/v1/models', '/api/models', '/api/sdk/v1/models'])
      await until(`the list of ${path}`, async () => {
        const { text } = await call(gateway.server, 'GET', path, { headers: { Accept: 'application/json' } })
        holdsNone(text)
        return text.includes('[redacted]')
      })
    await using client = await connect(gateway.server, { mode: 'text' })
    client.command('inference', { messages: [{ role: 'user', content: 'x' }], model: MODEL }, 'one')
    const reply = await client.next({ type: 'rpc_response' })
    const pieces = client.frames.filter(({ type }) => type === 'chunk').map(({ content }) => content)
    assert.equal(pieces.join(''), 'the key is sk-Plan[redacted]!')
    assert.match(JSON.stringify(reply.result), /the key is sk-Plan\[redacted\]!/)
    holdsNone(JSON.stringify(client.frames))
  })

  test('is sent without the secrets of its user, and unchanged to other users', async () => {
    await using gateway = await gatewayOf({ text: ['it is pk-my own', ' "secret"', '.'] })
    const ask = async () => textIn((await post(gateway.server, asking({ stream: true }))).text)
    assert.equal(await ask(), `it is ${MINE}.`)
    assert.ok((await call(gateway.server, 'PUT', '/api/secrets/PLAIN', { body: { value: MINE } })).status < 300)
    assert.equal(await ask(), 'it is pk-my own[redacted].')
  })
})

describe('a name of a model that repeats a key', () => {
  test('is never suggested, over HTTP or before a run', async () => {
    const key = 'sk-Planted-key-4711'
    await using gateway = await startGateway(
      { models: ['gpt-4o-mini', `model-${key}`] },
      { environment: { SVC_SECRET_UP_API_KEY: key } },
    )
    const { server } = gateway
    for (const name of [`model-${key.slice(0, -1)}`, 'model-[redacte]']) {
      const read = await call(server, 'GET', `/v1/models/${encodeURIComponent(`up/${name}`)}`)
      assert.equal(read.status, 404)
      assert.ok(!read.text.includes(key), read.text)
      if (name.includes('[')) assert.match(read.text, /Did you mean \\"up\/model-\[redacted\]\\"/)
      const nodes = [
        node('c', 'chat.Complete', { model: `up/${name}`, prompt: 'x' }),
        node('out', 'output.Output', { name: 'o' }),
      ]
      const graph = { nodes, edges: [edge('c.text', 'out.value')] }
      // biome-ignore lint/suspicious/noExplicitAny: whatever came
      const made = await call<any>(server, 'POST', '/api/workflows', { body: { name: 'w', graph } })
      const asked = {
        workflow_id: made.body.id,
        workspace_id: null,
        workflow_etag: null,
        inputs: {},
        interface_version: 1,
        level: 'execution',
        execution_target: { kind: 'local', concurrent: true },
      }
      const before = await call(server, 'POST', '/api/sdk/v1/preflight', { body: asked })
      assert.equal(before.status, 200, before.text)
      assert.ok(!before.text.includes(key), before.text)
    }
  })
})

describe('an answer without a key', () => {
  test('passes unchanged, even if it begins like a key, or is held back for a while', async () => {
    const events = [
      chunk({ role: 'assistant', content: 'sk-Pl' }),
      chunk({ content: 'ain text, s' }),
      chunk({ content: 'k-Planted/other é \\u0041 \n' }),
      chunk({ content: 'a "quote\\" \\' }),
      chunk({ content: 'sk-Plan' }, { logprobs: { content: [{ token: 'sk-Plan' }] } }),
      chunk({ content: 'ed' }),
      chunk({}, { finish_reason: 'stop' }),
    ]
    const ends = { usage: 'none' } as const
    for (const line_end of ['\n', '\r\n'] as const) {
      await using gateway = await gatewayOf({ events: [...events, '[DONE]'], line_end, ...ends })
      const { text } = await post(gateway.server, asking({ stream: true }))
      const plain = text.replaceAll('\r\n', '\n')
      assert.equal(
        plain,
        [...events.map((one) => JSON.stringify(one)), '[DONE]'].map((one) => `data: ${one}\n\n`).join(''),
      )
    }
  })

  test('is sent word by word: no word waits for the next', async () => {
    const words = ['s', 'k', '-', 'a', ' mask', ' is', ' s']
    const given = words.map(() => Promise.withResolvers<void>())
    await using gateway = await gatewayOf({ text: words, before: (event) => given[event - 1]?.promise })
    const { incoming } = await open(gateway.server, asking({ stream: true }))
    let text = ''
    incoming.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    for (const [at, word] of words.entries()) {
      given[at]!.resolve()
      await until(`the word ${word}`, () => chunksIn(text.slice(0, text.lastIndexOf('\n\n') + 2)).length >= at)
    }
    await until('the end', () => text.includes('[DONE]'))
    assert.equal(textIn(text), words.join(''))
  })
})
