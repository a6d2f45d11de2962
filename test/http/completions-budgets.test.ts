// Limits on model costs with a server that speaks OpenAI's protocol: the input counts while a completion runs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PassthroughResponse, Provider } from '../../src/models/provider.ts'
import { asking, post } from '../completions/kit.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, until } from '../helpers/server.ts'

const CHUNK = { id: 'x', created: 1, model: 'm', object: 'chat.completion.chunk' }
const EVENT = `data: ${JSON.stringify({ ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`

/** A dollar for each request; answers stay open until they are released. */
function waiting(): { provider: Provider; asked: () => number; go(): void } {
  const gate = Promise.withResolvers<void>()
  let asked = 0
  const body = {
    async *[Symbol.asyncIterator]() {
      yield Buffer.from(EVENT)
      await gate.promise
    },
    destroy() {},
    release() {},
  }
  const send = async (): Promise<PassthroughResponse> => {
    asked++
    return { status: 200, content_type: 'text/event-stream', body }
  }
  const provider = { ...pricedProvider({ models: { small: dollars(0, 0, 1) } }), upstream: { send } }
  return { provider, asked: () => asked, go: () => gate.resolve() }
}

test('a running completion counts towards the limit, and not after its end', async () => {
  const { provider, asked, go } = waiting()
  const config = { max_cost_per_job: null, max_cost_per_user_per_day: null, max_cost_per_day: 2 }
  await using server = await startServer({ providers: [provider], config })
  const body = asking({ model: 'priced/small', stream: true })
  const both = [post(server, body), post(server, body)]
  await until('both', () => asked() === 2)
  const refused = await post(server, body)
  assert.equal(refused.status, 429, refused.text)
  assert.equal(JSON.parse(refused.text).error.type, 'budget_exceeded')
  assert.equal(asked(), 2)
  go()
  for (const { status } of await Promise.all(both)) assert.equal(status, 200)
  assert.match(await server.context.metrics.text(), /svc_model_cost_total\{[^}]*\} 2\b/)
  assert.equal((await post(server, body)).status, 429)
})

test('a call that the model server refused costs nothing', async () => {
  const { provider } = waiting()
  let calls = 0
  const send = async (): Promise<PassthroughResponse> => {
    calls++
    throw new Error('no')
  }
  const config = { max_cost_per_job: null, max_cost_per_user_per_day: null, max_cost_per_day: 1 }
  await using server = await startServer({ providers: [{ ...provider, upstream: { send } }], config })
  for (let n = 0; n < 3; n++) await post(server, asking({ model: 'priced/small' }))
  assert.equal(calls, 3)
})
