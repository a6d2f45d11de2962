// Dozens of requests that are refused at the same time: the search for a long key in each error does not block the event loop.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { readErrorResponse } from '../../src/models/providers/openai/errors.ts'
import { requestJson } from '../../src/models/providers/shared/vendor-http.ts'
import type { UpstreamClient } from '../../src/net/upstream/client.ts'
import type { UpstreamResponse } from '../../src/net/upstream/exchange.ts'
import { longestTurn } from '../helpers/loop.ts'
import { inMostRounds } from '../helpers/patience.ts'
import { mostMs } from '../helpers/processor.ts'
import { atRealSize } from '../helpers/scale.ts'

/** The most parallel requests of one user to an origin. */
const AT_ONCE = 32
/** In milliseconds of CPU time. */
const LONGEST_HOLD = 100
const KEY = `sk-${randomBytes(48_000).toString('base64url')}`.slice(0, 64_000)
/** Words that are nearly parts of the key. */
const ERROR = { message: `${KEY.slice(1_000, 1_015)} `.repeat(3_900), param: 'model', type: 'invalid', code: 'invalid' }

function refused(): UpstreamResponse {
  const pieces = [Buffer.from(JSON.stringify({ error: ERROR }))].values()
  const next = async () => pieces.next()
  const body = { next, destroy() {}, release() {}, [Symbol.asyncIterator]: () => ({ next }) }
  return { status: 400, header: () => undefined, body } as unknown as UpstreamResponse
}

const signal = new AbortController().signal
const client = { send: async () => refused() } as unknown as UpstreamClient
const vendor = { name: 'acme', base_url: 'http://127.0.0.1/v1', client, headers: () => ({}), faultOf: () => null }
const asked = { provider: 'acme', secret: 'ACME_API_KEY', credential: KEY }

for (const [who, refusal] of [
  ["a server that speaks OpenAI's protocol", () => readErrorResponse(asked, refused())],
  ['a vendor', () => requestJson(vendor, '/models', null, { credential: KEY, signal }).catch((error: Error) => error)],
] as const)
  test(`${AT_ONCE} refusals of ${who} do not block the event loop`, { skip: atRealSize }, () =>
    inMostRounds(async () => {
      const held = await longestTurn(async () => {
        const all = await Promise.all(Array.from({ length: AT_ONCE }, refusal))
        for (const one of all) assert.match(String(one), /refused the request/)
      })
      const most = mostMs(held, LONGEST_HOLD)
      assert.ok(held < most, `held for ${held} of ${most} ms of the processor`)
    }),
  )
