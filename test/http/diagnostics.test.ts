// Warnings of a graph over HTTP: its interface shows them, and they do not prevent storing or running.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunResult, WorkflowInterface } from '../../generated/types.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { created, edge, node } from './kit.ts'

const nodes = [
  node('name', 'input.String', { name: 'name', value: 'Ada' }),
  node('trim', 'text.Trim', { sde: 'start' }),
  node('idle', 'text.Trim', { text: 'x' }),
  node('out', 'output.Output', { name: 'greeting' }),
]
const edges = [edge('name.output', 'trim.text'), edge('trim.output', 'out.value')]

test('getWorkflowInterface: warnings are among the diagnostics, and the workflow runs', async () => {
  await using server = await startServer()
  const { id } = await created(server, { name: 'Warned', graph: { nodes, edges } })
  const { body } = await call<WorkflowInterface>(server, 'GET', `/api/workflows/${id}/interface`)
  assert.deepEqual(
    body.diagnostics.map(({ severity, code, node_id, pin_name }) => [severity, code, node_id, pin_name]),
    [
      ['warning', 'unknown_property', 'trim', 'sde'],
      ['warning', 'unreachable_output', 'idle', null],
    ],
  )
  assert.deepEqual(
    body.outputs.map(({ name }) => name),
    ['greeting'],
  )
  const run = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: { params: {} } })
  assert.deepEqual([run.status, run.body.status], [200, 'completed'])
})

test('INVALID_WORKFLOW_GRAPH: the problems are only the errors', async () => {
  await using server = await startServer()
  const wrong = { nodes, edges: [...edges, edge('name.output', 'idle.txt')] }
  const { id } = await created(server, { name: 'Wrong', graph: wrong })
  const { status, body } = await call<ErrorBody>(server, 'POST', `/api/workflows/${id}/run`, { body: { params: {} } })
  assert.equal(status, 422)
  assert.match(JSON.stringify(body), /unknown_handle/)
  assert.doesNotMatch(JSON.stringify(body), /unknown_property/)
})
