// The command `inference`: its chunks, its answer, its errors, and how it ends.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ChatCompletion } from '../../generated/types.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { type Bench, startChat, usage } from '../chat/kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'

let bench: Bench
before(async () => {
  bench = await startChat()
})
after(() => bench[Symbol.asyncDispose]())

const next = () => bench.led.answer(bench.led.answers.length)
const messages = [{ role: 'user', content: 'Hello' }]

describe('an inference', () => {
  for (const mode of ['binary', 'text'] as const) {
    test(`comes in chunks, and then as a whole, in the encoding ${mode}`, async () => {
      await using client = await connect(bench.server, { mode })
      const answer = next()
      const asked = { messages, model: 'led/model', temperature: 0.5, max_completion_tokens: null }
      client.command('inference', asked, 'one')
      const led = await answer
      assert.equal(led.request.temperature, 0.5)
      assert.ok(!('max_completion_tokens' in led.request))
      led.give({ type: 'thinking', text: 'Hm' })
      led.say('Good', ' day')
      led.give({ type: 'tool_call', index: 0, id: 'call', name: 'look', arguments: '{}' })
      led.end('tool_calls')
      const reply = await client.next({ type: 'rpc_response' })
      const { choices, usage: used, model } = reply.result as ChatCompletion
      assert.equal(choices[0]!.message.content, 'Good day')
      assert.equal(choices[0]!.message.tool_calls?.length, 1)
      assert.deepEqual([choices[0]!.finish_reason, model, used], ['tool_calls', 'led/model', usage])
      const pieces = client.frames.filter(({ type }) => type === 'chunk')
      assert.deepEqual(
        pieces.map(({ content, thinking, done, request_id }) => [content, thinking, done, request_id]),
        [
          ['Hm', true, false, 'one'],
          ['Good', false, false, 'one'],
          [' day', false, false, 'one'],
          ['', false, true, 'one'],
        ],
      )
      assert.equal(client.frames.filter(({ type }) => type === 'rpc_response').length, 1)
      const threads = await call(bench.server, 'GET', '/api/threads')
      assert.deepEqual(threads.body, [])
    })
  }

  test('without a model is answered by the first model of its provider', async () => {
    await using client = await connect(bench.server)
    const answer = next()
    client.command('inference', { messages, provider: 'led' }, 'default')
    const led = await answer
    assert.equal(led.request.model, 'model')
    led.end()
    await client.next({ request_id: 'default', type: 'rpc_response' })
    const echoed = await client.ask('inference', { messages, provider: 'builtin', model: 'echo' })
    void echoed
    const reply = await client.next({ request_id: echoed.request_id!, type: 'rpc_response' })
    assert.equal((reply.result as ChatCompletion).choices[0]!.message.content, 'Hello')
  })

  test('that fails is answered once, with an error that reveals nothing', async () => {
    await using client = await connect(bench.server)
    const answer = next()
    client.command('inference', { messages, model: 'led/model' }, 'fails')
    const led = await answer
    led.say('So far')
    led.fail(new ProviderError('timed_out', 'silent', { cause: new Error('sk-secret') }))
    const { error } = await client.next({ type: 'rpc_response' })
    assert.deepEqual((error as { code: string }).code, 'UPSTREAM_TIMEOUT')
    await client.settled()
    assert.equal(client.frames.filter(({ request_id }) => request_id === 'fails').length, 2)
    for (const [data, code] of [
      [{ messages, model: 'nobody/nothing' }, 'MODEL_NOT_FOUND'],
      [{ messages, provider: 'nobody' }, 'MODEL_NOT_FOUND'],
      [{ messages: [] }, 'INVALID_REQUEST'],
      [{ messages: [{ role: 'nobody', content: 'x' }] }, 'INVALID_REQUEST'],
    ] as const) {
      const refused = await client.ask('inference', data)
      assert.equal((refused.error as { code: string }).code, code, JSON.stringify(data))
    }
  })

  test('that is stopped is answered with the text so far, and the call of its model is cancelled', async () => {
    await using client = await connect(bench.server)
    const answer = next()
    client.command('inference', { messages, model: 'led/model' }, 'stopped')
    const led = await answer
    led.say('So far')
    await client.next({ type: 'chunk' })
    assert.equal((await client.ask('stop')).stopped, 1)
    const { result } = await client.next({ request_id: 'stopped', type: 'rpc_response' })
    const { choices, usage: used } = result as ChatCompletion
    assert.equal(choices[0]!.message.content, 'So far')
    assert.ok(used.prompt_tokens > 0 && used.completion_tokens > 0)
    await until('the model to be let go', () => led.ended)
  })

  test('ends when its socket closes', async () => {
    const answer = next()
    {
      await using client = await connect(bench.server)
      client.command('inference', { messages, model: 'led/model' }, 'gone')
      const led = await answer
      led.say('So far')
      await client.next({ type: 'chunk' })
    }
    const led = await answer
    await until('the model to be let go', () => led.ended && led.signal.aborted)
  })

  test('is refused while 64 others of the same socket run', async () => {
    await using client = await connect(bench.server)
    const first = bench.led.answers.length
    for (let at = 0; at < 64; at++) client.command('inference', { messages, model: 'led/model' }, `many-${at}`)
    const { error } = await client.ask('inference', { messages, model: 'led/model' })
    assert.equal((error as { code: string }).code, 'RATE_LIMITED')
    await bench.led.answer(first + 63)
    assert.equal((await client.ask('stop')).stopped, 64)
    for (let at = 0; at < 64; at++) await client.next({ request_id: `many-${at}`, type: 'rpc_response' })
  })
})
