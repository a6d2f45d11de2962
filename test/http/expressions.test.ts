// What cannot be read in a graph is told before anything of it runs: to whoever stores it, asks for a preflight, or runs it, over every door.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredWorkflow } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/graph.ts'
import { graph, node } from '../engine/kit.ts'
import { call, refused } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { httpServer } from '../net/servers.ts'

/** Asks a server, and then calculates. */
function asksFirst(url: string): Graph {
  return graph(
    [
      node('ask', 'http.Request', { url }),
      node('sum', 'math.Formula', { formula: '1 +* 2' }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    ['ask.status->sum.status', 'sum.output->out.value'],
  )
}

describe('a graph with a formula that cannot be read', () => {
  test('is stored with that issue, is not runnable, and sends nothing', async () => {
    let asked = 0
    await using other = await httpServer((_request, response) => {
      asked++
      response.end('{}')
    })
    await using server = await startServer({ environment: { SVC_HTTP_NODE_ALLOW: '127.0.0.1' } })
    const stored = await call<StoredWorkflow>(server, 'POST', '/api/workflows', {
      body: { name: 'Asks first', graph: asksFirst(other.url) },
    })
    assert.equal(stored.status, 201, stored.text)
    const { id, issues } = stored.body
    assert.deepEqual(
      issues.map(({ severity, code, node_id }) => [severity, code, node_id]),
      [['error', 'invalid_expression', 'sum']],
    )
    const paths = await refused(server, 'POST', `/api/workflows/${id}/run`, { body: {} }, [
      422,
      'invalid_workflow_graph',
    ])
    assert.deepEqual(paths, ['/graph/nodes/sum/formula'])
    const { body } = await call<{ runnable: boolean; issues: { code: string }[] }>(
      server,
      'POST',
      '/api/sdk/v1/preflight',
      {
        body: { workflow_id: id, level: 'static' },
      },
    )
    assert.equal(body.runnable, false)
    assert.ok(body.issues.some(({ code }) => code === 'graph_invalid_expression'))
    await using client = await connect(server)
    client.command('run_job', { job_id: 'first', graph: asksFirst(other.url) })
    const update = await client.next({ type: 'job_update', job_id: 'first' })
    assert.deepEqual([update.status, update.code], ['failed', 'INVALID_WORKFLOW_GRAPH'])
    assert.equal(asked, 0)
  })
})
