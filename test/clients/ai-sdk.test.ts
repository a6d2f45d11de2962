// Vercel's AI SDK with its provider for servers that speak OpenAI's protocol: texts, streams, tools in steps, objects, vectors and failures.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, embed, embedMany, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai'
import { hello, stored } from '../completions/workflow-kit.ts'
import type { UpstreamOptions } from '../helpers/upstream.ts'
import { all, type Bench, CITY, MODEL, startBench, VECTORS, weatherman } from './kit.ts'

function providerOf({ server }: Bench) {
  return createOpenAICompatible({
    name: 'svc',
    baseURL: `${server.url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
}

async function failureOf(work: PromiseLike<unknown>): Promise<APICallError> {
  try {
    await work
  } catch (error) {
    assert.ok(APICallError.isInstance(error), String(error))
    return error
  }
  assert.fail('there is no error')
}

/** A bench with a model of it. */
async function bench(options: UpstreamOptions = {}, id = MODEL) {
  const started = await startBench(options)
  const provider = providerOf(started)
  return { ...started, provider, model: provider(id), [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() }
}

describe('the AI SDK', () => {
  test('generates a text, with its usage', async () => {
    await using it = await bench({ answer: () => ({ usage: { prompt_tokens: 9, completion_tokens: 3 } }) })
    const { text, usage, finishReason } = await generateText({ model: it.model, prompt: 'hello there', seed: 7 })
    assert.deepEqual([text, finishReason], ['Hello from upstream', 'stop'])
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [9, 3])
    assert.equal(it.upstream.posts[0]!.json.seed, 7)
  })

  test('streams a text, with its usage', async () => {
    await using it = await bench({ answer: () => ({ text: ['Grü', 'ß ', '😀'] }) })
    const streamed = streamText({ model: it.model, prompt: 'hello there' })
    assert.deepEqual(await all(streamed.textStream), ['Grü', 'ß ', '😀'])
    assert.equal(await streamed.finishReason, 'stop')
    const { inputTokens = 0, outputTokens = 0 } = await streamed.usage
    assert.ok(inputTokens > 0 && outputTokens > 0)
  })

  for (const streamed of [false, true]) {
    test(`calls tools in steps, ${streamed ? 'streamed' : 'whole'}`, async () => {
      await using it = await bench({ answer: weatherman })
      const asked: string[] = []
      const weather = tool({
        description: 'Of a city.',
        inputSchema: jsonSchema<{ city: string }>(CITY),
        execute: async ({ city }) => {
          asked.push(city)
          return { weather: `sun in ${city}` }
        },
      })
      const given = { model: it.model, prompt: 'weather?', tools: { weather }, stopWhen: stepCountIs(3) }
      const text = streamed ? await streamText(given).text : (await generateText(given)).text
      assert.equal(text, '{"weather":"sun in Ulm"}; {"weather":"sun in Bonn"}')
      assert.deepEqual(asked, ['Ulm', 'Bonn'])
      assert.equal(it.upstream.posts.length, 2)
    })

    test(`gets an object, ${streamed ? 'streamed' : 'whole'}`, async () => {
      await using it = await bench()
      const output = Output.object({ schema: jsonSchema<{ city: string }>(CITY) })
      const given = { model: it.model, prompt: 'where?', output }
      const object = streamed ? await streamText(given).output : (await generateText(given)).output
      assert.deepEqual(object, { city: 'text' })
      const { response_format } = it.upstream.posts[0]!.json
      assert.deepEqual([response_format.type, response_format.json_schema.schema.required], ['json_schema', ['city']])
    })
  }

  test('gets vectors', async () => {
    await using it = await bench({ answer: ({ json }) => ({ vectors: [json.input].flat().map((_, at) => [at, 0.5]) }) })
    const model = it.provider.embeddingModel(VECTORS)
    const one = await embed({ model, value: 'a' })
    assert.deepEqual(one.embedding, [0, 0.5])
    assert.ok(one.usage.tokens > 0)
    const many = await embedMany({ model, values: ['a', 'b'] })
    assert.deepEqual(many.embeddings, [
      [0, 0.5],
      [1, 0.5],
    ])
  })

  test('asks a workflow and what echoes', async () => {
    await using it = await bench()
    const workflow = it.provider(`workflow/${await stored(it.server, hello())}`)
    assert.equal((await generateText({ model: workflow, prompt: 'Ada' })).text, 'Hello, Ada!')
    assert.equal(await streamText({ model: workflow, prompt: 'Ada' }).text, 'Hello, Ada!')
    assert.equal((await generateText({ model: it.provider('builtin/echo'), prompt: 'Ada' })).text, 'Ada')
  })

  test('is told what went wrong, and whether to ask again', async () => {
    const fails = { status: 503, error: { message: 'sk-inside' } }
    await using it = await bench({ answer: () => fails })
    const failed = await failureOf(generateText({ model: it.model, prompt: 'a', maxRetries: 0 }))
    assert.deepEqual([failed.statusCode, failed.isRetryable], [502, true])
    assert.doesNotMatch(`${failed.message} ${failed.responseBody}`, /sk-inside/)
    const missing = await failureOf(generateText({ model: it.provider('nobody/nothing'), prompt: 'a' }))
    assert.deepEqual([missing.statusCode, missing.isRetryable], [404, false])
    assert.match(missing.message, /no provider "nobody"/)
  })

  test('is told in the middle of a stream, after what there was', async () => {
    await using it = await bench({ answer: () => ({ text: ['one', 'two'], cuts: 2 }) })
    const errors: unknown[] = []
    const streamed = streamText({ model: it.model, prompt: 'a', onError: ({ error }) => void errors.push(error) })
    assert.deepEqual(await all(streamed.textStream), ['one'])
    assert.equal(errors.length, 1)
    assert.match(
      JSON.stringify(errors[0], Object.getOwnPropertyNames(Object(errors[0]))),
      /failed or returned an invalid response/,
    )
  })

  test('goes away in the middle of a stream, and so does the service', async () => {
    await using it = await bench({ answer: () => ({ text: ['one', 'two'], hangs: 2 }) })
    const leaving = new AbortController()
    const streamed = streamText({ model: it.model, prompt: 'a', abortSignal: leaving.signal, onError: () => {} })
    for await (const text of streamed.textStream) if (text === 'one') leaving.abort()
    await it.upstream.posts[0]!.gone
  })
})
