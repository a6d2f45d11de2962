// The models, vectors and passthrough answers of a server that speaks OpenAI's protocol, and the known facts of its models.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProviderError } from '../../../../src/models/provider-error.ts'
import { findKnownModel } from '../../../../src/models/providers/openai/known-models.ts'
import { createHostedModel } from '../../../../src/models/providers/openai/model-list.ts'
import { estimateTokensByScript } from '../../../../src/models/providers/openai/token-estimate.ts'
import { validateModels } from '../../../../src/models/providers/shared/provider-data-validation.ts'
import { collect } from '../../../helpers/loop.ts'
import type { Script } from '../../../helpers/upstream.ts'
import { answering, KEY, startAsking } from '../../openai-kit.ts'

const signal = new AbortController().signal
const context = { credential: KEY, signal }

describe('the models of a server', () => {
  test('are listed with the key, and are free on this machine', async () => {
    await using asking = await startAsking({ models: ['llama3', 'nomic-embed-text', 'whisper-1'], keys: [KEY] })
    const models = await asking.provider.models(context)
    assert.deepEqual(
      models.map(({ id, tasks }) => [id, tasks]),
      [
        ['acme/llama3', ['chat']],
        ['acme/nomic-embed-text', ['embedding']],
        ['acme/whisper-1', []],
      ],
    )
    assert.ok(models.every(({ price }) => price?.per_million_output_tokens === 0))
    assert.deepEqual(
      validateModels('acme', models).map(({ id }) => id),
      models.map(({ id }) => id),
    )
  })

  for (const [what, script] of [
    ['a page', { body: '<html>' }],
    ['something else', { body: '{"models":[]}' }],
    ['entries without names', { body: '{"object":"list","data":[{}]}' }],
  ] as readonly (readonly [string, Script])[]) {
    test(`cannot be listed where the server sends ${what}`, async () => {
      await using asking = await startAsking({ listing: () => script })
      await assert.rejects(asking.provider.models(context), { fault: 'failed' })
    })
  }

  for (const [what, body, names, left_out] of [
    ['has nothing but null', { object: 'list', data: null }, [], 0],
    ['stands alone', [{ id: 'a' }, { id: 'b' }], ['a', 'b'], 0],
    ['has entries that are none', { data: [{ id: 'a' }, {}, { id: '' }, { id: 7 }, null, 'b', []] }, ['a'], 6],
    [
      'has fields of other types',
      { data: [{ id: 'a', name: 7, created: 'x', context_length: '9', pricing: 'free', meta: [] }] },
      ['a'],
      0,
    ],
  ] as const)
    test(`are the readable entries of a list that ${what}`, async () => {
      await using asking = await startAsking({ listing: () => ({ body: JSON.stringify(body) }) })
      const models = validateModels('acme', await asking.provider.models(context))
      assert.deepEqual(
        models.map(({ name, title }) => [name, title]),
        names.map((name) => [name, name]),
      )
      assert.equal(asking.provider.left_out, left_out)
    })

  test('have their server’s prices also on this machine, and a model without a price is not free there', async () => {
    const pricing = { prompt: '0.000001', completion: '0.000002' }
    const data = [{ id: 'sold', pricing }, { id: 'given', pricing: { prompt: '0', completion: '0' } }, { id: 'auto' }]
    await using asking = await startAsking({ listing: () => ({ body: JSON.stringify({ object: 'list', data }) }) })
    assert.equal(asking.provider.unlisted!('x').price?.per_million_input_tokens, 0)
    const prices = (await asking.provider.models(context)).map(({ price }) => price?.per_million_output_tokens)
    assert.deepEqual(prices, [2, 0, undefined])
    assert.equal(asking.provider.unlisted!('x').price, null)
  })

  test('are refused beyond a number or length, and the connection is closed', async () => {
    const list = (count: number, id = 'm') =>
      JSON.stringify({ object: 'list', data: Array.from({ length: count }, (_, at) => ({ id: `${id}${at}` })) })
    const listing = (body: string) => ({ listing: () => ({ body }) })
    await using most = await startAsking(listing(list(10_000)))
    assert.equal((await most.provider.models(context)).length, 10_000)
    await using many = await startAsking(listing(list(10_001)))
    await assert.rejects(many.provider.models(context), { fault: 'failed', message: /more than 10000 models/ })
    await using long = await startAsking(listing(list(5_000, 'm'.repeat(1_000))))
    await assert.rejects(long.provider.models(context), { fault: 'too_large' })
  })

  test('are not listed without a key where the server requires one', async () => {
    await using asking = await startAsking({ keys: ['another'] })
    await assert.rejects(asking.provider.models(context), { fault: 'no_key', message: /ACME_API_KEY/ })
  })

  test('have the facts from their server', () => {
    const owner = { name: 'acme', host: 'models.example', free: false }
    const pricing = { prompt: '0.0000005', completion: '0.000002', request: '0.01' }
    const listed = { id: 'm', created: 1, context_length: 1_000, pricing }
    assert.deepEqual(createHostedModel(listed, owner), {
      id: 'acme/m',
      name: 'm',
      title: 'm',
      tasks: ['chat'],
      tasks_guessed: true,
      price: { currency: 'USD', per_request: 0.01, per_million_input_tokens: 0.5, per_million_output_tokens: 2 },
      max_output_tokens: null,
      context_length: 1_000,
      created: 1,
    })
    assert.equal(createHostedModel({ id: 'm', max_model_len: 7 }, owner).context_length, 7)
    assert.equal(createHostedModel({ id: 'm', meta: { n_ctx_train: 9 } }, owner).context_length, 9)
    for (const wrong of [{ prompt: '-1', completion: '1' }, { prompt: 'x', completion: '1' }, {}, null])
      assert.equal(createHostedModel({ id: 'm', pricing: wrong }, owner).price, null)
  })

  test('have the known facts, but a price only where their maker hosts them', () => {
    const own = createHostedModel(
      { id: 'gpt-4o-mini-2024-07-18' },
      { name: 'openai', host: 'api.openai.com', free: false },
    )
    assert.equal(own.price?.per_million_input_tokens, 0.15)
    assert.deepEqual([own.context_length, own.max_output_tokens], [128_000, 16_384])
    assert.ok(own.capabilities?.includes('tools') && own.modalities?.includes('image'))
    const elsewhere = createHostedModel({ id: 'gpt-4o-mini' }, { name: 'proxy', host: 'proxy.example', free: false })
    assert.deepEqual([elsewhere.price, elsewhere.context_length], [null, 128_000])
    assert.equal(findKnownModel('api.openai.com', 'gpt-4o-minimal'), null)
    assert.equal(findKnownModel('constructor', 'gpt-4'), null)
  })
})

describe('vectors', () => {
  const input = ['one', 'two words']

  test('come in the order of their inputs, as numbers or as bytes', async () => {
    await using asking = await startAsking()
    const model = 'text-embedding-3-small'
    const floats = await asking.provider.embed!({ model, input, dimensions: 3 }, context)
    const bytes = await asking.provider.embed!({ model, input, dimensions: 3, encoding_format: 'base64' }, context)
    assert.deepEqual(
      floats.vectors.map(({ length }) => length),
      [3, 3],
    )
    assert.deepEqual(bytes, floats)
    assert.equal(floats.input_tokens, 3)
  })

  test('are sorted by their index', async () => {
    const data = [1, 0].map((index) => ({ index, embedding: [index, 1] }))
    await using asking = await startAsking(answering({ body: JSON.stringify({ data }) }))
    const { vectors, input_tokens } = await asking.provider.embed!({ model: 'x', input }, context)
    assert.deepEqual(
      [vectors, input_tokens],
      [
        [
          [0, 1],
          [1, 1],
        ],
        0,
      ],
    )
  })

  for (const body of ['{}', '{"data":3}', 'null', 'vectors'])
    test(`cannot be read from ${body}`, async () => {
      await using asking = await startAsking(answering({ body }))
      await assert.rejects(asking.provider.embed!({ model: 'x', input }, context), { fault: 'failed' })
    })

  test('are too large beyond the limit of bytes', async () => {
    await using asking = await startAsking({ ...answering({ body: 'x'.repeat(101) }), most_bytes: 100 })
    await assert.rejects(asking.provider.embed!({ model: 'x', input }, context), { fault: 'too_large' })
  })
})

describe('a passthrough answer', () => {
  const send = (asking: Awaited<ReturnType<typeof startAsking>>, body: string | Uint8Array, stop = signal) =>
    asking.provider.upstream!.send({ path: '/chat/completions', body, credential: KEY, signal: stop })
  const read = async (body: AsyncIterable<Uint8Array>) => String(Buffer.concat(await collect(body)))
  const BODY = '{ "model" : "gpt-4o", "messages":[{"role":"user","content":"ü"}], "future":1e2 }'

  test('is the unchanged answer to the unchanged request', async () => {
    await using asking = await startAsking({ keys: [KEY] })
    const { status, content_type, body } = await send(asking, Buffer.from(BODY))
    assert.deepEqual([status, content_type], [200, 'application/json'])
    assert.match(await read(body), /"content": "Hello from upstream"/)
    assert.equal(asking.upstream.posts[0]!.raw.toString(), BODY)
  })

  test('fails before its head as an error of the provider', async () => {
    await using asking = await startAsking(answering({ error: { message: 'no', param: 'n' } }))
    await assert.rejects(send(asking, BODY), { name: 'ProviderError', fault: 'rejected', param: 'n' })
  })

  for (const [what, script, fault] of [
    ['breaks off', { events: ['a', 'b'], cuts: 1 }, 'failed'],
    ['stops', { events: ['a', 'b'], hangs: 1 }, 'timed_out'],
    ['is too large', { body: 'x'.repeat(101) }, 'too_large'],
  ] as readonly (readonly [string, Script, string])[])
    test(`fails in the middle where it ${what}`, async () => {
      await using asking = await startAsking({ ...answering(script), times: { idle_timeout_ms: 60 }, most_bytes: 100 })
      const { body } = await send(asking, BODY)
      await assert.rejects(read(body), (error) => error instanceof ProviderError && error.fault === fault)
    })

  test('may have any length where it is streamed', async () => {
    await using asking = await startAsking({ ...answering({ events: ['x'.repeat(500)] }), most_bytes: 100 })
    assert.equal((await read((await send(asking, BODY)).body)).length, 508)
  })

  test('ends with its caller', async () => {
    await using asking = await startAsking(answering({ events: ['a', 'b'], hangs: 1 }))
    const stop = new AbortController()
    const { body } = await send(asking, BODY, stop.signal)
    const pieces = body[Symbol.asyncIterator]()
    await pieces.next()
    const reading = pieces.next()
    stop.abort(new Error('gone'))
    await assert.rejects(reading, /gone/)
    await asking.upstream.posts[0]!.gone
  })
})

test('tokens are estimated by the script of a text', () => {
  assert.equal(estimateTokensByScript(''), 0)
  assert.equal(estimateTokensByScript('a'.repeat(40)), 10)
  assert.equal(estimateTokensByScript('Привет'), 3)
  assert.equal(estimateTokensByScript('你好'), 2)
})
