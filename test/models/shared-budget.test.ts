// The limit of all users together: its messages reveal no other user's spending or running calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PreflightSummary, Workflow } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { chatting } from './kit.ts'

const PRICES = { small: dollars(0, 0, 1.37), large: dollars(0, 0, 2.5) }

function start(idp: IdentityProvider): Promise<TestServer> {
  const environment = { ...idp.environment, SVC_MAX_COST_PER_DAY: '3' }
  return startServer({ environment, providers: [pricedProvider({ models: PRICES })] })
}

/** A user of the server. */
async function user(server: TestServer, idp: IdentityProvider, sub: string) {
  const headers = { Authorization: `Bearer ${await idp.token({ sub })}` }
  return {
    async complete(model: string) {
      const body = { model: `priced/${model}`, messages: [{ role: 'user', content: 'x' }] }
      const { status, text } = await call(server, 'POST', '/v1/chat/completions', { headers, body })
      return { status, message: JSON.parse(text).error?.message ?? null }
    },
    async budgetIssues(model: string): Promise<string[]> {
      const graph = chatting({ model: `priced/${model}`, prompt: 'x' })
      const made = await call<Workflow>(server, 'POST', '/api/workflows', { headers, body: { name: 'x', graph } })
      const body = { workflow_id: made.body.id, level: 'availability' }
      const { body: told } = await call<PreflightSummary>(server, 'POST', '/api/sdk/v1/preflight', { headers, body })
      return told.issues.filter(({ code }) => code === 'over_budget').map(({ message }) => message)
    },
  }
}

test('a refusal reveals no amount that others have spent or reserved, and a preflight compares only with the whole limit', async () => {
  await using idp = await startIdentityProvider()
  await using server = await start(idp)
  const [one, other] = [await user(server, idp, 'one'), await user(server, idp, 'other')]
  assert.deepEqual(await other.budgetIssues('large'), [])
  assert.equal((await one.complete('small')).status, 200)
  const short = await other.complete('large')
  assert.equal(short.status, 429)
  assert.match(
    short.message,
    /^This server has too little left of the \$3\.00 that it may spend on models\. The call costs \$2\.50 at least\. The limit resets in /,
  )
  assert.deepEqual(await other.budgetIssues('large'), [])
  assert.equal((await one.complete('small')).status, 200)
  assert.doesNotMatch((await other.complete('small')).message, /2\.74|0\.26/)
})

test('a refusal because of other users’ running calls tells only that', async () => {
  await using idp = await startIdentityProvider()
  await using server = await start(idp)
  const other = await user(server, idp, 'other')
  const { calls: models, billingOf } = server.context.models
  const body = { model: 'priced/large', messages: [{ role: 'user' as const, content: 'x' }] }
  const calling = models.accessFor(billingOf({ user_id: 'one', workspace_id: null }))
  const unread = calling.complete({ body, signal: AbortSignal.timeout(60_000) })
  await unread.next()
  const { status, message } = await other.complete('small')
  assert.equal(status, 429)
  assert.equal(
    message,
    'This server has too little left of the $3.00 that it may spend on models, calls under way included. ' +
      'The call costs $1.37 at least. Calls under way may leave room soon: try again in 5 seconds.',
  )
  await unread.return()
})
