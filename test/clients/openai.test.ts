// OpenAI's own client with nothing but its base URL set: lists, chat whole and streamed, schemas, pictures and vectors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { standardResponseFormat } from 'openai/helpers/standard-schema'
import type { CreatedToken } from '../../generated/types.ts'
import { hello, stored } from '../completions/workflow-kit.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer } from '../helpers/server.ts'
import { ASKED, all, CITY, clientOf, MODEL, startBench, VECTORS } from './kit.ts'

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe("OpenAI's client", () => {
  test('lists models', async () => {
    await using bench = await startBench()
    const ids: string[] = []
    for await (const { id, object, owned_by } of bench.openai.models.list()) {
      assert.equal(object, 'model')
      assert.ok(owned_by.length > 0)
      ids.push(id)
    }
    for (const id of ['builtin/echo', MODEL, VECTORS]) assert.ok(ids.includes(id), ids.join())
  })

  test('is told of one model', async () => {
    await using bench = await startBench()
    for (const id of ['builtin/echo', MODEL]) {
      const { object, owned_by, ...model } = await bench.openai.models.retrieve(id)
      assert.deepEqual([model.id, object], [id, 'model'])
      assert.ok(owned_by.length > 0)
    }
    await assert.rejects(bench.openai.models.retrieve('up/nothing'), OpenAI.NotFoundError)
  })

  test('gets a whole answer with its usage', async () => {
    await using bench = await startBench({ answer: () => ({ usage: { prompt_tokens: 9, completion_tokens: 3 } }) })
    const { data, response, request_id } = await bench.openai.chat.completions
      .create({ model: MODEL, messages: ASKED, temperature: 0.2, seed: 7, user: 'ada' })
      .withResponse()
    assert.equal(data.object, 'chat.completion')
    assert.equal(data.choices[0]!.message.content, 'Hello from upstream')
    assert.equal(data.choices[0]!.finish_reason, 'stop')
    assert.deepEqual([data.usage?.prompt_tokens, data.usage?.completion_tokens, data.usage?.total_tokens], [9, 3, 12])
    assert.equal(response.headers.get('x-request-id'), request_id)
    const { temperature, seed, user } = bench.upstream.posts[0]!.json
    assert.deepEqual({ temperature, seed, user }, { temperature: 0.2, seed: 7, user: 'ada' })
  })

  test('iterates over a stream, and its usage comes last', async () => {
    await using bench = await startBench({ answer: () => ({ text: ['Grü', 'ß ', '😀'] }) })
    const stream_options = { include_usage: true }
    const body = { model: MODEL, messages: ASKED, stream: true, stream_options } as const
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of await bench.openai.chat.completions.create(body)) chunks.push(chunk)
    assert.equal(chunks[0]!.choices[0]!.delta.role, 'assistant')
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Grüß 😀')
    assert.deepEqual(chunks.at(-1)!.choices, [])
    assert.ok(chunks.at(-1)!.usage!.total_tokens > 0)
    assert.equal(chunks.at(-2)!.choices[0]!.finish_reason, 'stop')
  })

  test('gathers a stream into what a whole answer is', async () => {
    await using bench = await startBench()
    const runner = bench.openai.chat.completions.stream({ model: MODEL, messages: ASKED })
    const pieces: string[] = []
    runner.on('content', (delta) => pieces.push(delta))
    const { choices } = await runner.finalChatCompletion()
    assert.equal(choices[0]!.message.content, 'Hello from upstream')
    assert.deepEqual(pieces, ['Hello', ' from', ' upstream'])
  })

  test('gets several choices', async () => {
    await using bench = await startBench({ answer: () => ({ text: 'one', others: ['two'] }) })
    const body = { model: MODEL, messages: ASKED, n: 2 }
    const whole = await bench.openai.chat.completions.create(body)
    const streamed = await bench.openai.chat.completions.stream(body).finalChatCompletion()
    for (const { choices } of [whole, streamed])
      assert.deepEqual(
        choices.map(({ message }) => message.content),
        ['one', 'two'],
      )
  })

  test('parses what was held to a schema, whole and streamed', async () => {
    await using bench = await startBench()
    const response_format = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: CITY } } as const
    const body = { model: MODEL, messages: ASKED, response_format }
    const parsed = await bench.openai.chat.completions.create(body)
    assert.deepEqual(JSON.parse(parsed.choices[0]!.message.content!), { city: 'text' })
    const place = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) => ({ value: value as { city: string } }),
        jsonSchema: { input: () => CITY },
      },
    } as const
    const held = { ...body, response_format: standardResponseFormat(place, 'place') }
    const whole = await bench.openai.chat.completions.parse(held)
    assert.deepEqual(whole.choices[0]!.message.parsed, { city: 'text' })
    const streamed = await bench.openai.chat.completions.stream(held).finalChatCompletion()
    assert.deepEqual(streamed.choices[0]!.message.parsed, { city: 'text' })
    assert.deepEqual(bench.upstream.posts[1]!.json.response_format.json_schema.schema.required, ['city'])
  })

  test('is told of a refusal', async () => {
    await using bench = await startBench({ answer: () => ({ refusal: 'I will not.' }) })
    const body = { model: MODEL, messages: ASKED }
    assert.equal((await bench.openai.chat.completions.create(body)).choices[0]!.message.refusal, 'I will not.')
    const { choices } = await bench.openai.chat.completions.stream(body).finalChatCompletion()
    assert.equal(choices[0]!.message.refusal, 'I will not.')
  })

  test('shows pictures', async () => {
    await using bench = await startBench()
    const content: OpenAI.ChatCompletionContentPart[] = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } },
    ]
    await bench.openai.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content }] })
    assert.deepEqual(bench.upstream.posts[0]!.json.messages[0].content, content)
  })

  test('gets vectors as numbers, and as the bytes that it asks for by itself', async () => {
    await using bench = await startBench({
      answer: () => ({
        vectors: [
          [0.5, -1.25],
          [2, 0],
        ],
      }),
    })
    const body = { model: VECTORS, input: ['a', 'b'] }
    const lists = [
      await bench.openai.embeddings.create({ ...body, encoding_format: 'float' }),
      await bench.openai.embeddings.create(body),
    ]
    for (const { data, usage } of lists) {
      assert.deepEqual(
        data.map(({ embedding }) => [...embedding]),
        [
          [0.5, -1.25],
          [2, 0],
        ],
      )
      assert.ok(usage.prompt_tokens > 0)
    }
    assert.deepEqual(
      bench.upstream.posts.map(({ json }) => json.encoding_format),
      ['float', 'base64'],
    )
  })

  test('goes away in the middle of a stream, and so does the service', async () => {
    await using bench = await startBench({ answer: () => ({ text: ['one', 'two'], hangs: 2 }) })
    const stream = await bench.openai.chat.completions.create({ model: MODEL, messages: ASKED, stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'one') break
    await bench.upstream.posts[0]!.gone
  })

  test('goes away while it waits for a whole answer, and so does the service', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = () => {
      asked.resolve()
      return { hangs: 'head' } as const
    }
    await using bench = await startBench({ answer })
    const leaving = new AbortController()
    const waiting = bench.openai.chat.completions.create({ model: MODEL, messages: ASKED }, { signal: leaving.signal })
    const refused = assert.rejects(waiting, OpenAI.APIUserAbortError)
    await asked.promise
    leaving.abort()
    await refused
    await bench.upstream.posts[0]!.gone
  })

  test('echoes without any upstream, whole and streamed', async () => {
    await using server = await startServer()
    const openai = clientOf(server)
    const body = { model: 'builtin/echo', messages: ASKED }
    const { choices, usage } = await openai.chat.completions.create(body)
    assert.equal(choices[0]!.message.content, 'hello there')
    assert.ok(usage!.prompt_tokens > 0 && usage!.completion_tokens > 0)
    const streamed = await openai.chat.completions.stream(body).finalChatCompletion()
    assert.equal(streamed.choices[0]!.message.content, 'hello there')
  })

  test('asks a workflow, whose job a header names', async () => {
    await using server = await startServer()
    const openai = clientOf(server)
    const model = `workflow/${await stored(server, hello())}`
    const body = { model, messages: [{ role: 'user', content: 'Ada' }] } as const
    const { data, response } = await openai.chat.completions
      .create({ ...body, messages: [...body.messages] })
      .withResponse()
    assert.equal(data.choices[0]!.message.content, 'Hello, Ada!')
    assert.ok(data.usage!.total_tokens > 0)
    const job = await call<{ state: string }>(server, 'GET', `/api/jobs/${response.headers.get('x-svc-job-id')}`)
    assert.equal(job.status, 200)
    const streamed = await openai.chat.completions
      .stream({ ...body, messages: [...body.messages] })
      .finalChatCompletion()
    assert.equal(streamed.choices[0]!.message.content, 'Hello, Ada!')
    assert.ok((await all(openai.models.list())).some(({ id }) => id === model))
  })

  test('is let in by its key where users sign in', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: idp.environment })
    const openai = clientOf(server, { apiKey: await idp.token({ sub: 'ada' }) })
    const { choices } = await openai.chat.completions.create({ model: 'builtin/echo', messages: ASKED })
    assert.equal(choices[0]!.message.content, 'hello there')
    const body = { name: 'agent' }
    const headers = { Authorization: `Bearer ${openai.apiKey}` }
    const { token } = (await call<CreatedToken>(server, 'POST', '/api/tokens', { body, headers })).body
    assert.ok((await all(clientOf(server, { apiKey: token }).models.list())).some(({ id }) => id === 'builtin/echo'))
    const stranger = clientOf(server)
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError)
  })
})
