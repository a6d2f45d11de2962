// Every bundled example runs through the HTTP door and gives what its file says.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunResult } from '../../generated/types.ts'
import { examples } from '../../src/workflows/examples.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

for (const { id, params, outputs } of examples().values()) {
  test(`runWorkflow: the example ${id} gives its outputs`, async () => {
    await using server = await startServer()
    const { status, body } = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: { params } })
    assert.equal(status, 200)
    assert.deepEqual([body.status, body.error], ['completed', null])
    assert.deepEqual(body.outputs, outputs)
  })
}

test('the examples show a pipeline, a fan-out, a branch, a sub-workflow and a report', () => {
  const used = new Set([...examples().values()].flatMap(({ graph }) => graph.nodes.map(({ type }) => type)))
  for (const type of ['text.Template', 'control.ForEach', 'control.Collect', 'control.If', 'workflow.Call']) {
    assert.ok(used.has(type), type)
  }
  assert.ok(examples().size >= 5)
})
