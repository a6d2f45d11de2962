// Who pays for a call: limits of a day count only what the operator pays, and not calls on a caller's own key.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PreflightSummary } from '../../generated/types.ts'
import { listModelSpending } from '../../src/db/model-spending.ts'
import { resolveBilledParty } from '../../src/models/billing/billed-party.ts'
import { asking, post, type Received } from '../completions/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer, type TestSettings, until } from '../helpers/server.ts'
import { type Script, startUpstream, type Upstream, type UpstreamRequest } from '../helpers/upstream.ts'
import { chatting } from './kit.ts'

const OPERATORS = 'sk-of-the-operator-0123456789'
const BAD = 'sk-bad-0123456789012345'
const OWN = 'sk-own-0123456789012345'
const [MODEL, SECRET] = ['up/m', 'UP_API_KEY']

/** A word is a token, and a million tokens cost 10 dollars. The operator's limit is one dollar. */
const PRICES = { data: [{ id: 'm', pricing: { prompt: '0.00001', completion: '0.00001' } }] }

interface Place extends AsyncDisposable {
  readonly server: TestServer
  readonly upstream: Upstream
  /** The headers that identify a user. */
  as(user_id: string): Readonly<Record<string, string>>
  ask(user_id: string, text?: string): Promise<Received>
  setKey(user_id: string, value: string): Promise<void>
  /** Makes the server refuse wrong keys from now on. */
  go(): void
  readonly waiting: () => number
}

async function place(settings: TestSettings = {}): Promise<Place> {
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  const answer = ({ headers }: UpstreamRequest): Script => {
    const key = headers.authorization?.slice('Bearer '.length)
    if (key === BAD) {
      waiting++
      return { status: 401, error: { message: 'no' }, before: () => gate.promise }
    }
    return { usage: { prompt_tokens: key === OWN ? 200_000 : 10, completion_tokens: 10 }, text: 'hi' }
  }
  const upstream = await startUpstream({ answer, models: ['m'], listing: () => ({ body: JSON.stringify(PRICES) }) })
  const idp = await startIdentityProvider()
  const environment = {
    ...idp.environment,
    SVC_MODEL_SERVERS: `up=${upstream.base_url}`,
    [SECRET]: OPERATORS,
    SVC_MAX_COST_PER_DAY: '1',
    ...settings.environment,
  }
  const server = await startServer({ ...settings, environment })
  const tokens = new Map<string, string>()
  const as = (user_id: string) => {
    const token = tokens.get(user_id) ?? idp.opaque({ id: user_id })
    tokens.set(user_id, token)
    return { Authorization: `Bearer ${token}` }
  }
  return {
    server,
    upstream,
    as,
    ask: (user_id, content = 'hello') =>
      post(server, asking({ model: MODEL, messages: [{ role: 'user', content }] }), { headers: as(user_id) }),
    async setKey(user_id, value) {
      const { status } = await call(server, 'PUT', `/api/secrets/${SECRET}`, { body: { value }, headers: as(user_id) })
      assert.equal(status, 200)
    },
    go: () => gate.resolve(),
    waiting: () => waiting,
    async [Symbol.asyncDispose]() {
      gate.resolve()
      await server[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
      await idp[Symbol.asyncDispose]()
    },
  }
}

const spendingOf = (server: TestServer) =>
  server.context.store
    .read((tx) => listModelSpending(tx, server.context.platform.timestamp().slice(0, 10)))
    .map(({ user_id, calls, amount, own_amount }) => [user_id, calls, amount, own_amount])

/** About 110,000 tokens. */
const LONG = 'word '.repeat(110_000)

describe("a call on a caller's own key", () => {
  test('reserves nothing of the limit of all users, at any cost', async () => {
    await using at = await place()
    await at.setKey('mallory', BAD)
    const call = at.ask('mallory', LONG)
    await until('her call', () => at.waiting() === 1)
    const { status, text } = await at.ask('bob')
    assert.equal(status, 200, text)
    at.go()
    assert.notEqual((await call).status, 200)
  })

  test('spends nothing of the limits of all users or of its user, but is counted', async () => {
    await using at = await place({ environment: { SVC_MAX_COST_PER_USER_PER_DAY: '0.5' } })
    await at.setKey('carol', OWN)
    for (let n = 0; n < 2; n++) {
      const { status, text } = await at.ask('carol')
      assert.equal(status, 200, text)
      assert.equal(JSON.parse(text).usage.prompt_tokens, 200_000)
    }
    assert.equal((await at.ask('bob')).status, 200)
    const metrics = await at.server.context.metrics.text()
    assert.match(metrics, /svc_model_cost_total\{provider="up",currency="USD"\} 4\.0004/)
    await until('the rows', () => spendingOf(at.server).length === 2)
    assert.deepEqual(spendingOf(at.server), [
      ['bob', 1, 0.0002, 0],
      ['carol', 2, 4.0002, 4.0002],
    ])
  })

  test(
    'is known after a restart as a call that the operator did not pay',
    inFolder(async (data_dir) => {
      {
        await using at = await place({ data_dir })
        await at.setKey('carol', OWN)
        assert.equal((await at.ask('carol')).status, 200)
      }
      await using at = await place({ data_dir })
      assert.deepEqual(spendingOf(at.server), [['carol', 1, 2.0001, 2.0001]])
      assert.equal((await at.ask('bob')).status, 200)
      assert.equal((await at.ask('carol')).status, 200)
      await until('the sum', () => spendingOf(at.server).some(([user, calls]) => user === 'carol' && calls === 2))
      assert.deepEqual(spendingOf(at.server).at(-1), ['carol', 2, 4.0002, 4.0002])
    }),
  )

  test('is paid by the caller also in a workflow and for vectors', async () => {
    const provider = pricedProvider({ credential: 'PRICED_API_KEY', embed: () => [1, 2] })
    const config = { provider_keys: { PRICED_API_KEY: OPERATORS }, max_cost_per_day: 0 }
    await using at = await place({ providers: [provider], config })
    const value = { body: { value: OWN }, headers: at.as('carol') }
    await call(at.server, 'PUT', '/api/secrets/PRICED_API_KEY', value)
    const embed = (user_id: string) => {
      const body = JSON.stringify({ model: 'priced/small', input: 'x' })
      return post(at.server, body, { path: '/v1/embeddings', headers: at.as(user_id) })
    }
    const run = async (user_id: string) => {
      const body = { name: 'chat', graph: chatting({ model: 'priced/small', prompt: 'x' }), access: 'private' }
      const headers = at.as(user_id)
      const made = await call<{ id: string }>(at.server, 'POST', '/api/workflows', { body, headers })
      assert.ok(made.body.id, made.text)
      return (await post(at.server, '{}', { path: `/api/workflows/${made.body.id}/run`, headers })).text
    }
    assert.equal((await embed('carol')).status, 200)
    assert.equal((await embed('bob')).status, 429)
    assert.doesNotMatch(await run('carol'), /over_budget/)
    assert.match(await run('bob'), /over_budget/)
    assert.deepEqual(new Set(provider.calls.map(({ credential }) => credential)), new Set([OWN]))
  })

  test('causes no warning in a preflight', async () => {
    await using at = await place({ environment: { SVC_MAX_COST_PER_DAY: '0' } })
    await at.setKey('carol', OWN)
    const look = async (user_id: string) => {
      const headers = at.as(user_id)
      const workflow = { name: 'chat', graph: chatting({ model: MODEL, prompt: 'x' }), access: 'private' }
      const made = await call<{ id: string }>(at.server, 'POST', '/api/workflows', { body: workflow, headers })
      const body = { workflow_id: made.body.id, level: 'availability' }
      const { body: told } = await call<PreflightSummary>(at.server, 'POST', '/api/sdk/v1/preflight', { body, headers })
      assert.notEqual(told.cost?.amount ?? null, null)
      return [told.runnable, ...told.issues.map(({ code }) => code)]
    }
    assert.deepEqual(await look('carol'), [true])
    assert.deepEqual(await look('bob'), [false, 'over_budget'])
  })
})

test('the operator pays for calls on the operator’s key, for a server without keys, and in Local mode', () => {
  const keys = { provider_keys: { A_API_KEY: OPERATORS }, local_user: '1' }
  const payer = (
    credential: string | null,
    named: string | null,
    more: { keyless?: boolean; user_id?: string } = {},
  ) => {
    const { keyless = false, user_id = 'carol' } = more
    const provider = { ...pricedProvider({ credential: named }), keyless }
    return resolveBilledParty(keys, { user_id, workspace_id: null }, { provider, credential })
  }
  assert.equal(payer(OWN, 'A_API_KEY'), 'caller')
  assert.equal(payer(OWN, 'A_API_KEY', { keyless: true }), 'caller')
  assert.equal(payer(OWN, 'B_API_KEY'), 'caller')
  // A server that checks no key accepts any: a user with an invented key must not escape the limits.
  assert.equal(payer(OWN, 'B_API_KEY', { keyless: true }), 'operator')
  assert.equal(payer(OPERATORS, 'A_API_KEY'), 'operator')
  assert.equal(payer(null, 'B_API_KEY', { keyless: true }), 'operator')
  assert.equal(payer(null, null), 'operator')
  assert.equal(payer(OWN, 'A_API_KEY', { user_id: '1' }), 'operator')
  assert.equal(payer('x', 'constructor'), 'caller')
})
