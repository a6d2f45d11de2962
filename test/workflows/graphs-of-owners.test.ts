// Graphs with the same text of two users: each is written, compiled and removed for its user alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { CreateWorkflowRequest } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { statement } from '../../src/db/statement.ts'
import { startServer, type TestServer } from '../helpers/server.ts'

const [ADA, BOB]: readonly OwnerScope[] = [
  { user_id: 'ada', workspace_id: null },
  { user_id: 'bob', workspace_id: 'w' },
]

function workflow(length: number): CreateWorkflowRequest {
  const node = { id: 'in', type: 'input.String', data: { name: 'text', description: 'x'.repeat(length) } }
  return { name: 'W', graph: { nodes: [node], edges: [] } }
}

const selectGraphs = statement()((db) => db.selectFrom('graph').select(sql<number>`count(*)`.as('rows')))
const selectParts = statement()((db) => db.selectFrom('graph_part').select(sql<number>`count(*)`.as('rows')))

function countRows({ context }: TestServer): [number, number] {
  return context.store.read((tx) => [tx.get(selectGraphs, {})!.rows, tx.get(selectParts, {})!.rows])
}

for (const [size, length, parts] of [
  ['small', 10, 0],
  ['large', 2_500_000, 3],
] as const)
  test(`a ${size} graph is written for each user, once for all workflows of a user, and removed with the last of these`, async () => {
    await using server = await startServer()
    const { workflows } = server.context.runs
    const [before, none] = countRows(server)
    const hers = await workflows.create(ADA!, workflow(length))
    assert.deepEqual(countRows(server), [before + 1, none + parts])
    await workflows.create(BOB!, workflow(length))
    assert.deepEqual(countRows(server), [before + 2, none + 2 * parts])
    await workflows.create(BOB!, workflow(length))
    assert.deepEqual(countRows(server), [before + 2, none + 2 * parts])
    await workflows.delete(ADA!, hers.record.id, null)
    assert.deepEqual(countRows(server), [before + 1, none + parts])
  })

test('runs of one user with the same graph share its plan, and those of another user do not', async () => {
  await using server = await startServer()
  const { workflows } = server.context.runs
  const planOf = async (owner: OwnerScope) => {
    const { record } = await workflows.create(owner, workflow(300_000))
    return workflows.runnable(owner, record.id).compiled.plan
  }
  const [hers, hersAgain, his] = [await planOf(ADA!), await planOf(ADA!), await planOf(BOB!)]
  assert.ok(hers !== null && hers === hersAgain)
  assert.notEqual(his, hers)
})
