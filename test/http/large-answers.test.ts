// Answers whose JSON is made in parts say what small ones would.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workflow, WorkflowListItem } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { created, greeting, node } from './kit.ts'

test('a list that is long is whole, and comes in parts', async () => {
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

test('a large workflow is written as it was sent, and its schemas hold its large defaults', async () => {
  await using server = await startServer()
  const value = Array.from({ length: 60_000 }, (_, at) => ({ at, text: 'ü' }))
  const graph = { nodes: [node('in', 'input.Any', { name: 'in', value })], edges: [] }
  const { id } = await created(server, { name: 'Large', graph })
  const { body, text } = await call<Workflow>(server, 'GET', `/api/workflows/${id}`)
  assert.ok(text.includes(JSON.stringify(graph)), 'the graph came back as other text')
  assert.deepEqual(body.input_schema.properties.in!.default, value)
  const { body: derived } = await call<{ inputs: { default: unknown }[] }>(
    server,
    'GET',
    `/api/workflows/${id}/interface?version=1`,
  )
  assert.deepEqual(derived.inputs[0]!.default, value)
})

test('an answer of many values that is no longer than a part has its length', async () => {
  await using server = await startServer()
  const value = Array.from({ length: 10_000 }, () => 0)
  const graph = { nodes: [node('in', 'input.Any', { name: 'in', value })], edges: [] }
  const { id } = await created(server, { name: 'Zeros', graph })
  const { headers, text } = await call<Workflow>(server, 'GET', `/api/workflows/${id}`)
  assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
})
