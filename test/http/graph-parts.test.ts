// Large graphs through all operations that store them: no transaction writes a whole graph, and a refused request soon leaves nothing of it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Workflow, WorkflowVersion } from '../../generated/types.ts'
import { statement } from '../../src/db/statement.ts'
import type { UnitOfWork } from '../../src/db/store.ts'
import type { TransactionStatements } from '../../src/db/transaction.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { ended, OWNER, outputs, submission } from '../jobs/kit.ts'
import { greeting } from './kit.ts'

/** Characters of the largest part, with another row. */
const MOST_AT_ONCE = 1_100_000
const PARTS = statement('keys')((db) => db.selectFrom('graph_part').select('sha256'))

const partCount = ({ context }: TestServer) => context.store.read((tx) => tx.all(PARTS, {})).length
/** A workflow with a graph of about three megabytes. */
const large = (text: string) => {
  const workflow = greeting()
  const comment = { id: 'large', type: 'constant.String', data: { value: text.repeat(3_000_000) } }
  return { ...workflow, graph: { ...workflow.graph, nodes: [...workflow.graph.nodes, comment] } }
}

/** Measures the characters and bytes that a transaction writes; the maximum of all later transactions. */
function mostWritten({ context }: TestServer): () => number {
  const { store } = context
  let most = 0
  const write = store.write.bind(store)
  store.write = <T>(unit: UnitOfWork<T>) =>
    write((tx) => {
      const counted = tx as TransactionStatements
      const before = counted.bytes
      const value = unit(tx)
      most = Math.max(most, counted.bytes - before)
      return value
    })
  return () => most
}

describe('a large graph is written in parts', () => {
  test('when a workflow is stored and replaced, and is read as it was sent', async () => {
    await using server = await startServer()
    const most = mostWritten(server)
    const { body } = await call<Workflow>(server, 'POST', '/api/workflows', { body: large('a') })
    assert.equal(partCount(server), 4)
    const path = `/api/workflows/${body.id}`
    assert.equal((await call(server, 'PUT', path, { body: large('b') })).status, 200)
    assert.ok(most() > 900_000 && most() < MOST_AT_ONCE, `${most()} at once`)
    const { body: versions } = await call<WorkflowVersion[]>(server, 'GET', `${path}/versions?fields=full`)
    const hasText = (text: string, { graph }: WorkflowVersion) => JSON.stringify(graph).includes(text.repeat(3_000_000))
    assert.deepEqual(
      versions.map((version) => ['a', 'b'].filter((text) => hasText(text, version))),
      [['b'], ['a']],
    )
    assert.equal((await call(server, 'DELETE', path)).status, 204)
    assert.equal(partCount(server), 0)
  })

  test('when a request with it is refused, and the parts are removed', async () => {
    await using server = await startServer()
    const { body } = await call<Workflow>(server, 'POST', '/api/workflows', { body: greeting() })
    const headers = { 'If-Match': '"7"' }
    const { status } = await call(server, 'PUT', `/api/workflows/${body.id}`, { body: large('a'), headers })
    assert.equal(status, 412)
    assert.equal(partCount(server), 4)
    await server.context.runs.retention.sweep()
    assert.equal(partCount(server), 0)
  })

  test('when a job with it is accepted', async () => {
    await using server = await startServer()
    const given = submission({ graph: large('a').graph as Graph, params: { name: 'Ada' } })
    await server.context.runs.jobs.prepare(OWNER, given)
    assert.equal(partCount(server), 4)
    const { row } = server.context.runs.jobs.submit(OWNER, given)
    assert.deepEqual(outputs(await ended(server, row.id)), { greeting: 'Hello, Ada!' })
  })
})
