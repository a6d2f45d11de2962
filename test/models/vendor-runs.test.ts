// A workflow with a model of Anthropic or Google, from its HTTP request to the result of its job.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Provider } from '../../src/models/provider.ts'
import { createAnthropicProvider } from '../../src/models/providers/anthropic/provider.ts'
import { createGoogleProvider } from '../../src/models/providers/google/provider.ts'
import { startAnthropic } from '../helpers/anthropic-upstream.ts'
import { startGoogle } from '../helpers/google-upstream.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import type { VendorUpstream } from '../helpers/vendor-upstream.ts'
import { chatting, resultOf, run, snapshot, spent } from './kit.ts'
import { GOOGLE_KEY, KEY, quickClient } from './vendor-kit.ts'

const client = quickClient()
after(() => client[Symbol.asyncDispose]())

interface Vendor {
  start(): Promise<VendorUpstream>
  provider(base_url: string): Provider
  key: string
  model: string
  cost: number
}

const VENDORS: Readonly<Record<string, Vendor>> = {
  anthropic: {
    start: () => startAnthropic(),
    provider: (base_url) => createAnthropicProvider({ client, base_url }),
    key: KEY,
    model: 'anthropic/claude-opus-5-5',
    cost: (16 * 4 + 7 * 20) / 1_000_000,
  },
  google: {
    start: () => startGoogle(),
    provider: (base_url) => createGoogleProvider({ client, base_url }),
    key: GOOGLE_KEY,
    model: 'google/gemini-3.8-flash',
    cost: (9 * 1.5 + 11 * 7.5) / 1_000_000,
  },
}

for (const [name, vendor] of Object.entries(VENDORS))
  describe(`a run with ${name}`, () => {
    const secret = name === 'anthropic' ? 'ANTHROPIC_API_KEY' : 'GEMINI_API_KEY'

    test('streams its text, and reports its usage and cost', async () => {
      await using upstream = await vendor.start()
      await using server = await startServer({ providers: [vendor.provider(upstream.base_url)] })
      const set = await call(server, 'PUT', `/api/secrets/${secret}`, { body: { value: vendor.key } })
      assert.ok(set.status < 300, set.text)
      const { status, outputs, job_id } = await run(server, chatting({ model: vendor.model }))
      assert.deepEqual([status, outputs.out], ['completed', ['Hello', ' there']])
      const [cost, providers, models] = spent(await resultOf(server, job_id))
      assert.deepEqual(cost, [Number(vendor.cost.toFixed(12)), 'USD', false])
      assert.deepEqual([providers, models], [[name], [vendor.model]])
    })

    test('without a key, or with a wrong one, fails and names neither key nor cause', async () => {
      await using upstream = await vendor.start()
      await using server = await startServer({ providers: [vendor.provider(upstream.base_url)] })
      const without = await run(server, chatting({ model: vendor.model }))
      assert.deepEqual([without.status, without.error?.type], ['failed', 'unknown_secret'])
      assert.match(without.error!.message, new RegExp(secret))
      assert.equal(upstream.requests.length, 0)
      const wrong = `${vendor.key}-wrong`
      await call(server, 'PUT', `/api/secrets/${secret}`, { body: { value: wrong } })
      const { status, error, job_id } = await run(server, chatting({ model: vendor.model }))
      assert.deepEqual([status, error?.type], ['failed', 'unknown_secret'])
      assert.doesNotMatch(JSON.stringify([error, await snapshot(server, job_id)]), new RegExp(vendor.key))
    })
  })
