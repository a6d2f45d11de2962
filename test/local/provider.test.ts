// Local models for real: the engine of the optional package runs models of random weights. What they say is noise, so that events are judged.
import assert from 'node:assert/strict'
import { test as plain, type TestContext } from 'node:test'
import type { CompletionPart, CompletionRequest } from '../../src/models/provider.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { createLocalProvider, type LocalProvider } from '../../src/models/providers/local/provider.ts'
import { until } from '../helpers/server.ts'
import { tinyModel } from '../helpers/tiny-model.ts'
import { type Bench, bench, localRuntime } from './kit.ts'

const MODELS = {
  'tiny/talk': {},
  'tiny/other': { seed: 2 },
  'tiny/third': { seed: 3 },
  'tiny/vectors': { pooling: 1 },
  'tiny/cut': tinyModel().subarray(0, 40_000),
  'tiny/nonsense': Buffer.from('nonsense'),
}

type Body = (provider: LocalProvider, bench: Bench) => Promise<void>

function test(name: string, body: Body, idle_ms?: number): void {
  plain(name, { timeout: 60_000 }, async (context: TestContext) => {
    const runtime = await localRuntime()
    if (runtime === null) return context.skip('skipped: node-llama-cpp cannot be installed here')
    using folders = bench(runtime, MODELS)
    using provider = createLocalProvider({ ...folders, ...(idle_ms === undefined ? {} : { idle_ms }) })
    await body(provider, folders)
  })
}

function request(more: Partial<CompletionRequest> = {}): CompletionRequest {
  return { model: 'tiny/talk', messages: [{ role: 'user', content: 'Hello there' }], seed: 7, max_tokens: 20, ...more }
}

async function answer(provider: LocalProvider, more: Partial<CompletionRequest> = {}) {
  const parts: CompletionPart[] = []
  for await (const part of provider.complete(request(more), context())) parts.push(part)
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  const end = parts.at(-1)
  assert.equal(end?.type, 'end')
  return { parts, text, end: end as Extract<CompletionPart, { type: 'end' }> }
}

function context(signal: AbortSignal = new AbortController().signal) {
  return { credential: null, signal }
}

function refused(fault: string, text: RegExp, param: string | null = null) {
  return (error: unknown) => {
    assert.ok(error instanceof ProviderError, String(error))
    assert.deepEqual([error.fault, error.param], [fault, param], error.message)
    assert.match(error.message, text)
    return true
  }
}

test('a local model answers in pieces, with the tokens that it took', async (provider) => {
  const { parts, text, end } = await answer(provider)
  assert.ok(parts.length > 3)
  assert.ok(text.length > 0)
  // [user] Hello there\n[assistant] and the token that begins a text.
  assert.ok(end.usage.input_tokens >= 30 && end.usage.input_tokens <= 40, String(end.usage.input_tokens))
  assert.deepEqual([end.usage.output_tokens, end.usage.cost, end.finish_reason], [20, 0, 'length'])
})

test('the same seed gives the same text, another one another', async (provider) => {
  const { text } = await answer(provider)
  await answer(provider, { messages: [{ role: 'user', content: 'Something else' }] })
  assert.equal((await answer(provider)).text, text)
  assert.notEqual((await answer(provider, { seed: 8 })).text, text)
})

test('at temperature 0 the seed means nothing', async (provider) => {
  const cold = (seed: number) => answer(provider, { temperature: 0, seed })
  assert.equal((await cold(1)).text, (await cold(2)).text)
})

test('a stop ends the answer before it', async (provider) => {
  const { text } = await answer(provider, { max_tokens: 60 })
  // Where it stands between whole characters: of others, the tokens before it may be only a part.
  const stop = text.slice(3).match(/(?<=[!-~])[!-~]/)?.[0] ?? assert.fail(text)
  const cut = await answer(provider, { max_tokens: 60, stop: [stop] })
  assert.equal(cut.text.replace(/\ufffd+$/, ''), text.slice(0, text.indexOf(stop)).replace(/\ufffd+$/, ''))
  assert.equal(cut.end.finish_reason, 'stop')
  // Tokens that are held back, since a stop may begin with them, are worked out like others.
  const held = await answer(provider, { max_tokens: 60, stop: [text.slice(2, 12)] })
  assert.ok(held.end.usage.output_tokens >= 8, String(held.end.usage.output_tokens))
})

test('a schema is kept to', async (provider) => {
  const schema = {
    type: 'object',
    properties: { color: { enum: ['red', 'green'] }, sure: { type: ['boolean', 'null'] } },
    required: ['color', 'sure'],
    additionalProperties: false,
  }
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'pick', schema, strict: true } }
  for (const seed of [1, 2, 3]) {
    const { text, end } = await answer(provider, { response_format, seed, max_tokens: 200 })
    const { color, sure, ...rest } = JSON.parse(text) as Record<string, unknown>
    assert.ok(color === 'red' || color === 'green')
    assert.ok(sure === null || typeof sure === 'boolean')
    assert.deepEqual(rest, {})
    assert.equal(end.finish_reason, 'stop')
  }
})

test('an answer goes on to the end of the context, and no further', async (provider) => {
  const { end } = await answer(provider, { max_tokens: null, logit_bias: {} })
  assert.ok(end.finish_reason === 'stop' || end.usage.input_tokens + end.usage.output_tokens <= 2048)
  const content = 'word '.repeat(700)
  await assert.rejects(
    answer(provider, { messages: [{ role: 'user', content }] }),
    refused('rejected', /"local\/tiny\/talk" takes 2048 tokens, and not 35\d\d with an answer/),
  )
})

test('an abort ends the generation, and the next one is answered', async (provider) => {
  const stop = new AbortController()
  const { text } = await answer(provider)
  let pieces = 0
  const cut = async () => {
    for await (const part of provider.complete(request({ max_tokens: 1_500 }), context(stop.signal))) {
      assert.notEqual(part.type, 'end')
      if (++pieces === 3) stop.abort(new Error('enough'))
    }
  }
  await assert.rejects(cut(), /enough/)
  assert.equal(pieces, 3)
  assert.equal((await answer(provider)).text, text)
})

test('a consumer that leaves ends the generation', async (provider) => {
  for await (const part of provider.complete(request({ max_tokens: 1_500 }), context())) {
    assert.equal(part.type, 'text')
    break
  }
  assert.equal((await answer(provider)).end.finish_reason, 'length')
})

test('others wait for their turn, and may leave while they wait', async (provider) => {
  const ends: string[] = []
  const stop = new AbortController()
  const begun = Promise.withResolvers<void>()
  const run = (name: string, signal?: AbortSignal) =>
    (async () => {
      for await (const _ of provider.complete(request({ max_tokens: 40 }), context(signal))) begun.resolve()
      ends.push(name)
    })()
  const first = run('first')
  // The files of models are looked up at the same time: only a request that is being answered is surely the first.
  await begun.promise
  const second = run('second', stop.signal)
  const third = run('third')
  stop.abort(new Error('left'))
  await assert.rejects(second, /left/)
  await Promise.all([first, third])
  assert.deepEqual(ends, ['first', 'third'])
})

test('what is not honoured is refused, and nothing is loaded for it', async (provider) => {
  const wrong = (more: Partial<CompletionRequest>, param: string) =>
    assert.rejects(answer(provider, more), refused('unsupported', /./, param))
  const tool = { type: 'function' as const, function: { name: 'f', parameters: {} } }
  await wrong({ tools: [tool] }, 'tools')
  await wrong({ logprobs: true }, 'logprobs')
  await wrong({ messages: [{ role: 'tool', content: 'x', tool_call_id: 'c' }] }, 'messages[0].role')
  assert.deepEqual(provider.listLoadedIds(), [])
})

test('a damaged file has a clear reason, and harms no other model', async (provider) => {
  await assert.rejects(
    answer(provider, { model: 'tiny/cut' }),
    refused('unavailable', /^The file of the model "local\/tiny\/cut" cannot be used: it is damaged/),
  )
  await assert.rejects(
    answer(provider, { model: 'tiny/nonsense' }),
    refused('unavailable', /^The file of the model "local\/tiny\/nonsense" is no GGUF file, or damaged\.$/),
  )
  const bad = (await provider.models(context())).flatMap(({ name, unavailable }) =>
    unavailable ? [[name, unavailable]] : [],
  )
  assert.deepEqual(
    bad.map(([name]) => name),
    ['tiny/cut', 'tiny/nonsense'],
  )
  assert.match(bad[0]![1]!, /^The file of the model "local\/tiny\/cut" cannot be used/)
  await assert.rejects(answer(provider, { model: 'tiny/none' }), refused('not_found', /no file of a model/))
  assert.equal((await answer(provider)).end.finish_reason, 'length')
})

test('a model that nobody asks is unloaded, and loaded again', async (provider) => {
  const { text } = await answer(provider)
  assert.deepEqual(provider.listLoadedIds(), ['local/tiny/talk'])
  await until('the model to be unloaded', () => provider.listLoadedIds().length === 0)
  assert.equal((await answer(provider)).text, text)
}, 50)

test('idle models make room for the next', async (provider) => {
  for (const model of ['tiny/talk', 'tiny/other', 'tiny/third']) await answer(provider, { model })
  assert.deepEqual(provider.listLoadedIds(), ['local/tiny/third'])
})

test('the list says what is there', async (provider) => {
  const models = await provider.models(context())
  assert.deepEqual(
    models.map(({ id, tasks, context_length }) => [id, tasks, context_length]),
    [
      ['local/tiny/cut', ['chat'], 2048],
      ['local/tiny/nonsense', ['chat'], null],
      ['local/tiny/other', ['chat'], 2048],
      ['local/tiny/talk', ['chat'], 2048],
      ['local/tiny/third', ['chat'], 2048],
      ['local/tiny/vectors', ['embedding'], 2048],
    ],
  )
})

test('a text becomes a vector', async (provider) => {
  const asked = { model: 'tiny/vectors', input: ['one', 'two', 'one'] }
  const { vectors, input_tokens } = await provider.embed!(asked, context())
  assert.deepEqual(
    vectors.map(({ length }) => length),
    [32, 32, 32],
  )
  assert.deepEqual(vectors[0], vectors[2])
  assert.notDeepEqual(vectors[0], vectors[1])
  assert.ok(input_tokens >= 9)
})
