// A server with a small heap survives more large bodies at once than its heap has room for, and serves other users meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFair } from '../fairness/kit.ts'

const node = (id: string, type: string, data: object = {}) => ({ id, type, data })
const edge = (source: string, target: string, targetHandle: string) => ({
  source,
  sourceHandle: 'output',
  target,
  targetHandle,
})

/** Its runs hold their parameters for a while. */
const SLOW = {
  nodes: [
    node('in', 'input.Any', { name: 'in' }),
    node('wait', 'control.Delay', { seconds: 0.5 }),
    node('length', 'list.Length'),
  ],
  edges: [edge('in', 'wait', 'value'), edge('wait', 'length', 'list')],
}

test('parallel bodies that together need more than the heap do not end the process', async () => {
  await using server = await startFair({ NODE_OPTIONS: '--max-old-space-size=256' })
  const id = await server.attacker.store(SLOW)
  const body = `{"params":{"in":[${'{},'.repeat(1_000_000)}{}]}}`
  const statuses: number[] = []
  const attack = {
    name: 'runs with a million empty objects each',
    side_by_side: 8,
    async strike() {
      statuses.push((await server.attacker.send('POST', `/api/workflows/${id}/run`, body)).status)
    },
  }
  const { answers } = await server.under([attack], () => true)
  assert.equal(statuses.length, 8)
  for (const status of statuses) assert.ok([200, 503].includes(status), `status ${status}`)
  assert.ok(statuses.includes(200))
  assert.ok(answers.health.count > 0 && answers.list.count > 0)
  await server.attacker.expect(200, 'GET', '/health')
})
