// Responses whose JSON is made in parts equal small ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  Workflow,
  WorkflowInterface,
  WorkflowInterfacesResponse,
  WorkflowListItem,
} from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { created, greeting, node } from './kit.ts'

const BULK = '/api/sdk/v1/workflow-interfaces'

test('a long list is complete, and comes in parts', async () => {
  await using server = await startServer()
  const description = 'ä😀"\n'.repeat(4_000)
  const made: string[] = []
  for (let at = 0; at < 40; at++) made.push((await created(server, greeting({ name: `w${at}`, description }))).id)
  const { body, headers } = await call<WorkflowListItem[]>(server, 'GET', '/api/workflows')
  assert.deepEqual(body.map(({ id }) => id).sort(), made.sort())
  assert.ok(body.every((item) => item.description === description))
  assert.deepEqual([headers['transfer-encoding'], headers['content-length']], ['chunked', undefined])
  const head = await call(server, 'HEAD', '/api/workflows')
  assert.deepEqual([head.status, head.text], [200, ''])
})

test('a large workflow is returned as it was sent, and its schemas contain its large defaults', async () => {
  await using server = await startServer()
  const value = Array.from({ length: 60_000 }, (_, at) => ({ at, text: 'ü' }))
  const graph = { nodes: [node('in', 'input.Any', { name: 'in', value })], edges: [] }
  const { id } = await created(server, { name: 'Large', graph })
  const { body, text } = await call<Workflow>(server, 'GET', `/api/workflows/${id}`)
  assert.ok(text.includes(JSON.stringify(graph)), 'the graph came back as other text')
  assert.deepEqual(body.input_schema.properties.in!.default, value)
  const derived = await call<WorkflowInterface>(server, 'GET', `/api/workflows/${id}/interface?version=1`)
  assert.deepEqual(derived.body.inputs[0]!.default, value)
  assert.equal(derived.headers['content-length'], undefined)
})

test('interfaces come in the requested order, large ones in parts, and the errors after them', async () => {
  await using server = await startServer({ environment: { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' } })
  const value = Array.from({ length: 60_000 }, (_, at) => ({ at }))
  const large = { nodes: [node('in', 'input.Any', { name: 'in', value })], edges: [] }
  const made = [await created(server, { name: 'Large', graph: large }), await created(server, greeting())]
  const [first, second] = made.map(({ id }) => id)
  for (const ids of [[first], [second], [first, 'gone', second, first!.toUpperCase()], ['gone']]) {
    const sent = { body: { ids } }
    const { body, headers } = await call<WorkflowInterfacesResponse>(server, 'POST', BULK, sent)
    const known = ids.filter((id) => id === first || id === second)
    assert.deepEqual(
      body.interfaces.map(({ workflow_id }) => workflow_id),
      known,
    )
    assert.deepEqual(
      body.errors.map(({ workflow_id }) => workflow_id),
      ids.filter((id) => !known.includes(id)),
    )
    for (const one of body.interfaces)
      assert.deepEqual(one, (await call(server, 'GET', `/api/workflows/${one.workflow_id}/interface?version=1`)).body)
    assert.equal(headers['content-length'], undefined)
  }
})

test('a response of many values that fits into a part has a Content-Length', async () => {
  await using server = await startServer()
  const value = Array.from({ length: 10_000 }, () => 0)
  const graph = { nodes: [node('in', 'input.Any', { name: 'in', value })], edges: [] }
  const { id } = await created(server, { name: 'Zeros', graph })
  const { headers, text } = await call<Workflow>(server, 'GET', `/api/workflows/${id}`)
  assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
})
