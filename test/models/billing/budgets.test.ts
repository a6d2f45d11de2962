// The spending limits for models: of a job, of a user per day, and of all users per day.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorCatalogue } from '../../../generated/errors.ts'
import type { PreflightSummary } from '../../../generated/types.ts'
import { listModelSpending } from '../../../src/db/model-spending.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import type { BudgetLimits } from '../../../src/models/billing/budgets.ts'
import { type Platform, systemPlatform } from '../../../src/platform.ts'
import { graph, mapType, node, sink, withTypes } from '../../engine/kit.ts'
import { FolderCopies, inFolder } from '../../helpers/folder.ts'
import { call } from '../../helpers/http.ts'
import { dollars, type PricedOptions, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer, type TestSettings, until } from '../../helpers/server.ts'
import { ended, OWNER, startGated, submit } from '../../jobs/kit.ts'
import { chatting, stored } from '../kit.ts'

/** Each call costs a dollar. */
const paying = (options: PricedOptions = {}) => pricedProvider({ models: { small: dollars(0, 0, 1) }, ...options })
const chat = { model: 'priced/small', prompt: 'x' }

/** A number of calls, one after the other. */
function calls(count: number) {
  const nodes = [node('numbers', 'control.Numbers', { to: count }), node('chat', 'chat.Complete', chat)]
  const all = [...nodes, sink('out')]
  return graph(all, [
    'chat.usage->out.value',
    { source: 'numbers', target: 'chat', edge_type: 'control', sourceHandle: 'item' },
  ])
}

const ANYTHING = { out: { type: 'list' }, usage: { type: 'any' } }

interface Ended {
  status: string
  error: { type: string; message: string; node_id: string | null } | null
}

async function ran(server: TestServer, of = chatting(chat)): Promise<Ended> {
  const { status, error } = await ended(server, submit(server, { graph: of }).row.id)
  return { status, error: JSON.parse(error ?? 'null') as Ended['error'] }
}

const complete = (server: TestServer) =>
  call<{ error?: { code: string; message: string } }>(server, 'POST', '/v1/chat/completions', {
    body: { model: 'priced/small', messages: [{ role: 'user', content: 'x' }] },
  })

/** A clock that the test sets. */
function clockAt(text: string): { platform: Platform; set(text: string): void } {
  let now = Date.parse(text)
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  return { platform, set: (later) => (now = Date.parse(later)) }
}

/** A server with the operator's limits. */
function start(settings: TestSettings & Partial<BudgetLimits>): Promise<TestServer> {
  const { max_cost_per_job = null, max_cost_per_user_per_day = null, max_cost_per_day = null, ...rest } = settings
  const config = { max_cost_per_job, max_cost_per_user_per_day, max_cost_per_day }
  return startServer({ providers: [paying()], config, ...rest })
}

describe('the limit of a job', () => {
  test('fails the node at the first call beyond it, and tells the amount spent', async () => {
    const provider = paying()
    await using server = await start({ providers: [provider], max_cost_per_job: 3 })
    const { status, error } = await ran(server, calls(10))
    assert.deepEqual([status, error!.type, error!.node_id], ['failed', 'over_budget', 'chat'])
    // The previous call may still be running.
    const words =
      /^This job has spent (or set aside )?\$3\.00 on models,( calls under way included,)? and may spend \$3\.00\./
    assert.match(error!.message, words)
    assert.equal(provider.calls.length, 3)
    assert.equal((await ran(server)).status, 'completed')
  })

  test('counts the spending of called workflows', async () => {
    const provider = paying()
    await using server = await start({ providers: [provider], max_cost_per_job: 2 })
    const id = await stored(server, chatting(chat))
    const nodes = [1, 2, 3].map((at) =>
      node(`call${at}`, 'workflow.Call', { workflow_id: id }, { dynamic_outputs: ANYTHING }),
    )
    const edges = [1, 2].map((at) => ({ source: `call${at}`, target: `call${at + 1}`, edge_type: 'control' as const }))
    const { error } = await ran(server, graph(nodes, edges))
    assert.deepEqual([error!.type, error!.node_id, provider.calls.length], ['over_budget', 'call3', 2])
  })

  test(
    'counts the spending before an interruption',
    inFolder(async (folder) => {
      using copies = new FolderCopies(folder)
      const providers = [paying(), paying()]
      const more = node('more', 'chat.Complete', chat)
      const of = graph(
        [node('chat', 'chat.Complete', chat), node('gate', 'test.Gate'), more, sink('out')],
        ['chat.usage->gate.value', 'more.usage->out.value', { source: 'gate', target: 'more', edge_type: 'control' }],
      )
      let job_id: string
      {
        await using first = await startGated({
          data_dir: folder,
          providers: [providers[0]!],
          config: { max_cost_per_job: 1 },
        })
        const job = submit(first, { graph: of })
        job_id = job.row.id
        await until('the gate', () => first.gate.waiting[0])
        await job.flushed()
        copies.take()
      }
      const settings = { data_dir: copies.paths[0]!, providers: [providers[1]!], config: { max_cost_per_job: 1 } }
      await using second = await startGated(settings)
      const entry = await until('the gate again', () => second.gate.waiting[0])
      entry.open()
      const { status, error } = await ended(second, job_id)
      assert.deepEqual([status, JSON.parse(error!).type], ['failed', 'over_budget'])
      assert.deepEqual(
        providers.map((one) => one.calls.length),
        [1, 0],
      )
    }),
  )

  test('holds for parallel calls: the minimum cost of a call counts from its start', async () => {
    const provider = paying()
    const list = Array.from({ length: 12 }, (_, at) => `${at}`)
    const of = graph(
      [
        node('each', 'control.ForEach', { list }),
        node('chat', 'chat.Complete', { model: 'priced/small' }),
        sink('out'),
      ],
      ['each.item->chat.prompt', 'chat.usage->out.value'],
    )
    await using server = await start({ providers: [provider], max_cost_per_job: 5 })
    const { error } = await ran(server, of)
    assert.equal(error!.type, 'over_budget')
    assert.equal(provider.calls.length, 5)
  })

  test('allows a call while another call waits for its reader', async () => {
    const provider = paying({
      models: { small: dollars(0, 100_000) },
      answer: ({ messages: [first] }) => ({
        pieces: first!.content === 'write' ? Array.from({ length: 400 }, (_, at) => `${at} `) : ['ok'],
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    })
    const data = { model: 'priced/small', max_output_tokens: 60 }
    const of = graph(
      [node('a', 'chat.Complete', { ...data, prompt: 'write' }), node('b', 'chat.Complete', data), sink('out')],
      ['a.text->b.prompt', 'b.text->out.value'],
    )
    await using server = await start({ providers: [provider], max_cost_per_job: 100 })
    assert.deepEqual(await ran(server, of), { status: 'completed', error: null })
    assert.equal(provider.calls.length, 401)
  })

  test('is exact in decimal fractions', async () => {
    const provider = paying({ models: { small: dollars(0, 0, 0.1) } })
    await using server = await start({ providers: [provider], max_cost_per_job: 1 })
    const { error } = await ran(server, calls(12))
    assert.equal(error!.type, 'over_budget')
    assert.equal(provider.calls.length, 10)
  })

  test('does not count calls in another currency, or without a price', async () => {
    const models = { euro: { ...dollars(0, 0, 9), currency: 'EUR' }, free: null }
    await using server = await start({ providers: [paying({ models })], max_cost_per_job: 1, max_cost_per_day: 1 })
    for (const model of ['priced/euro', 'priced/free', 'priced/euro'])
      assert.equal((await ran(server, chatting({ model }))).status, 'completed')
  })

  test('can be caught like any other failure of a node', async () => {
    const tell: NodeType = mapType('test.Type', (given) => (given as { type: string }).type)
    await using server = await start({ registry: withTypes(tell), max_cost_per_job: 0 })
    const of = graph(
      [node('chat', 'chat.Complete', chat), node('catch', 'control.Catch'), node('type', 'test.Type'), sink('out')],
      ['chat.usage->catch.value', 'catch.error->type.value', 'type.output->out.value'],
    )
    const row = await ended(server, submit(server, { graph: of }).row.id)
    assert.equal(row.status, 'completed', row.error ?? '')
    assert.equal(JSON.parse(row.result!).outputs.out, 'over_budget')
  })
})

describe('the limit of a day', () => {
  test('of a user holds for jobs and completions alike, until the day is over', async () => {
    const clock = clockAt('2026-03-01T22:30:00Z')
    await using server = await start({ platform: clock.platform, max_cost_per_user_per_day: 2 })
    assert.equal((await ran(server)).status, 'completed')
    assert.equal((await complete(server)).status, 200)
    const sentence = 'This user has spent $2.00 on models, and may spend $2.00. The limit resets in 1 h 30 min.'
    const { error } = await ran(server)
    assert.deepEqual([error!.type, error!.message.split(' (')[0]], ['over_budget', sentence])
    const { status, headers, body } = await complete(server)
    assert.deepEqual([status, body.error!.message], [errorCatalogue.BUDGET_EXCEEDED.status, sentence])
    assert.equal(headers['retry-after'], '5400')
    clock.set('2026-03-02T00:00:00Z')
    assert.equal((await complete(server)).status, 200)
  })

  test('of all users holds for every user, and that of one user for no other user', async () => {
    await using server = await start({ max_cost_per_user_per_day: 1, max_cost_per_day: 2 })
    const [one, two, three] = ['1', 'b', 'c'].map((user_id) =>
      server.context.models.billingOf({ user_id, workspace_id: null }),
    )
    const use = (amount: number) => ({
      model: 'priced/small',
      input_tokens: 1,
      output_tokens: 1,
      cost: { amount, currency: 'USD', reported: false },
    })
    one!.charge(use(1))
    assert.throws(() => one!.admit(), /^ProviderError: This user has spent \$1\.00/)
    two!.admit()
    two!.charge(use(1))
    assert.throws(() => three!.admit(), /^ProviderError: This server has spent \$2\.00/)
  })

  test(
    'is kept across a restart, and its spending is reported by day, user and model',
    inFolder(async (data_dir) => {
      {
        await using server = await start({ data_dir })
        for (let count = 0; count < 3; count++) assert.equal((await ran(server)).status, 'completed')
      }
      await using server = await start({ data_dir, max_cost_per_day: 3 })
      assert.equal((await ran(server)).error!.type, 'over_budget')
      const day = server.context.platform.timestamp().slice(0, 10)
      const [row, ...rest] = server.context.store.read((tx) => listModelSpending(tx, day))
      assert.equal(rest.length, 0)
      const { user_id, workspace, model, currency, calls: count, amount } = row!
      assert.deepEqual([user_id, workspace, model, currency, count, amount], ['1', '', 'priced/small', 'USD', 3, 3])
    }),
  )

  test('does not block other calls where a client does not read its answer', async () => {
    const provider = paying({
      models: { small: dollars(0, 100_000) },
      answer: () => ({
        pieces: Array.from({ length: 4_000 }, (_, at) => `${at} `),
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    })
    await using server = await start({ providers: [provider], max_cost_per_day: 10 })
    const { calls: models, billingOf } = server.context.models
    const body = { model: 'priced/small', max_tokens: 60, messages: [{ role: 'user' as const, content: 'x' }] }
    const signal = AbortSignal.timeout(60_000)
    const [one, two] = ['1', 'b'].map((user_id) => models.accessFor(billingOf({ user_id, workspace_id: null })))
    const unread = one!.complete({ body, signal })
    await unread.next()
    let pieces = 0
    for await (const part of two!.complete({ body, signal })) if (part.type === 'text') pieces++
    assert.equal(pieces, 4_000)
    await unread.return()
  })

  test('refuses a call at once where running calls leave no room, and says that they are counted', async () => {
    await using server = await start({ max_cost_per_day: 1 })
    const { calls: models, billingOf } = server.context.models
    const customer = models.accessFor(billingOf(OWNER))
    const signal = AbortSignal.timeout(60_000)
    const body = { model: 'priced/small', messages: [{ role: 'user' as const, content: 'x' }] }
    const unread = customer.complete({ body, signal })
    await unread.next()
    const words = 'This server has spent or set aside $1.00 on models, calls under way included, and may spend $1.00.'
    const starts = (error: Error) => error.message.startsWith(words)
    await assert.rejects(customer.complete({ body, signal }).next(), starts)
    const { status, body: told } = await complete(server)
    assert.deepEqual([status, starts(told.error as unknown as Error)], [429, true])
    await unread.return()
  })

  test('is written to disk while the server runs', async () => {
    await using server = await start({})
    await ran(server)
    const day = server.context.platform.timestamp().slice(0, 10)
    await until('the row', () => server.context.store.read((tx) => listModelSpending(tx, day))[0]?.amount === 1)
  })
})

test('a preflight says that nothing, or too little, of a limit is left', async () => {
  await using server = await start({ max_cost_per_job: 5, max_cost_per_user_per_day: 2.5 })
  const id = await stored(server, chatting(chat))
  const asked = async () => {
    const body = { workflow_id: id, level: 'availability' }
    const { status, body: told, text } = await call<PreflightSummary>(server, 'POST', '/api/sdk/v1/preflight', { body })
    assert.equal(status, 200, text)
    const { runnable, issues } = told
    return [
      runnable,
      ...issues.filter(({ code }) => code === 'over_budget').map(({ severity, message }) => `${severity}: ${message}`),
    ]
  }
  assert.deepEqual(await asked(), [true])
  const customer = server.context.models.billingOf(OWNER)
  const cost = (amount: number) => ({ amount, currency: 'USD', reported: true })
  const used = { model: 'priced/small', input_tokens: 1, output_tokens: 1 }
  customer.charge({ ...used, cost: cost(2) })
  assert.deepEqual(await asked(), [
    true,
    'warning: The run is estimated to cost 1 USD, and this user may spend 0.5 USD.',
  ])
  customer.charge({ ...used, cost: cost(0.5) })
  const [runnable, issue] = await asked()
  assert.equal(runnable, false)
  assert.match(String(issue), /^error: This user has spent \$2\.50 on models, and may spend \$2\.50\./)
})

test('the metric of costs counts by provider and currency', async () => {
  await using server = await start({})
  await ran(server)
  assert.match(await server.context.metrics.text(), /svc_model_cost_total\{provider="priced",currency="USD"\} 1\b/)
})
