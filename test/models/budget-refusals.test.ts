// Calls that exceed a limit of a day: how much one call may reserve, and when its caller may retry.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createOverBudgetError,
  guardSpendingLimits,
  reserveCost,
  type SpendingLimit,
} from '../../src/models/billing/spending-limit.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { asking, MODEL, post, type Received, startGateway } from '../completions/kit.ts'
import { until } from '../helpers/server.ts'
import type { Script } from '../helpers/upstream.ts'

const PRICES = { data: [{ id: 'gpt-4o-mini', pricing: { prompt: '0.00001', completion: '0.00001' } }] }

/** A call of about so many tokens, which cost a hundred-thousandth of a dollar each. */
const promptOf = (tokens: number) => 'word'.repeat(tokens)

function start(environment: Readonly<Record<string, string>>, answer: () => Script) {
  return startGateway({ answer, listing: () => ({ body: JSON.stringify(PRICES) }) }, { environment })
}

const ask = (at: { readonly server: { readonly url: string } }, tokens: number): Promise<Received> =>
  post(at.server, asking({ model: MODEL, messages: [{ role: 'user', content: promptOf(tokens) }] }))

const messageOf = ({ text }: Received): string => JSON.parse(text).error.message

/** The price of one token, input and output. */
const SMALL: Script = { text: 'hi', usage: { prompt_tokens: 1, completion_tokens: 1 } }

test("a call with a minimum cost above its user's limit is refused, and reserves nothing of the limit of all users", async () => {
  await using at = await start({ SVC_MAX_COST_PER_USER_PER_DAY: '0.05', SVC_MAX_COST_PER_DAY: '1' }, () => SMALL)
  const refused = await ask(at, 110_000)
  assert.equal(refused.status, 429, refused.text)
  assert.equal(
    messageOf(refused),
    'This user has spent $0.00 on models, and may spend $0.05. The call costs $1.10 at least.',
  )
  // The call would also be refused tomorrow.
  assert.equal(refused.headers['retry-after'], undefined)
  assert.equal(at.upstream.posts.length, 0)
  assert.equal((await ask(at, 1)).status, 200)
})

test('a call that is refused only because of running calls may be retried in seconds', async () => {
  const gate = Promise.withResolvers<void>()
  let calls = 0
  const answer = (): Script => (calls++ === 0 ? { ...SMALL, before: () => gate.promise } : SMALL)
  await using at = await start({ SVC_MAX_COST_PER_DAY: '1' }, answer)
  const first = ask(at, 70_000)
  await until('the first call', () => at.upstream.posts.length === 1)
  const refused = await ask(at, 40_000)
  assert.equal(refused.status, 429, refused.text)
  assert.equal(refused.headers['retry-after'], '5')
  assert.equal(
    messageOf(refused),
    'This server has spent or set aside $0.70 on models, calls under way included, and may spend $1.00. ' +
      'The call costs $0.40 at least. Calls under way may leave room soon: try again in 5 seconds.',
  )
  assert.equal((await ask(at, 1)).status, 200)
  gate.resolve()
  assert.equal((await first).status, 200)
  assert.equal((await ask(at, 40_000)).status, 200)
})

test('a call that is refused because of past spending may be retried the next day', async () => {
  const answer = (): Script => ({ text: 'hi', usage: { prompt_tokens: 60_000, completion_tokens: 1 } })
  await using at = await start({ SVC_MAX_COST_PER_DAY: '1' }, answer)
  assert.equal((await ask(at, 1)).status, 200)
  const refused = await ask(at, 50_000)
  assert.equal(refused.status, 429, refused.text)
  assert.match(
    messageOf(refused),
    /^This server has spent \$0\.60 on models, and may spend \$1\.00\. The call costs \$0\.50 at least\. The limit resets in /,
  )
  const wait = Number(refused.headers['retry-after'])
  const day_end = (86_400_000 - (Date.now() % 86_400_000)) / 1_000
  assert.ok(Math.abs(wait - day_end) < 60, String(wait))
})

test('where one limit is spent and another one only reserved, the refusal names the spent one', () => {
  const purse = (whose: string, spent: number): SpendingLimit => ({
    limit: 1,
    subject: whose,
    spent: () => spent,
    resets_in: () => 3_600,
    held: 0,
  })
  const [held, spent] = [purse('This user', 0), purse('This server', 1)]
  using _ = reserveCost([held], 1)
  const refusal = (purses: SpendingLimit[]): [string, number | null] => {
    try {
      guardSpendingLimits(purses)
    } catch (error) {
      if (error instanceof ProviderError) return [error.message.split(' has ')[0]!, error.retry_after_seconds]
      throw error
    }
    return ['', null]
  }
  assert.deepEqual(refusal([held]), ['This user', 5])
  assert.deepEqual(refusal([held, spent]), ['This server', 3_600])
  // Reservations make no difference where the whole limit is spent.
  const both = { ...purse('This job', 1), held: 2 }
  assert.equal(
    createOverBudgetError(both).message,
    'This job has spent $1.00 on models, and may spend $1.00. The limit resets in 1 h 0 min.',
  )
})
