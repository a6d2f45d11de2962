// createChatCompletion with providers that do not speak OpenAI's protocol: their parts as completions and as chunks.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CompletionPart, Provider } from '../../src/models/provider.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { asking, chunksIn, dataOf, post } from '../completions/kit.ts'
import { call } from '../helpers/http.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { startServer } from '../helpers/server.ts'

const MODEL = 'parts/small'
const end = (output_tokens: number): CompletionPart => ({
  type: 'end',
  usage: { input_tokens: 5, output_tokens, cost: null },
  finish_reason: 'tool_calls',
})

/** Emits these parts for any request. */
function partsProvider(parts: readonly (CompletionPart | Error)[]): Provider {
  return {
    ...pricedProvider({ name: 'parts' }),
    async *complete() {
      for (const part of parts) {
        if (part instanceof Error) throw part
        yield part
      }
    },
  }
}

const PARTS: readonly CompletionPart[] = [
  { type: 'thinking', text: 'hm' },
  { type: 'text', text: 'Look' },
  { type: 'text', text: 'ing.' },
  { type: 'tool_call', index: 0, id: 'call_a', name: 'weather', arguments: '' },
  { type: 'tool_call', index: 1, name: 'time', arguments: '{' },
  { type: 'tool_call', index: 0, arguments: '{"city":"Zürich"}' },
  { type: 'tool_call', index: 1, arguments: '}' },
  end(9),
]
const CALLED = [
  { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Zürich"}' } },
  { id: 'call_1', type: 'function', function: { name: 'time', arguments: '{}' } },
]

describe('the parts of a provider', () => {
  test('become one completion', async () => {
    await using server = await startServer({ providers: [partsProvider(PARTS)] })
    const body = JSON.parse(asking({ model: MODEL }))
    // biome-ignore lint/suspicious/noExplicitAny: it is held against the contract
    const { status, body: given } = await call<any>(server, 'POST', '/v1/chat/completions', { body })
    assert.equal(status, 200)
    const { id, created, choices, usage, model } = given
    assert.match(id, /^chatcmpl-\w{20,}$/)
    assert.ok(Math.abs(created - Date.now() / 1_000) < 60)
    assert.equal(model, MODEL)
    const message = {
      role: 'assistant',
      content: 'Looking.',
      refusal: null,
      reasoning_content: 'hm',
      tool_calls: CALLED,
    }
    assert.deepEqual(choices, [{ index: 0, message, logprobs: null, finish_reason: 'tool_calls' }])
    assert.deepEqual(usage, { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 })
  })

  test('have the model that answers, buffered or streamed, for any requested name', async () => {
    await using server = await startServer()
    for (const model of ['builtin/echo', 'echo']) {
      const whole = JSON.parse((await post(server, asking({ model }))).text)
      const chunks = chunksIn((await post(server, asking({ model, stream: true }))).text)
      for (const given of [whole, ...chunks]) {
        assert.equal(given.model, 'builtin/echo')
        assert.match(given.id, /^chatcmpl-/)
      }
    }
  })

  test('become chunks: the role, each part, the finish reason, and the usage on request', async () => {
    await using server = await startServer({ providers: [partsProvider(PARTS)] })
    for (const include_usage of [true, false]) {
      const { text } = await post(server, asking({ model: MODEL, stream: true, stream_options: { include_usage } }))
      assert.equal(dataOf(text).at(-1), '[DONE]')
      const chunks = chunksIn(text)
      assert.equal(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size, 1)
      if (include_usage)
        assert.deepEqual(chunks.pop(), {
          ...chunks[0],
          choices: [],
          usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 },
        })
      const deltas = chunks.map(({ choices }) => choices[0].delta)
      assert.deepEqual(deltas[0], { role: 'assistant', content: '', reasoning_content: 'hm' })
      assert.equal(
        deltas
          .slice(1)
          .map(({ content = '' }) => content)
          .join(''),
        'Looking.',
      )
      const calls = deltas.flatMap(({ tool_calls = [] }) => tool_calls)
      assert.deepEqual(calls[0], {
        index: 0,
        id: 'call_a',
        type: 'function',
        function: { name: 'weather', arguments: '' },
      })
      assert.deepEqual(calls[2], { index: 0, function: { arguments: '{"city":"Zürich"}' } })
      const finishes = chunks.map(({ choices }) => choices[0].finish_reason)
      assert.deepEqual(finishes, [...finishes.slice(1).map(() => null), 'tool_calls'])
      assert.ok(chunks.every((chunk) => 'usage' in chunk === include_usage))
    }
  })

  test('are counted if the provider reports no usage', async () => {
    const provider = pricedProvider({ name: 'parts' })
    await using server = await startServer({ providers: [provider] })
    const { usage } = JSON.parse((await post(server, asking({ model: MODEL }))).text)
    assert.deepEqual(usage, { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 })
  })

  for (const stream of [false, true]) {
    test(`that fail before the first give an HTTP error, ${stream ? 'streamed' : 'buffered'}`, async () => {
      const error = new ProviderError('rate_limited', 'The provider "parts" is asked too often.', {
        retry_after_seconds: 2.5,
      })
      await using server = await startServer({ providers: [partsProvider([error])] })
      const { status, headers, text } = await post(server, asking({ model: MODEL, stream }))
      assert.deepEqual([status, headers['retry-after']], [429, '3'])
      assert.equal(JSON.parse(text).error.type, 'rate_limited')
    })
  }

  test('that fail later give an error event, and the end of the stream', async () => {
    const failing = partsProvider([{ type: 'text', text: 'Look' }, new Error('the key sk-1 is wrong')])
    await using server = await startServer({ providers: [failing] })
    const { status, text } = await post(server, asking({ model: MODEL, stream: true }))
    assert.equal(status, 200)
    const data = dataOf(text)
    assert.deepEqual([JSON.parse(data.at(-2)!).error.type, data.at(-1)], ['upstream_error', '[DONE]'])
    assert.doesNotMatch(text, /sk-1/)
  })
})

test('the echo model ends its answer at a stop text, and after the maximum of words', async () => {
  await using server = await startServer()
  const said = async (fields: object) => {
    const messages = [{ role: 'user', content: 'one two three four' }]
    const { choices } = JSON.parse((await post(server, asking({ model: 'builtin/echo', messages, ...fields }))).text)
    return [choices[0].message.content.trim(), choices[0].finish_reason]
  }
  assert.deepEqual(await said({}), ['one two three four', 'stop'])
  assert.deepEqual(await said({ stop: ['four', 'three'] }), ['one two', 'stop'])
  assert.deepEqual(await said({ max_completion_tokens: 3 }), ['one two three', 'length'])
})
