// Runs that call models, over HTTP and on the socket: their text, their cost and their provenance.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { CreateWorkflowRequest, Secret, SubmitJobResponse, Workflow } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { submit } from '../jobs/kit.ts'
import { chatting, resultOf, run, snapshot, spent, stored } from './kit.ts'

/** The calls of one run, one after the other; the run goes on after a failed call. */
function inTurn(...data: Record<string, unknown>[]): Graph {
  const nodes = data.flatMap((one, at) => [
    node(`chat${at}`, 'chat.Complete', { prompt: 'x', ...one }),
    node(`catch${at}`, 'control.Catch', {}),
  ])
  return graph(
    [...nodes, sink('out')],
    [...data.map((_, at) => `chat${at}.usage->catch${at}.value`), `catch${data.length - 1}.value->out.value`],
  )
}

const counted = (input_tokens: number, output_tokens: number, cost?: number) => ({
  usage: { input_tokens, output_tokens, ...(cost === undefined ? {} : { cost }) },
})

describe('a run over HTTP', () => {
  test('with builtin/echo works offline, and its result names the model', async () => {
    await using server = await startServer()
    const { status, outputs, job_id } = await run(server, chatting({ model: 'builtin/echo' }))
    const { usage, ...rest } = outputs as { usage: Record<string, unknown> }
    assert.deepEqual([status, rest], ['completed', { out: ['hello', ' there'] }])
    assert.deepEqual([usage.model, usage.total_tokens, usage.cost], ['builtin/echo', 4, 0])
    const result = await resultOf(server, job_id)
    assert.deepEqual(spent(result), [[0, 'USD', true], ['builtin'], ['builtin/echo']])
    assert.equal(result.cost!.estimated_amount, null)
  })

  test('costs the sum of its calls, reconciled where the providers reported every cost', async () => {
    const provider = pricedProvider({
      models: { small: dollars(1_000, 2_000), large: dollars(10, 30) },
      answer: ({ model }) => (model === 'small' ? counted(100, 50) : counted(1, 1, 0.75)),
    })
    await using server = await startServer({ providers: [provider] })
    const both = await run(server, inTurn({ model: 'priced/small' }, { model: 'priced/large' }, { model: 'small' }))
    const reckoned = (100 * 1_000 + 50 * 2_000) / 1_000_000
    const models = ['priced/large', 'priced/small']
    assert.deepEqual(spent(await resultOf(server, both.job_id)), [
      [Number((2 * reckoned + 0.75).toFixed(12)), 'USD', false],
      ['priced'],
      models,
    ])
    const reported = await run(server, chatting({ model: 'priced/large' }))
    assert.deepEqual(spent(await resultOf(server, reported.job_id))[0], [0.75, 'USD', true])
    assert.equal(provider.calls.length, 4)
  })

  test('without prices, or paid in two currencies, has no cost, and lists the called models', async () => {
    const euros = { ...dollars(1, 1, 2), currency: 'EUR' }
    const providers = [pricedProvider({ models: { free: null, small: dollars(1, 1, 1), euro: euros } })]
    await using server = await startServer({ providers })
    const free = await run(server, chatting({ model: 'priced/free' }))
    assert.deepEqual(spent(await resultOf(server, free.job_id)), [null, ['priced'], ['priced/free']])
    const two = await run(server, inTurn({ model: 'priced/small' }, { model: 'priced/euro' }))
    assert.deepEqual(spent(await resultOf(server, two.job_id)), [null, ['priced'], ['priced/euro', 'priced/small']])
    const none = await run(server, graph([source('in', 'x'), sink('out')], ['in.output->out.value']))
    assert.deepEqual(spent(await resultOf(server, none.job_id)), [null, [], []])
  })

  test('reports its cost beside the estimate of its preflight', async () => {
    const answer = () => counted(2, 3)
    const provider = pricedProvider({ models: { small: dollars(1_000, 2_000) }, answer })
    await using server = await startServer({
      providers: [provider],
      environment: { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' },
    })
    const data = { model: 'priced/small', prompt: 'x y', max_output_tokens: 10 }
    const workflow = { name: 'n', graph: chatting(data) }
    const { body } = await call<Workflow>(server, 'POST', '/api/workflows', { body: workflow })
    const ids = { client_request_id: 'c', idempotency_key: 'k' }
    const submission = { ...ids, workflow_id: body.id, workflow_etag: body.etag, interface_version: 1 }
    const submitted = await call<SubmitJobResponse>(server, 'POST', '/api/sdk/v1/jobs', { body: submission })
    assert.equal(submitted.status, 202, submitted.text)
    const { job_id, preflight } = submitted.body
    await until('its end', async () => (await snapshot(server, job_id)).finished_at !== null)
    const { cost } = await resultOf(server, job_id)
    const [amount, estimated_amount] = [(2 * 1_000 + 3 * 2_000) / 1_000_000, (2 * 1_000 + 10 * 2_000) / 1_000_000]
    assert.deepEqual(cost, { amount, currency: 'USD', estimated_amount, reconciled: false })
    assert.equal(preflight.cost!.amount, estimated_amount)
  })

  test('counts calls that broke off, each attempt, and calls in called workflows', async () => {
    const cut = { ...counted(0, 0), fails: { before: 2, with: new Error('cut') } }
    const provider = pricedProvider({
      models: { small: dollars(0, 1_000_000) },
      answer: (_, at) => (at < 3 ? cut : {}),
    })
    await using server = await startServer({ providers: [provider] })
    const held = await run(server, inTurn({ model: 'priced/small', prompt: 'x' }, { model: 'builtin/echo' }))
    assert.deepEqual(spent(await resultOf(server, held.job_id)), [
      [2, 'USD', false],
      ['builtin', 'priced'],
      ['builtin/echo', 'priced/small'],
    ])
    const called = await stored(server, chatting({ model: 'priced/small' }), 'called')
    const of = graph(
      [node('call', 'workflow.Call', { workflow_id: called, retry: { attempts: 3, backoff_ms: 0 } }), sink('out')],
      ['call.usage->out.value'],
    )
    Object.assign(of.nodes[0]!, { dynamic_outputs: { usage: { type: 'any' }, out: { type: 'any' } } })
    const { job_id } = await run(server, of)
    // Two attempts gave two words each, and the third gave three.
    assert.deepEqual(spent(await resultOf(server, job_id))[0], [7, 'USD', false])
    assert.equal(provider.calls.length, 4)
  })

  test('requires the secret of its provider from each owner', async () => {
    const provider = pricedProvider({ credential: 'PRICED_KEY' })
    await using server = await startServer({ providers: [provider] })
    const of = chatting({ model: 'priced/small' })
    const { status, error } = await run(server, of)
    assert.deepEqual([status, error?.type, error?.node_id], ['failed', 'unknown_secret', 'chat'])
    assert.match(error!.message, /needs the secret "PRICED_KEY"/)
    const { body } = await call<Secret[]>(server, 'GET', '/api/secrets')
    const told = body.find(({ name }) => name === 'PRICED_KEY')
    assert.deepEqual([told?.description, told?.is_set], ['The key of the provider "priced".', false])
    await call(server, 'PUT', '/api/secrets/PRICED_KEY', { body: { value: 'the-priced-key' } })
    assert.equal((await run(server, of)).status, 'completed')
    assert.deepEqual(
      provider.calls.map(({ credential }) => credential),
      ['the-priced-key'],
    )
  })

  test('with a secret of the environment is the local user’s alone', async () => {
    const provider = pricedProvider({ credential: 'PRICED_KEY' })
    await using server = await startServer({
      providers: [provider],
      environment: { SVC_SECRET_PRICED_KEY: 'from-the-environment' },
    })
    const of = chatting({ model: 'priced/small' })
    assert.equal((await run(server, of)).status, 'completed')
    const job = submit(server, { graph: of }, { user_id: '2', workspace_id: null })
    await job.settled()
    assert.match(job.row.error!, /"unknown_secret"/)
    assert.equal(provider.calls.length, 1)
  })

  test('that is cancelled ends the call', async () => {
    const waits = { before: 1, for: (signal: AbortSignal) => once(signal, 'abort') }
    const provider = pricedProvider({ answer: () => ({ waits }) })
    await using server = await startServer({ providers: [provider] })
    const { job_id } = await run(server, chatting({ model: 'priced/small' }), { background: true })
    await until('the call', () => provider.calls.length === 1)
    await call(server, 'POST', `/api/jobs/${job_id}/cancel`)
    await until('its end', async () => (await snapshot(server, job_id)).status === 'cancelled')
    assert.ok(provider.calls[0]!.signal.aborted)
    await until('the end of the answer', () => provider.calls[0]!.ended)
  })
})

describe('a run on the socket', () => {
  test('shows chunks as they come, and the joined text to a later follower', async () => {
    await using server = await startServer()
    await using client = await connect(server)
    const of = chatting({ model: 'builtin/echo', prompt: 'to do or not' }) as CreateWorkflowRequest['graph']
    client.command('run_job', { job_id: 'j1', graph: of })
    const frames = await client.collect('j1')
    const chunks = frames.filter(({ type, node_id }) => type === 'chunk' && node_id === 'chat')
    assert.deepEqual(
      chunks.map(({ content, content_type, done }) => [content, content_type, done]),
      [
        ['to', 'text', false],
        [' do', 'text', false],
        [' or', 'text', false],
        [' not', 'text', false],
        ['', 'text', true],
      ],
    )
    const pieces = frames.filter(({ type, output_name }) => type === 'output_update' && output_name === 'out')
    assert.deepEqual(
      pieces.map(({ value, disposition }) => [value, disposition]),
      ['to', ' do', ' or', ' not'].map((piece) => [piece, 'append']),
    )
    const end = frames.at(-1)!
    assert.deepEqual((end.result as { outputs: { out: string[] } }).outputs.out, ['to', ' do', ' or', ' not'])
    await using again = await connect(server)
    again.command('reconnect_job', { job_id: 'j1' })
    const whole = await again.next({ type: 'output_update', output_name: 'out' })
    assert.deepEqual([whole.value, whole.disposition], ['to do or not', 'replace'])
  })
})
