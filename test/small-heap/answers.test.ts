// A server with a small heap survives many answers at once to jobs that wait for much. Each answer reads all that its job waits for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFair } from '../fairness/kit.ts'
import type { User } from '../fairness/user.ts'
import { until } from '../helpers/server.ts'

/** Nearly the limit of what one job may wait for. */
const MUCH = {
  nodes: Array.from({ length: 60 }, (_, at) => ({
    id: `wait${at}`,
    type: 'control.WaitFor',
    data: { name: `value${at}`, schema: { $defs: { a: { type: 'string' } }, description: 'd'.repeat(59_000) } },
  })),
  edges: [],
}

async function suspended(user: User): Promise<string> {
  const id = await user.store(MUCH)
  const { text } = await user.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
  const { job_id } = JSON.parse(text) as { job_id: string }
  await until('its rest', async () => (await user.send('GET', `/api/jobs/${job_id}`)).text.includes('"suspended"'))
  return job_id
}

test('answers that together need more than the heap do not end the process', async () => {
  await using server = await startFair({ NODE_OPTIONS: '--max-old-space-size=256' })
  const jobs = [await suspended(server.attacker), await suspended(server.attacker), await suspended(server.attacker)]
  const statuses: number[] = []
  let next = 0
  const attack = {
    name: 'answers to three jobs that wait for sixty values each',
    side_by_side: 150,
    async strike() {
      const job_id = jobs[next++ % jobs.length]
      const { status } = await server.attacker.send('POST', `/api/jobs/${job_id}/resume`, '{"value":1,"name":"none"}')
      statuses.push(status)
    },
  }
  const { answers } = await server.under([attack], () => true)
  assert.deepEqual(new Set(statuses), new Set([422]))
  assert.equal(statuses.length, 150)
  assert.ok(answers.health.count > 0 && answers.list.count > 0)
  await server.attacker.expect(200, 'GET', '/health')
})
