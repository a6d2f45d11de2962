// Unreadable expressions in a graph are reported before it runs: when it is stored, in a preflight, and at a run, over every transport.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredWorkflow } from '../../generated/types.ts'
import { createWorkflowTools } from '../../src/chat/tools/server-tools.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { control, graph, node } from '../engine/kit.ts'
import { call, refused } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { coded, ended, OWNER, submit } from '../jobs/kit.ts'
import { httpServer } from '../net/servers.ts'

/** By the place of the fault: a graph that would send a request first, and come to that place afterwards. */
const GRAPHS: Readonly<Record<string, (url: string) => Graph>> = {
  'sum/formula': (url) =>
    graph(
      [
        node('ask', 'http.Request', { url }),
        node('sum', 'math.Formula', { formula: '1 +* 2' }),
        node('out', 'output.Output', { name: 'out' }),
      ],
      ['ask.status->sum.status', 'sum.output->out.value'],
    ),
  // That it refers to nothing shows only in compilation, in a worker.
  'wait/schema': (url) =>
    graph(
      [
        node('ask', 'http.Request', { url }),
        node('wait', 'control.WaitFor', { name: 'x', schema: { $ref: '#/$defs/none' } }),
        node('out', 'output.Output', { name: 'out' }),
      ],
      [{ ...control('ask', 'wait'), sourceHandle: '', targetHandle: '' }, 'wait.value->out.value'],
    ),
}

function calledByModel({ context }: TestServer, id: string): Promise<unknown> {
  const { toolSteps } = createWorkflowTools(context.runs)
  return runToCompletion(toolSteps(OWNER, `workflow/${id}`, '/tools/0')).call({}, new AbortController().signal)
}

async function refusedByAll(server: TestServer, id: string, graph: Graph, place: string): Promise<void> {
  const refusal: [number, string] = [422, 'invalid_workflow_graph']
  const paths = await refused(server, 'POST', `/api/workflows/${id}/run`, { body: {} }, refusal)
  assert.deepEqual(paths, [`/graph/nodes/${place}`])
  const question = { workflow_id: id, level: 'static' }
  const { body } = await call<{ runnable: boolean; issues: { code: string }[] }>(
    server,
    'POST',
    '/api/sdk/v1/preflight',
    { body: question },
  )
  assert.equal(body.runnable, false)
  assert.ok(body.issues.some(({ code }) => code === 'graph_invalid_expression'))
  await using client = await connect(server)
  client.command('run_job', { job_id: `of ${place}`, graph: structuredClone(graph) })
  client.command('run_job', { job_id: `stored ${place}`, workflow_id: id })
  for (const job_id of [`of ${place}`, `stored ${place}`]) {
    const update = await client.next({ type: 'job_update', job_id })
    assert.deepEqual([update.status, update.code], ['failed', 'INVALID_WORKFLOW_GRAPH'])
  }
}

describe('a graph with an unreadable expression', () => {
  for (const [place, graphOf] of Object.entries(GRAPHS))
    test(`${place} is stored with that issue, is not runnable, and sends no request`, async () => {
      let asked = 0
      await using other = await httpServer((_request, response) => {
        asked++
        response.end('{}')
      })
      const environment = { SVC_HTTP_NODE_ALLOW: '127.0.0.1' }
      const graph = graphOf(other.url)
      await using server = await startServer({ environment })
      const stored = await call<StoredWorkflow>(server, 'POST', '/api/workflows', {
        body: { name: 'Asks first', graph },
      })
      assert.equal(stored.status, 201, stored.text)
      const { id, issues } = stored.body
      assert.deepEqual(
        issues.map(({ severity, code, node_id, pin_name }) => [severity, code, `${node_id}/${pin_name}`]),
        [['error', 'invalid_expression', place]],
      )
      await refusedByAll(server, id, graph, place)
      await server.close()
      // A server that has not compiled it yet finds the same, even if a chat model requests the first run.
      await using chatting = await startServer({ environment, data_dir: server.data_dir })
      await assert.rejects(calledByModel(chatting, id), coded('INVALID_WORKFLOW_GRAPH'))
      await chatting.close()
      await using later = await startServer({ environment, data_dir: server.data_dir })
      await refusedByAll(later, id, graph, place)
      assert.equal(asked, 0)
    })

  test('is not run again by a retry if its job was accepted before the check', async () => {
    const [, graphOf] = Object.entries(GRAPHS)[1]!
    await using server = await startServer()
    const { row } = submit(server, { graph: graphOf('http://127.0.0.1:9') })
    assert.equal((await ended(server, row.id)).status, 'failed')
    const paths = await refused(server, 'POST', `/api/jobs/${row.id}/retry`, {}, [422, 'invalid_workflow_graph'])
    assert.deepEqual(paths, ['/graph/nodes/wait/schema'])
  })
})
