// What OpenAI's own client makes of failures: which of its errors they are, what these say, and how often the upstream is asked.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { startServer } from '../helpers/server.ts'
import { startUpstream, type UpstreamOptions } from '../helpers/upstream.ts'
import { ASKED, clientOf, MODEL, startBench, VECTORS } from './kit.ts'

type Refused = InstanceType<typeof OpenAI.APIError>
type Body = OpenAI.ChatCompletionCreateParamsNonStreaming

const body: Body = { model: MODEL, messages: ASKED }
const upset = (status: number, more: object = {}) => ({
  answer: () => ({ status, error: { message: 'The upstream is upset with sk-inside.' }, ...more }),
})

async function errorOf(work: Promise<unknown>): Promise<Refused> {
  try {
    await work
  } catch (error) {
    assert.ok(error instanceof OpenAI.APIError, String(error))
    return error
  }
  assert.fail('there is no error')
}

interface Case {
  readonly options?: UpstreamOptions
  readonly environment?: Record<string, string>
  readonly given?: Record<string, unknown>
  readonly kind: new (...args: never[]) => Error
  readonly status: number
  readonly type: string
  readonly param?: string
  readonly says: RegExp
  /** How often the upstream is asked by a client that asks once. Absent: once at most, as its list of models may have told already. */
  readonly asked?: number
}

const HELD = { name: 'a', schema: { type: 'object' } }
const CASES: Readonly<Record<string, Case>> = {
  'a model that there is not': {
    given: { model: 'up/nothing' },
    kind: OpenAI.NotFoundError,
    status: 404,
    type: 'model_not_found',
    param: 'model',
    says: /nothing/,
    asked: 1,
  },
  'a provider that there is not': {
    given: { model: 'nobody/nothing' },
    kind: OpenAI.NotFoundError,
    status: 404,
    type: 'model_not_found',
    param: 'model',
    says: /no provider "nobody"/,
    asked: 0,
  },
  'no messages': {
    given: { messages: [] },
    kind: OpenAI.BadRequestError,
    status: 400,
    type: 'invalid_request',
    param: 'messages',
    says: /messages/,
    asked: 0,
  },
  'a role that there is not': {
    given: { messages: [{ role: 'robot', content: 'hello' }] },
    kind: OpenAI.BadRequestError,
    status: 400,
    type: 'invalid_request',
    param: 'messages[0].role',
    says: /role/,
    asked: 0,
  },
  'a contradiction': {
    given: { response_format: { type: 'json_schema', json_schema: HELD }, tool_choice: 'required' },
    kind: OpenAI.BadRequestError,
    status: 400,
    type: 'invalid_request',
    param: 'tool_choice',
    says: /tool_choice/,
    asked: 0,
  },
  'what the upstream refuses': {
    options: { answer: () => ({ error: { message: 'That is too hot.', param: 'temperature' } }) },
    given: { temperature: 1.5 },
    kind: OpenAI.BadRequestError,
    status: 400,
    type: 'invalid_request',
    param: 'temperature',
    says: /That is too hot/,
    asked: 1,
  },
  'a key that is missing': {
    options: { keys: ['sk-of-the-provider'] },
    kind: OpenAI.AuthenticationError,
    status: 401,
    type: 'authentication_required',
    says: /"up" needs the secret "UP_API_KEY"/,
  },
  'a key that is refused': {
    options: { keys: ['sk-of-the-provider'] },
    environment: { UP_API_KEY: 'sk-of-somebody-else' },
    kind: OpenAI.AuthenticationError,
    status: 401,
    type: 'authentication_required',
    says: /refused the key in the secret "UP_API_KEY"/,
  },
  'an upstream that is asked too often': {
    options: upset(429, { retry_after: '17' }),
    kind: OpenAI.RateLimitError,
    status: 429,
    type: 'rate_limited',
    says: /asked too often/,
    asked: 1,
  },
  'an upstream that fails': {
    options: upset(500),
    kind: OpenAI.InternalServerError,
    status: 502,
    type: 'upstream_error',
    says: /failed or returned an invalid response/,
    asked: 1,
  },
  'an upstream that cuts': {
    options: { answer: () => ({ cuts: 'head' }) },
    kind: OpenAI.InternalServerError,
    status: 502,
    type: 'upstream_error',
    says: /failed or returned an invalid response/,
    asked: 1,
  },
}

describe("OpenAI's client is told", () => {
  for (const [name, { options, environment, given, kind, status, type, param, says, asked }] of Object.entries(CASES)) {
    test(`of ${name}`, async () => {
      await using bench = await startBench(options, { environment })
      const { completions } = bench.openai.chat
      const error = await errorOf(completions.create({ ...body, ...given } as Body))
      assert.ok(error instanceof kind, error.constructor.name)
      assert.deepEqual([error.status, error.type, error.code], [status, type, status], error.message)
      assert.equal(error.param ?? null, param ?? null)
      assert.match(error.message, says)
      assert.doesNotMatch(error.message, /sk-/)
      assert.equal(error.headers?.get('x-request-id'), error.requestID)
      assert.equal(error.headers?.get('retry-after') ?? null, status === 429 ? '17' : null)
      const { length } = bench.upstream.posts
      assert.ok(asked === undefined ? length <= 1 : length === asked, `it was asked ${length} times`)
      const streamed = await errorOf(completions.create({ ...body, ...given, stream: true } as unknown as Body))
      assert.deepEqual([streamed.constructor, streamed.message], [error.constructor, error.message], 'before a stream')
    })
  }

  test('of failures of vectors', async () => {
    await using bench = await startBench(upset(429, { retry_after: '17' }))
    const limited = await errorOf(bench.openai.embeddings.create({ model: VECTORS, input: 'a' }))
    assert.ok(limited instanceof OpenAI.RateLimitError)
    const missing = await errorOf(bench.openai.embeddings.create({ model: 'nobody/nothing', input: 'a' }))
    assert.ok(missing instanceof OpenAI.NotFoundError)
    const empty = await errorOf(bench.openai.embeddings.create({ model: VECTORS, input: [] }))
    assert.deepEqual([empty.status, empty.param], [400, 'input'])
  })

  test('of a failure in the middle of a stream, after what there was', async () => {
    await using bench = await startBench({ answer: () => ({ text: ['one', 'two'], cuts: 2 }) })
    const stream = await bench.openai.chat.completions.create({ ...body, stream: true })
    let text = ''
    const reading = (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    })()
    const error = await errorOf(reading)
    assert.deepEqual([text, error.type, error.code], ['one', 'upstream_error', 502])
  })

  test('of a server that it cannot reach', async () => {
    const gone = await startUpstream()
    await gone[Symbol.asyncDispose]()
    await using server = await startServer({ environment: { SVC_MODEL_SERVERS: `up=${gone.base_url}` } })
    const error = await errorOf(clientOf(server).chat.completions.create(body))
    assert.ok(error instanceof OpenAI.InternalServerError, error.constructor.name)
    assert.equal(error.type, 'upstream_error')
  })
})

describe("OpenAI's client asks again", { concurrency: true }, () => {
  test('where it is limited, after the time that it is told, and the upstream is asked once for each', async () => {
    let failures = 1
    const answer = () => (failures-- > 0 ? { status: 429, retry_after: '3', error: { message: 'slow' } } : {})
    await using bench = await startBench({ answer })
    const began = performance.now()
    const { choices } = await bench.openai.chat.completions.create(body, { maxRetries: 1 })
    assert.equal(choices[0]!.message.content, 'Hello from upstream')
    assert.ok(performance.now() - began >= 2_900)
    assert.equal(bench.upstream.posts.length, 2)
  })

  test('where the upstream fails, which is asked three times for each', async () => {
    await using bench = await startBench(upset(503))
    const error = await errorOf(bench.openai.chat.completions.create(body, { maxRetries: 1 }))
    assert.ok(error instanceof OpenAI.InternalServerError)
    assert.equal(bench.upstream.posts.length, 6)
  })

  test('not where it is refused', async () => {
    await using bench = await startBench({ answer: () => ({ error: { message: 'no' } }) })
    await errorOf(bench.openai.chat.completions.create(body, { maxRetries: 2 }))
    assert.equal(bench.upstream.posts.length, 1)
  })
})
