// Vectors are stored without the secrets of their owner, and are found by the same words all the same.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RunResult } from '../../generated/types.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { RedactedVectors } from '../../src/vectors/redacted-vectors.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { openStore } from '../helpers/store.ts'
import { cellsOf } from '../redaction/leaks-kit.ts'
import { putSecret } from '../settings/kit.ts'
import { entry, never, vectorsOf } from './kit.ts'

const SECRET = 'planted-Secret-7f3a9c-77aa'

describe('vectors of an owner with a secret', () => {
  test('lie in the database without it', async () => {
    await using server = await startServer()
    await putSecret(server, 'MINE', SECRET)
    const metadata = [{ note: `meta ${SECRET}`, [`key ${SECRET}`]: [SECRET] }]
    const data = { index: `idx ${SECRET}`, vectors: [[1, 0]], metadata, ids: [`id ${SECRET}`], model: `of/${SECRET}` }
    const nodes = [
      { id: 'in', type: 'input.Any', data: { name: 'texts' } },
      { id: 'index', type: 'vector.Index', data },
      { id: 'search', type: 'vector.Search', data: { index: data.index, vector: [1, 0], filter: metadata[0] } },
      { id: 'out', type: 'output.Output', data: { name: 'found' } },
    ]
    const edges = [
      { source: 'in', sourceHandle: 'output', target: 'index', targetHandle: 'texts' },
      { source: 'search', sourceHandle: 'matches', target: 'out', targetHandle: 'value' },
    ]
    const run = async (kept: typeof nodes) => {
      const graph = {
        nodes: kept,
        edges: edges.filter(({ source, target }) => [source, target].every((id) => kept.some((one) => one.id === id))),
      }
      const made = await call<{ id: string }>(server, 'POST', '/api/workflows', { body: { name: 'w', graph } })
      const path = `/api/workflows/${made.body.id}/run`
      const params = kept.some(({ id }) => id === 'in') ? { texts: [`text with ${SECRET}`] } : {}
      return (await call<RunResult>(server, 'POST', path, { body: { params } })).body
    }
    assert.equal((await run(nodes.slice(0, 2))).status, 'completed')
    for (const [place, text] of cellsOf(server.data_dir))
      if (place.includes('vector')) assert.ok(!text.includes(SECRET), `${place}: ${text}`)
    const found = await run(nodes.slice(2))
    assert.match(JSON.stringify(found), /"text":"text with \[redacted\]"/)
    const { text } = await call(server, 'GET', '/admin/collections')
    assert.match(text, /"idx \[redacted\]"/)
  })

  test('have no ids that were made of it', async () => {
    await using server = await startServer()
    await putSecret(server, 'MINE', SECRET)
    const nodes = [
      { id: 'in', type: 'input.Any', data: { name: 'texts' } },
      { id: 'index', type: 'vector.Index', data: { index: 'i', vectors: [[1, 0]] } },
      { id: 'out', type: 'output.Output', data: { name: 'ids' } },
    ]
    const edges = [
      { source: 'in', sourceHandle: 'output', target: 'index', targetHandle: 'texts' },
      { source: 'index', sourceHandle: 'ids', target: 'out', targetHandle: 'value' },
    ]
    const body = { name: 'w', graph: { nodes, edges } }
    const { id } = (await call<{ id: string }>(server, 'POST', '/api/workflows', { body })).body
    const idsOf = async (text: string) => {
      const params = { texts: [text] }
      const { body } = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: { params } })
      assert.equal(body.status, 'completed', JSON.stringify(body))
      return JSON.stringify(body.outputs)
    }
    assert.equal(await idsOf(`a ${SECRET}`), await idsOf('a [redacted]'))
    assert.notEqual(await idsOf('a [redacted]'), await idsOf('b'))
  })

  test('are found, counted and removed by the words that they were written with', async () => {
    await using opened = await openStore()
    const plain = vectorsOf(opened.store)
    const vectors = redactedVectors(plain)
    const [index, id] = [`idx ${SECRET}`, `id ${SECRET}`]
    const metadata = { note: SECRET }
    await vectors.put(index, [entry(id, [1, 0], { text: SECRET, metadata }), entry('b', [0, 1])], null, never)
    assert.equal((await vectors.info(index))?.name, 'idx [redacted]')
    assert.equal(await plain.info(index), null)
    const query = { index, vector: [1, 0], model: null, top_k: 5, min_score: null, filter: metadata, signal: never }
    assert.deepEqual(await vectors.search(query), [
      { id: 'id [redacted]', score: 1, text: '[redacted]', metadata: { note: '[redacted]' } },
    ])
    assert.equal(await vectors.remove(index, metadata, never), 1)
    await vectors.put(index, [entry(id, [1, 0])], null, never)
    assert.equal(await vectors.remove(index, [id], never), 1)
    assert.equal(await vectors.remove(index, null, never), 1)
    assert.deepEqual(await vectors.list(), [])
  })

  test('are found under the name that an index had before the redaction', async () => {
    await using opened = await openStore()
    const plain = vectorsOf(opened.store)
    const vectors = redactedVectors(plain)
    const [index, id] = [`idx ${SECRET}`, `id ${SECRET}`]
    await plain.put(index, [entry(id, [1, 0])], null, never)
    assert.equal((await vectors.info(index))?.count, 1)
    await vectors.put(index, [entry('b', [1, 0])], null, never)
    assert.equal((await plain.info(index))?.count, 2)
    assert.equal(await vectors.remove(index, [id], never), 1)
  })
})

function redactedVectors(vectors: ReturnType<typeof vectorsOf>): RedactedVectors {
  const redactor = new Redactor([SECRET])
  return new RedactedVectors({ vectors, redactor, slices: new TimeSliceScheduler(), user: 'user' })
}
