// Runs over HTTP: the results of runs that complete, fail, wait, overlap or cannot start.
import assert from 'node:assert/strict'
import { request as send } from 'node:http'
import { describe, test } from 'node:test'
import type { RunResult, Workflow } from '../../generated/types.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { builtinRegistry, createRegistry } from '../../src/nodes/registry.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { type Answer, call, type ErrorBody, refused } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { created, edge, GATED, gate, greeting, node, slow } from './kit.ts'

const ME = { user_id: '1', workspace_id: null }

function run(server: { url: string }, id: string, body: object = {}): Promise<Answer<RunResult>> {
  return call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body })
}

async function jobStatus(server: TestServer, job_id: string): Promise<string> {
  const handle = await server.context.runs.jobs.get(ME, job_id)
  return server.context.runs.jobs.snapshot(handle).status
}

describe('runWorkflow', () => {
  test('runWorkflow: a completed run returns its outputs, and its job is stored', async () => {
    await using server = await startServer()
    const { id } = await created(server, greeting())
    const { status, body } = await run(server, id, { params: { name: 'Ada' } })
    assert.equal(status, 200)
    const { job_id, message_count, ...rest } = body
    assert.deepEqual(rest, {
      workflow_id: id,
      status: 'completed',
      outputs: { greeting: 'Hello, Ada!' },
      error: null,
      background: false,
    })
    assert.ok(message_count > 0)
    assert.equal(await jobStatus(server, job_id), 'completed')
  })

  test('runWorkflow: null members count as absent', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [node('n', 'input.String', { name: 'n', value: 'own' }), node('o', 'output.Output', { name: 'o' })],
      edges: [edge('n.output', 'o.value')],
    }
    const { id } = await created(server, { name: 'Default', graph })
    const absent = [
      {},
      { params: null, background: null, timeout_seconds: null },
      { params: {} },
      { params: { n: null } },
    ]
    for (const body of absent) {
      const answer = await run(server, id, body)
      assert.deepEqual([answer.status, answer.body.outputs], [200, { o: 'own' }])
    }
    const required = await created(server, greeting())
    const of = { body: { params: { name: null } } }
    const path = `/api/workflows/${required.id}/run`
    assert.deepEqual(await refused(server, 'POST', path, of, [422, 'invalid_parameters']), ['/body/params/name'])
  })

  test('runWorkflow: a failed run gives 200 with the node and a message that reveals nothing', async () => {
    const bomb: NodeType = {
      node_type: 'test.Bomb',
      title: 'Bomb',
      description: 'Fails as a mistake of ours would.',
      properties: [],
      outputs: [],
      run: () => {
        throw new TypeError('SELECT secret FROM /var/lib/private.db')
      },
    }
    await using server = await startServer({ registry: createRegistry([...builtinRegistry.all(), bomb]) })
    const { id } = await created(server, { name: 'Bomb', graph: { nodes: [node('bomb', 'test.Bomb')], edges: [] } })
    const { status, body, text } = await run(server, id)
    assert.equal(status, 200)
    assert.equal(body.status, 'failed')
    assert.deepEqual(body.outputs, {})
    assert.equal(body.error!.node_id, 'bomb')
    assert.ok(body.error!.message.length > 0)
    for (const secret of ['SELECT', 'private.db', 'TypeError', 'at ', '.ts']) assert.ok(!text.includes(secret), text)
    assert.equal(await jobStatus(server, body.job_id), 'failed')
  })

  test('runWorkflow: a run with too much memory fails without affecting others', async () => {
    await using server = await startServer({ config: { max_job_memory_bytes: 1_048_576 } })
    const nodes = Array.from({ length: 20 }, (_, at) => node(`n${at}`, 'text.Trim'))
    const edges = nodes.map(({ id }) => edge('in.output', `${id}.text`))
    const graph = { nodes: [node('in', 'input.String', { name: 'text' }), ...nodes], edges }
    const { id } = await created(server, { name: 'Large', graph })
    const params = (length: number) => ({ params: { text: 'x'.repeat(length) } })
    const [large, small] = await Promise.all([run(server, id, params(100_000)), run(server, id, params(1_000))])
    assert.deepEqual([large.body.status, large.body.error!.type], ['failed', 'too_large'])
    assert.match(large.body.error!.message, /^The run holds more than 1 MiB of values at once/)
    assert.equal(small.body.status, 'completed')
  })

  test('runWorkflow: a node that refuses its input fails the run with its own message', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        node('bad', 'text.Template', { template: 'Hello, {{nobody}}!' }),
        node('out', 'output.Output', { name: 'out' }),
      ],
      edges: [edge('bad.output', 'out.value')],
    }
    const { id } = await created(server, { name: 'Template', graph })
    const { status, body } = await run(server, id)
    assert.deepEqual(
      [status, body.status, body.error!.node_id, body.error!.type],
      [200, 'failed', 'bad', 'unknown_name'],
    )
    assert.match(body.error!.message, /nobody/)
  })

  test('INVALID_PARAMETERS: every problem is listed, and nothing runs', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        node('a', 'input.Integer', { name: 'a', min: 1, max: 5 }),
        node('b', 'input.String', { name: 'b' }),
        node('c', 'input.Boolean', { name: 'c/d~e' }),
        node('e', 'input.Float', { name: 'e', value: 1, max: 2 }),
        node('l', 'input.List', { name: 'l', value: [] }),
      ],
      edges: [],
    }
    const { id } = await created(server, { name: 'Inputs', graph })
    const body = { params: { a: 9, 'c/d~e': 'yes', e: 3, l: {}, zz: 1, __proto__x: 2 } }
    const paths = await refused(server, 'POST', `/api/workflows/${id}/run`, { body }, [422, 'invalid_parameters'])
    assert.deepEqual(paths, [
      '/body/params/__proto__x',
      '/body/params/a',
      '/body/params/b',
      '/body/params/c~1d~0e',
      '/body/params/e',
      '/body/params/l',
      '/body/params/zz',
    ])
    const half = { params: { a: 1.5, b: 'x', 'c/d~e': true } }
    assert.deepEqual(
      await refused(server, 'POST', `/api/workflows/${id}/run`, { body: half }, [422, 'invalid_parameters']),
      ['/body/params/a'],
    )
    assert.equal((await run(server, id, { params: { a: 1, b: '', 'c/d~e': false } })).body.status, 'completed')
  })

  test('INVALID_PARAMETERS: of very many problems a hundred are listed, with a note that there are more', async () => {
    await using server = await startServer()
    const stream = { name: 'in', stream: true }
    const { id } = await created(server, {
      name: 'Many',
      graph: { nodes: [node('in', 'input.Integer', stream)], edges: [] },
    })
    const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]))
    const values = (count: number) => ({ in: Array.from({ length: count }, () => 'no number') })
    for (const paramsOf of [(count: number) => ({ ...names(count), in: [] }), values])
      for (const count of [100, 101, 1_000]) {
        const answer = await call<ErrorBody>(server, 'POST', `/api/workflows/${id}/run`, {
          body: { params: paramsOf(count) },
        })
        const { problems, more_problems, message } = answer.body.error as ErrorBody['error'] & {
          more_problems?: boolean
        }
        assert.deepEqual([answer.status, problems?.length, more_problems], [422, 100, count > 100 ? true : undefined])
        assert.match(message, count > 100 ? /more than 99 more/ : /and 99 more/)
      }
  })

  test('INVALID_PARAMETERS: names of inherited properties are ordinary names', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        node('a', 'input.String', { name: 'constructor', value: 'mine' }),
        node('b', 'input.String', { name: 'toString' }),
        node('o', 'output.Output', { name: 'valueOf' }),
      ],
      edges: [edge('a.output', 'o.value')],
    }
    const { id } = await created(server, { name: 'Odd names', graph })
    const path = `/api/workflows/${id}/run`
    assert.deepEqual(await refused(server, 'POST', path, { body: {} }, [422, 'invalid_parameters']), [
      '/body/params/toString',
    ])
    const own = await refused(
      server,
      'POST',
      path,
      { raw: '{"params":{"toString":"x","__proto__":{"a":1}}}', headers: { 'Content-Type': 'application/json' } },
      [422, 'invalid_parameters'],
    )
    assert.deepEqual(own, ['/body/params/__proto__'])
    assert.deepEqual((await run(server, id, { params: { toString: 'x' } })).body.outputs, { valueOf: 'mine' })
  })

  test('INVALID_REQUEST: a body that does not match its schema is refused', async () => {
    await using server = await startServer()
    const body = { params: [], background: 'yes', timeout_seconds: 0, more: 1 }
    const paths = await refused(server, 'POST', '/api/workflows/greeting/run', { body }, [400, 'invalid_request'])
    assert.deepEqual(paths, ['/body/background', '/body/more', '/body/params', '/body/timeout_seconds'])
    for (const timeout_seconds of [-1, 1e9, '5', true]) {
      await refused(server, 'POST', '/api/workflows/greeting/run', { body: { timeout_seconds } }, [
        400,
        'invalid_request',
      ])
    }
  })

  test('INVALID_REQUEST: a string with a lone surrogate is refused with its path, a surrogate pair is accepted', async () => {
    await using server = await startServer()
    const { id } = await created(server, greeting())
    const path = `/api/workflows/${id}/run`
    const headers = { 'Content-Type': 'application/json' }
    for (const half of ['\\ud800', '\\uDC00', 'a\\ud83d', '\\ude00\\ud83d']) {
      const raw = `{"params":{"name":["${half}"],"b/${half}":1}}`
      const paths = await refused(server, 'POST', path, { raw, headers }, [400, 'invalid_request'])
      assert.equal(paths.length, 2)
      assert.ok(paths.includes('/body/params/name/0'))
    }
    const raw = '{"params":{"name":"\\ud83d\\uDE00 \\\\ud800"}}'
    const { body } = await call<RunResult>(server, 'POST', path, { raw, headers })
    assert.deepEqual(body.outputs, { greeting: 'Hello, 😀 \\ud800!' })
  })

  test('INVALID_WORKFLOW_GRAPH: a graph that cannot run is refused with every problem, and no job is created', async () => {
    let fired = 0
    const witness: NodeType = {
      node_type: 'test.Witness',
      title: 'Witness',
      description: 'Counts.',
      properties: [],
      outputs: [],
      run: () => {
        fired++
        return {}
      },
    }
    await using server = await startServer({ registry: createRegistry([...builtinRegistry.all(), witness]) })
    const graph = {
      nodes: [
        node('w', 'test.Witness'),
        node('x', 'no.Such'),
        node('t', 'text.Concat'),
        node('t', 'text.Concat'),
        node('out', 'output.Output', { name: 'o' }),
      ],
      edges: [edge('t.nothing', 'out.value'), edge('gone.output', 'out.value')],
    }
    const { id } = await created(server, { name: 'Broken', graph })
    const { body, status } = await call<ErrorBody>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
    assert.equal(status, 422)
    assert.equal(body.error.type, 'invalid_workflow_graph')
    const codes = new Set(body.error.problems!.map(({ code }) => code))
    for (const code of ['unknown_node', 'duplicate_id', 'dangling_edge']) assert.ok(codes.has(code), [...codes].join())
    assert.equal(fired, 0)
    assert.deepEqual(runToCompletion(server.context.runs.jobs.listActive(ME)), [])
  })

  test('WORKFLOW_NOT_FOUND: an unknown workflow is refused', async () => {
    await using server = await startServer()
    await refused(server, 'POST', '/api/workflows/wf_unknown/run', { body: {} }, [404, 'workflow_not_found'])
    await refused(server, 'POST', '/api/workflows/wf_unknown/run', { body: { background: true } }, [
      404,
      'workflow_not_found',
    ])
  })

  test('runWorkflow: timeout_seconds ends the job as failed, timed_out; a very long one does not', async () => {
    await using server = await startServer()
    const { id } = await created(server, slow(20))
    const { status, body } = await run(server, id, { timeout_seconds: 0.05 })
    assert.deepEqual([status, body.status, body.error!.type], [200, 'failed', 'timed_out'])
    const quick = await created(server, slow(0.05))
    assert.equal((await run(server, quick.id, { timeout_seconds: 31_536_000 })).body.status, 'completed')
  })

  test('runWorkflow: a background run gives 202 at once, and the job continues', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ registry })
    const { id } = await created(server, GATED)
    const { status, headers, body } = await run(server, id, { background: true })
    assert.equal(status, 202)
    const { job_id, ...rest } = body
    assert.deepEqual(rest, {
      workflow_id: id,
      status: 'accepted',
      outputs: {},
      error: null,
      message_count: 0,
      background: true,
    })
    assert.equal(headers.location, `/api/jobs/${job_id}`)
    open()
    await until('the job to end', async () => (await jobStatus(server, job_id)) === 'completed')
  })

  test('QUEUE_FULL: a waiting run is queued, one too many gives 429 with Retry-After', async () => {
    const { registry, open } = gate()
    await using server = await startServer({
      registry,
      environment: { SVC_MAX_CONCURRENT_JOBS: '1', SVC_MAX_QUEUED_JOBS: '1' },
    })
    const { id } = await created(server, GATED)
    const first = await run(server, id, { background: true })
    const second = await run(server, id, { background: true })
    assert.deepEqual([first.body.status, second.body.status], ['accepted', 'queued'])
    for (const background of [true, false]) {
      const full = await call<ErrorBody>(server, 'POST', `/api/workflows/${id}/run`, { body: { background } })
      assert.deepEqual([full.status, full.body.error.type], [429, 'queue_full'])
      assert.match(String(full.headers['retry-after']), /^\d+$/)
    }
    open()
    await until('both to end', async () => (await jobStatus(server, second.body.job_id)) === 'completed')
  })

  test('runWorkflow: a cancelled run gives 200 with the status cancelled', async () => {
    await using server = await startServer()
    const { id } = await created(server, slow(20))
    const answer = run(server, id)
    const job = await until('the job to run', () => runToCompletion(server.context.runs.jobs.listActive(ME))[0])
    await server.context.runs.jobs.cancel(ME, job.id)
    const { status, body } = await answer
    assert.deepEqual([status, body.status, body.outputs, body.error], [200, 'cancelled', {}, null])
  })

  test('runWorkflow: a closed connection does not cancel the run', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ registry })
    const { id } = await created(server, GATED)
    const { hostname, port } = new URL(server.url)
    const headers = { 'Content-Type': 'application/json' }
    const outgoing = send({ hostname, port, method: 'POST', path: `/api/workflows/${id}/run`, headers, agent: false })
    outgoing.on('error', () => {})
    outgoing.end('{}')
    const job = await until('the job to run', () => runToCompletion(server.context.runs.jobs.listActive(ME))[0])
    outgoing.destroy()
    // The server has noticed the closed connection once it answers a later request.
    await call(server, 'GET', '/ready')
    open()
    await until('the job to end', async () => (await jobStatus(server, job.id)) === 'completed')
  })

  test('runWorkflow: runs of the same workflow overlap', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ registry })
    const { id } = await created(server, GATED)
    const answers = Array.from({ length: 5 }, () => run(server, id))
    await until(
      'all to run',
      () =>
        runToCompletion(server.context.runs.jobs.listActive(ME)).filter(({ status }) => status === 'running').length ===
        5,
    )
    open()
    for (const { body } of await Promise.all(answers)) assert.deepEqual(body.outputs, { result: 'done' })
  })

  test('runWorkflow: an output is a list only if it is a stream, and null without a value', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        node('list', 'input.List', { name: 'list' }),
        node('flag', 'input.Boolean', { name: 'flag' }),
        node('each', 'control.ForEach'),
        node('if', 'control.If', { value: 'yes' }),
        node('items', 'output.Output', { name: 'items' }),
        node('whole', 'output.Output', { name: 'whole' }),
        node('maybe', 'output.Output', { name: 'maybe' }),
      ],
      edges: [
        edge('list.output', 'each.list'),
        edge('each.item', 'items.value'),
        edge('list.output', 'whole.value'),
        edge('flag.output', 'if.condition'),
        edge('if.if_true', 'maybe.value'),
      ],
    }
    const { id } = await created(server, { name: 'Lists', graph })
    const outputs = async (list: unknown[], flag: boolean) =>
      (await run(server, id, { params: { list, flag } })).body.outputs
    assert.deepEqual(await outputs([1, 2, 3], true), { items: [1, 2, 3], whole: [1, 2, 3], maybe: 'yes' })
    assert.deepEqual(await outputs(['one'], false), { items: ['one'], whole: ['one'], maybe: null })
    assert.deepEqual(await outputs([], false), { items: [], whole: [], maybe: null })
  })

  test('runWorkflow: a failure in a called workflow names the calling node', async () => {
    await using server = await startServer()
    const inner = await created(server, greeting())
    const calling = (workflow_id: string): Promise<Workflow> =>
      created(server, {
        name: 'Caller',
        graph: {
          nodes: [
            node('who', 'input.String', { name: 'who' }),
            node(
              'call',
              'workflow.Call',
              { workflow_id },
              { dynamic_properties: { name: {} }, dynamic_outputs: { greeting: {} } },
            ),
            node('out', 'output.Output', { name: 'out' }),
          ],
          edges: [edge('who.output', 'call.name'), edge('call.greeting', 'out.value')],
        },
      })
    const good = await calling(inner.id)
    assert.deepEqual((await run(server, good.id, { params: { who: 'Bo' } })).body.outputs, { out: 'Hello, Bo!' })
    const { record: foreign } = await server.context.runs.workflows.create(
      { user_id: '2', workspace_id: null },
      greeting(),
    )
    for (const missing of ['wf_unknown', foreign.id]) {
      const { body } = await run(server, (await calling(missing)).id, { params: { who: 'Bo' } })
      assert.deepEqual([body.status, body.error!.node_id], ['failed', 'call'])
      assert.ok(!body.error!.message.includes('Greeting'))
    }
  })

  test('runWorkflow: a job keeps the graph with which it was accepted', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ registry })
    const { id } = await created(server, GATED)
    const answer = run(server, id)
    await until('the job to run', () => runToCompletion(server.context.runs.jobs.listActive(ME))[0])
    await call(server, 'PUT', `/api/workflows/${id}`, { body: greeting() })
    open()
    assert.deepEqual((await answer).body.outputs, { result: 'done' })
    const next = await run(server, id)
    assert.equal(next.status, 422)
  })

  test('runWorkflow: text of any script, odd keys and large values are returned unchanged', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [node('in', 'input.Any', { name: 'in' }), node('o', 'output.Output', { name: 'o' })],
      edges: [edge('in.output', 'o.value')],
    }
    const { id } = await created(server, { name: 'Echo', graph })
    for (const value of [
      '',
      'ä€🎈\u0000\u2028',
      0,
      -0.5,
      1e300,
      false,
      null,
      [],
      {},
      [[[]]],
      { '': 1, 'a.b': { c: [null] } },
      'x'.repeat(300_000),
    ]) {
      const { body } = await run(server, id, { params: { in: value } })
      assert.deepEqual(body.outputs, { o: value })
    }
  })
})
