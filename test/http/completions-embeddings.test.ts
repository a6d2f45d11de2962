// createEmbedding: embeddings passed through from servers that speak OpenAI's protocol, or made from those of other providers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EmbeddingList } from '../../generated/types.ts'
import type { Provider } from '../../src/models/provider.ts'
import { post, startGateway } from '../completions/kit.ts'
import { call } from '../helpers/http.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { startServer } from '../helpers/server.ts'

const path = '/v1/embeddings'
const MODEL = 'up/text-embedding-3-small'

function vectors(): Provider {
  const provider = pricedProvider({ name: 'own' })
  return {
    ...provider,
    models: async (context) => (await provider.models(context)).map((model) => ({ ...model, tasks: ['embedding'] })),
    embed: async ({ input }) => ({ vectors: [input].flat().map((_, at) => [at, 0.5]), input_tokens: 0 }),
  }
}

describe('createEmbedding', () => {
  test('passes requests and answers through unchanged', async () => {
    const usage = '"usage":{"prompt_tokens":4,"total_tokens":4}'
    const vectors =
      '{"embedding":[1.0,1e-400],"index":0,"object":"embedding"}, {"x":"]}\\"","object":"embedding","index":1,"embedding":[-0,2]}'
    const body = `{"data":[${vectors}],"object":"list","model":"m",${usage}}`
    await using gateway = await startGateway({ answer: () => ({ body, split: [3, 40, 41, 70, 120] }) })
    const text = `{"input":[[1,2],[3]],"model":"${MODEL}","x":1.0}`
    const answer = await post(gateway.server, text, { path })
    assert.deepEqual([answer.status, answer.text], [200, body])
    assert.equal(gateway.upstream.posts[0]!.raw.toString(), text.replace('up/', ''))
    const metrics = await gateway.server.context.metrics.text()
    assert.match(metrics, /svc_model_tokens_total\{provider="up",direction="input"\} 4\n/)
  })

  for (const usage of ['none', 'zeros'] as const) {
    test(`reports the usage if the provider sends ${usage}`, async () => {
      const fields = usage === 'none' ? '' : ',"usage":{"prompt_tokens":0,"total_tokens":0}'
      const data = '"data":[{"object":"embedding","index":0,"embedding":[0.10]}]'
      const body = `{"object":"list",${data},"model":"m"${fields}}`
      await using gateway = await startGateway({ answer: () => ({ body }) })
      const { text } = await post(gateway.server, JSON.stringify({ model: MODEL, input: ['some words of a text'] }), {
        path,
      })
      assert.ok(text.includes(data), text)
      const { prompt_tokens, total_tokens } = JSON.parse(text).usage
      assert.ok(prompt_tokens >= 4 && prompt_tokens === total_tokens)
    })
  }

  const one = '{"object":"embedding","index":0,"embedding":[1,2]}'
  const listed = (data: string, more = '') => `{"object":"list","data":[${data}],"model":"m"${more}}`
  for (const body of [
    '{"object":"list"}',
    '{"data":[',
    '[]',
    'null',
    '{"data":{}}',
    '{"error":{"message":"no"}}',
    listed('', ',"usage":{x}'),
    listed(''),
    listed(`${one},${one}`),
    listed('0'),
    listed(`${one} ${one.replace('{', '')}`),
    listed(one.replace('[1,2]', '[1,]')),
    listed(one.replace('[1,2]', '[]')),
    listed(one.replace('[1,2]', '["1"]')),
    listed(one.replace('[1,2]', '{}')),
    listed(one, ',,'),
    listed(one).slice(0, -1),
    `${listed(one)}}`,
  ]) {
    test(`gives 502 for the answer ${body}`, async () => {
      await using gateway = await startGateway({ answer: () => ({ body }) })
      const { status } = await post(gateway.server, JSON.stringify({ model: MODEL, input: 'a' }), { path })
      assert.equal(status, 502)
    })
  }

  test('gives 502 if vectors are missing, or have different lengths', async () => {
    const vector = (embedding: unknown, index = 0) => ({ object: 'embedding', index, embedding })
    const answers = [
      [vector([1, 2])],
      [vector([1, 2]), vector([1], 1)],
      [vector('AAAA'), vector('AAAABBBB', 1)],
      [vector([1, 2]), vector([1, 2], 1), vector([1, 2], 2)],
    ]
    await using gateway = await startGateway({
      answer: (_, n) => ({ body: JSON.stringify({ object: 'list', model: 'm', data: answers[n] }) }),
    })
    for (const _ of answers)
      assert.equal(
        (await post(gateway.server, JSON.stringify({ model: MODEL, input: ['a', 'b'] }), { path })).status,
        502,
      )
  })

  test('passes many through, with their costs, without blocking other requests', async () => {
    const numbers = Array.from({ length: 1_536 }, (_, at) => Math.sin(at))
    const data = Array.from({ length: 1_000 }, (_, index) => ({ object: 'embedding', index, embedding: numbers }))
    const body = JSON.stringify({ object: 'list', data, model: 'm', usage: { total_tokens: 0, x: 1 } })
    await using gateway = await startGateway({ answer: () => ({ body }) })
    const input = data.map(() => 'one two')
    const { status, text } = await post(gateway.server, JSON.stringify({ model: MODEL, input }), { path })
    assert.equal(status, 200)
    const at = body.indexOf(',"usage"')
    assert.equal(text.slice(0, at), body.slice(0, at))
    const { usage } = JSON.parse(text)
    assert.ok(usage.x === 1 && usage.prompt_tokens >= 1_000 && usage.total_tokens === usage.prompt_tokens)
  })

  test('refuses a workflow, which makes no embeddings', async () => {
    await using server = await startServer()
    const { status, text } = await post(server, JSON.stringify({ model: 'workflow/x', input: 'a' }), { path })
    const { param, message } = JSON.parse(text).error
    assert.deepEqual([status, param, message], [400, 'model', 'The model "workflow/x" makes no vectors.'])
  })

  test('reports only the problems of the intended form of input', async () => {
    await using server = await startServer()
    for (const [input, path_of, message] of [
      [['a', ''], '/body/input/1', 'must NOT have fewer than 1 characters'],
      [['a', 5], '/body/input/1', 'must be string'],
      [[{}], '/body/input/0', 'must be string'],
      [[1, 'a'], '/body/input/1', 'must be integer'],
      [[1, -1], '/body/input/1', 'must be >= 0'],
      [[[1], []], '/body/input/1', 'must NOT have fewer than 1 items'],
      [[[1], ['a']], '/body/input/1/0', 'must be integer'],
      [[], '/body/input', 'must NOT have fewer than 1 items'],
    ] as const) {
      const { text } = await post(server, JSON.stringify({ model: 'builtin/echo', input }), { path })
      const { problems } = JSON.parse(text).error
      const told = problems.map((problem: { path: string; message: string }) => [problem.path, problem.message])
      assert.deepEqual(told, [[path_of, message]], JSON.stringify(input))
    }
  })

  test('makes lists from embeddings of other providers, as numbers and as bytes', async () => {
    await using server = await startServer({ providers: [vectors()] })
    const ask = (fields: object) =>
      call<EmbeddingList>(server, 'POST', path, { body: { model: 'own/small', input: ['a b', 'c'], ...fields } })
    const { status, body } = await ask({})
    assert.equal(status, 200)
    const list = [
      [0, 0.5],
      [1, 0.5],
    ].map((embedding, index) => ({ object: 'embedding', index, embedding }))
    assert.deepEqual(body, {
      object: 'list',
      data: list,
      model: 'own/small',
      usage: { prompt_tokens: 3, total_tokens: 3 },
    })
    const { data } = (await ask({ encoding_format: 'base64' })).body
    const bytes = Buffer.from(data[1]!.embedding as string, 'base64')
    assert.deepEqual([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.length], [1, 0.5, 8])
  })

  test('refuses options that other providers do not support, and models without embeddings', async () => {
    await using server = await startServer({ providers: [vectors()] })
    for (const [param, fields] of [
      ['input', { input: [1, 2] }],
      ['x_unknown', { x_unknown: 1 }],
      ['model', { model: 'builtin/echo' }],
      ['input', { input: [] }],
    ] as const) {
      const { status, text } = await post(
        server,
        JSON.stringify(Object.assign({ model: 'own/small', input: 'a' }, fields)),
        {
          path,
        },
      )
      assert.equal(status, 400, text)
      assert.equal(JSON.parse(text).error.param, param)
    }
  })
})
