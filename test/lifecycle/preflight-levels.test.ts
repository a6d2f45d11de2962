// Tests preflightWorkflow and preflight_workflow: who may send which request, the three levels, issues, and the execution target.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PreflightSummary } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider, type TokenClaims } from '../helpers/identity-provider.ts'
import { startServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { type Bench, gated, greeting, startBench, stored, submission } from '../sockets/kit.ts'
import { calling, issuesOf, PREFLIGHT, preflight, preflightOf, requirementsOf } from './preflight-kit.ts'

let bench: Bench
let id: string
let etag: string
before(async () => {
  bench = await startBench()
  id = await stored(bench.server, greeting)
  etag = (await preflight(bench.server, { workflow_id: id })).workflow_etag!
})
after(() => bench[Symbol.asyncDispose]())

const ME = { user_id: '1', workspace_id: null }
const LEVELS = ['static', 'availability', 'execution'] as const

/** One input of every kind with limits, and a required one. */
const taking: Graph = graph(
  [
    node('n', 'input.Integer', { name: 'a/b~c', min: 1, max: 5, value: 2 }),
    node('s', 'input.String', { name: 'text' }),
    node('out', 'output.Output', { name: 'out' }),
    node('say', 'text.Template', { template: '{{text}} {{n}}' }),
  ],
  ['n.output->say.n', 's.output->say.text', 'say.output->out.value'],
)

describe('a workflow that can run', () => {
  for (const level of LEVELS) {
    test(`is runnable at level ${level}, over both transports alike`, async () => {
      const request = { workflow_id: id, level, workflow_etag: etag, interface_version: 1, inputs: { name: 'x' } }
      const http = await preflight(bench.server, request)
      const expected = { version: 1, level, workflow_id: id, workflow_etag: etag, runnable: true }
      assert.deepEqual(http, { ...expected, issues: [], requirements: [], cost: null })
      await using client = await connect(bench.server)
      const frame = await client.ask('preflight_workflow', request)
      assert.deepEqual([frame.type, frame.command, frame.result], ['rpc_response', 'preflight_workflow', http])
    })
  }

  test('null means absent, and nothing but the id is needed', async () => {
    const nothing = await preflight(bench.server, { workflow_id: id })
    const nulls = { workspace_id: null, workflow_etag: null, interface_version: null, level: null, inputs: null }
    assert.deepEqual(await preflight(bench.server, { workflow_id: id, ...nulls, execution_target: null }), nothing)
    assert.equal(nothing.level, 'static')
  })

  test('may be a bundled example', async () => {
    const [example] = bench.server.context.runs.workflows.examples()
    assert.equal((await preflight(bench.server, { workflow_id: example!.id })).workflow_id, example!.id)
  })
})

describe('issues', () => {
  test('include another etag, with status 200', async () => {
    const summary = await preflight(bench.server, { workflow_id: id, workflow_etag: 'other' })
    assert.equal(summary.runnable, false)
    assert.deepEqual(issuesOf(summary), ['error workflow_etag_mismatch - -'])
    assert.equal(summary.workflow_etag, etag)
  })

  test('include every problem with the inputs, by the node of the input', async () => {
    const of = async (inputs: object) => issuesOf(await preflightOf(bench.server, taking, { inputs, level: 'static' }))
    assert.deepEqual(await of({}), ['error missing_input s text'])
    assert.deepEqual(await of({ text: 'x', 'a/b~c': 0 }), ['error input_below_minimum n a/b~c'])
    assert.deepEqual(await of({ text: 'x', 'a/b~c': 6 }), ['error input_above_maximum n a/b~c'])
    assert.deepEqual(await of({ text: 1, nobody: 1, 'a/b~c': [] }), [
      'error input_type_mismatch n a/b~c',
      'error input_type_mismatch s text',
      'error unknown_input - nobody',
    ])
    assert.deepEqual(await of({ text: 'x', 'a/b~c': 5 }), [])
  })

  test('include everything that is wrong with a graph', async () => {
    const wrong = graph(
      [node('a', 'no.Such'), node('b', 'math.Formula', {}), node('c', 'output.Output', { name: 'c' })],
      ['b.nothing->c.value', 'b.output->nowhere.value'],
    )
    const summary = await preflightOf(bench.server, wrong, { level: 'static', inputs: { any: 1 } })
    const issues = issuesOf(summary)
    for (const one of ['graph_unknown_node a', 'graph_missing_property b', 'graph_unknown_handle']) {
      assert.ok(
        issues.some((issue) => issue.startsWith(`error ${one}`)),
        issues.join('\n'),
      )
    }
    assert.ok(issues.some((issue) => issue.startsWith('error graph_dangling_edge')))
    assert.deepEqual([summary.runnable, summary.requirements], [false, []])
  })

  test('of severity warning leave the workflow runnable', async () => {
    const lonely = graph([...greeting.nodes, node('extra', 'input.Any', { name: 'extra', value: 1 })], greeting.edges)
    const summary = await preflightOf(bench.server, lonely, { level: 'execution' })
    assert.deepEqual(issuesOf(summary), ['warning graph_unreachable_output extra -'])
    assert.equal(summary.runnable, true)
  })

  test('of very many wrong inputs are listed in part, with the number of the others', async () => {
    const inputs = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`no${at}`, at]))
    const summary = await preflight(bench.server, { workflow_id: id, inputs })
    assert.equal(summary.runnable, false)
    assert.ok(summary.issues.length <= 101)
    assert.match(summary.issues.at(-1)!.message, /49900 more/)
  })
})

describe('called workflows', () => {
  test('are checked: one that is missing, cannot run, or gets wrong arguments', async () => {
    const callee = await stored(bench.server, taking)
    const broken = await stored(bench.server, graph([node('a', 'no.Such')], []))
    const of = async (workflow_id: string, inputs = {}) =>
      issuesOf(await preflightOf(bench.server, calling(workflow_id, inputs), { level: 'static' }))
    assert.deepEqual(await of('wf_nobody'), ['error called_workflow_not_found call workflow_id'])
    assert.deepEqual(await of(broken), ['error called_workflow_invalid call workflow_id'])
    assert.deepEqual(await of(callee), ['error called_workflow_missing_input call text'])
    assert.deepEqual(await of(callee, { text: 'x', more: 1 }), ['error called_workflow_unknown_input call more'])
    assert.deepEqual(await of(callee, { text: 'x' }), [])
  })

  test('may call themselves recursively, which is a warning', async () => {
    const { workflows } = bench.server.context.runs
    const first = await stored(bench.server, greeting)
    const second = await stored(bench.server, calling(first))
    await workflows.update(ME, first, { name: 'x', graph: calling(second) as never }, null)
    for (const workflow_id of [first, second]) {
      const summary = await preflight(bench.server, { workflow_id, level: 'execution' })
      assert.deepEqual(issuesOf(summary), ['warning called_workflow_recursive call -'])
      assert.deepEqual([summary.runnable, summary.cost], [true, null])
    }
  })

  test('may call 16 deep, as a run may', async () => {
    let last = await stored(bench.server, greeting)
    for (let depth = 0; depth < 15; depth++) last = await stored(bench.server, calling(last))
    assert.deepEqual(issuesOf(await preflightOf(bench.server, calling(last))), [])
    const deeper = await stored(bench.server, calling(last))
    assert.deepEqual(issuesOf(await preflightOf(bench.server, calling(deeper))), ['error called_workflow_too_deep - -'])
  })

  test('with an id that the run computes are a warning; an id from an input is known', async () => {
    const dynamic = (value?: string) =>
      graph(
        [
          node('which', 'input.String', { name: 'which', ...(value ? { value } : {}) }),
          ...(value ? [] : [node('more', 'text.Template', { template: '{{which}}' })]),
          node('call', 'workflow.Call'),
        ],
        value ? ['which.output->call.workflow_id'] : ['which.output->more.which', 'more.output->call.workflow_id'],
      )
    const inputs = { which: id }
    assert.deepEqual(issuesOf(await preflightOf(bench.server, dynamic(), { inputs })), [
      'warning called_workflow_unknown call -',
    ])
    assert.deepEqual(issuesOf(await preflightOf(bench.server, dynamic('wf_nobody'))), [
      'error called_workflow_not_found call workflow_id',
    ])
    assert.deepEqual(issuesOf(await preflightOf(bench.server, dynamic('wf_nobody'), { inputs })), [])
  })
})

describe('the execution target', () => {
  test('local: a run that would wait is a warning, and concurrent runs do not wait for each other', async () => {
    const { jobs } = bench.server.context.runs
    const workflow_id = await stored(bench.server, gated('busy'))
    const { active } = jobs.submit(ME, submission({ workflow_id, concurrent: false }))
    await bench.gates.at('busy')
    const at = (target?: object) =>
      preflight(bench.server, { workflow_id, level: 'execution', ...(target ? { execution_target: target } : {}) })
    for (const summary of [await at(), await at({ kind: 'local' }), await at({ kind: 'local', concurrent: false })]) {
      assert.deepEqual([issuesOf(summary), summary.runnable], [['warning execution_likely_queued - -'], true])
    }
    assert.deepEqual(issuesOf(await at({ kind: 'local', concurrent: true })), [])
    assert.deepEqual(issuesOf(await preflight(bench.server, { workflow_id, level: 'availability' })), [])
    await bench.gates.open('busy')
    await active!.settled()
    await until('the slot to be free', () => jobs.load.running === 0)
    assert.deepEqual(issuesOf(await at()), [])
  })

  test('local: a full queue is an error, but not before a submission, which has an error of its own for it', async () => {
    await using full = await startBench({ environment: { SVC_MAX_CONCURRENT_JOBS: '1', SVC_MAX_QUEUED_JOBS: '0' } })
    const workflow_id = await stored(full.server, gated('full'))
    const { active } = full.server.context.runs.jobs.submit(ME, submission({ workflow_id }))
    await full.gates.at('full')
    const request = { workflow_id, level: 'execution' } as const
    const summary = await preflight(full.server, request)
    assert.deepEqual([issuesOf(summary), summary.runnable], [['error execution_queue_full - -'], false])
    const before = await full.server.context.runs.preflight.check(ME, request, AbortSignal.timeout(60_000))
    assert.deepEqual([before.issues, before.runnable], [[], true])
    await full.gates.open('full')
    await active!.settled()
  })

  for (const target of [
    { kind: 'worker', worker_id: 'w' },
    { kind: 'runner', runner_id: 'w' },
  ]) {
    test(`a ${target.kind} is missing, and this server does not replace it`, async () => {
      const request = { workflow_id: id, execution_target: target }
      const availability = await preflight(bench.server, { ...request, level: 'availability' })
      assert.deepEqual(requirementsOf(availability), ['worker w missing true'])
      assert.deepEqual([issuesOf(availability), availability.runnable], [[], false])
      const execution = await preflight(bench.server, { ...request, level: 'execution' })
      assert.deepEqual(issuesOf(execution), ['warning execution_capacity_unknown - -'])
      assert.deepEqual([requirementsOf(execution), execution.runnable], [['worker w missing true'], false])
      assert.equal((await preflight(bench.server, { ...request, level: 'static' })).runnable, true)
    })
  }

  test('a server that is about to stop cannot check it: PREFLIGHT_LEVEL_UNAVAILABLE', async () => {
    await using stopping = await startBench()
    const workflow_id = await stored(stopping.server, gated('last'))
    const { active } = stopping.server.context.runs.jobs.submit(ME, submission({ workflow_id }))
    await stopping.gates.at('last')
    const { preflight: service, jobs } = stopping.server.context.runs
    const closing = jobs.drain(60_000)
    const signal = AbortSignal.timeout(60_000)
    await assert.rejects(service.report(ME, { workflow_id, level: 'execution' }, signal), {
      code: 'PREFLIGHT_LEVEL_UNAVAILABLE',
      status: 503,
    })
    assert.equal((await service.report(ME, { workflow_id, level: 'availability' }, signal)).runnable, true)
    const answer = await call(stopping.server, 'POST', PREFLIGHT, { body: { workflow_id, level: 'execution' } })
    assert.equal(answer.status, 503, answer.text)
    assert.match(answer.text, /preflight_level_unavailable/i)
    await stopping.gates.open('last')
    await active!.settled()
    await closing
  })
})

describe('a preflight request', () => {
  const codeOf = async (body: unknown, headers = {}) => {
    const answer = await call<{ code: string }>(bench.server, 'POST', PREFLIGHT, { body, headers })
    return [answer.status, answer.body.code]
  }

  test('for a workflow that is missing or in another workspace is the same 404, before anything else is checked', async () => {
    const missing = await call(bench.server, 'POST', PREFLIGHT, { body: { workflow_id: 'wf_none' } })
    const elsewhere = { workflow_id: id, workspace_id: 'not-mine', level: 'execution', inputs: { bad: 1 } }
    const foreign = await call(bench.server, 'POST', PREFLIGHT, { body: elsewhere })
    assert.equal(missing.status, 404)
    assert.deepEqual([foreign.status, foreign.body], [missing.status, missing.body])
    await using client = await connect(bench.server)
    const frame = await client.ask('preflight_workflow', elsewhere)
    assert.equal((frame.error as { code: string }).code, 'WORKFLOW_NOT_FOUND')
  })

  test('may name a workspace only if the caller is in it', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: idp.environment })
    const headersOf = async (claims: TokenClaims) => ({ Authorization: `Bearer ${await idp.token(claims)}` })
    const headers = await headersOf({ sub: 'ann', workspace_id: 'here' })
    const made = await call<{ id: string }>(server, 'POST', '/api/workflows', {
      headers,
      body: { name: 'x', graph: greeting },
    })
    const ask = async (claims: TokenClaims, workspace_id: string | null) => {
      const body = { workflow_id: made.body.id, workspace_id }
      return (await call(server, 'POST', PREFLIGHT, { headers: await headersOf(claims), body })).status
    }
    assert.equal(await ask({ sub: 'ann', workspace_id: 'here' }, 'here'), 200)
    assert.equal(await ask({ sub: 'ann', workspace_id: 'here' }, null), 200)
    assert.equal(await ask({ sub: 'ann', workspace_id: 'here' }, 'there'), 404)
    assert.equal(await ask({ sub: 'ann', workspace_id: 'there' }, 'here'), 404)
    assert.equal(await ask({ sub: 'ann', workspace_id: 'there' }, null), 404)
    assert.equal(await ask({ sub: 'bob', workspace_id: 'here' }, 'here'), 404)
  })

  test('that does not match its schema is 400', async () => {
    for (const more of [
      { workflow_id: '' },
      { workflow_id: 1 },
      { workflow_id: null },
      { level: 'all' },
      { interface_version: 2 },
      { inputs: [] },
      { extra: 1 },
      { workflow_etag: 5 },
      { execution_target: { kind: 'worker' } },
      { execution_target: { kind: 'runner', worker_id: 'x' } },
      { execution_target: { kind: 'local', worker_id: 'x' } },
      { execution_target: { kind: 'cloud' } },
    ]) {
      assert.deepEqual(await codeOf({ workflow_id: id, ...more }), [400, 'INVALID_REQUEST'], JSON.stringify(more))
    }
    assert.deepEqual(await codeOf([]), [400, 'INVALID_REQUEST'])
  })

  test('of a client that has disconnected gets no answer', async () => {
    const { preflight: service } = bench.server.context.runs
    await assert.rejects(service.report(ME, { workflow_id: id }, AbortSignal.abort()), { code: 'SERVICE_UNAVAILABLE' })
  })

  test('is an unknown path when the switch is off', async () => {
    await using off = await startServer({ environment: { SVC_DISABLE_SDK_LIFECYCLE_V1: '1' } })
    const answer = await call<PreflightSummary>(off, 'POST', PREFLIGHT, { body: { workflow_id: 'x' } })
    assert.deepEqual(
      [answer.status, (answer.body as unknown as { code: string }).code],
      [503, 'SDK_LIFECYCLE_DISABLED'],
    )
    await using client = await connect(off)
    const frame = await client.ask('preflight_workflow', { workflow_id: 'x' })
    assert.equal((frame.error as { code: string }).code, 'SDK_LIFECYCLE_DISABLED')
  })
})
