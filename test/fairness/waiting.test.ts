// A job with thousands of waiting nodes delays no other user, however many answers come at once.
import { test } from 'node:test'
import { type Attack, holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time. */
const LONGEST_HOLD = 100
const ANSWERS = 100

test('no number of answers to one job holds the event loop', async () => {
  await using server = await startFair()
  const count = Math.ceil(16_000 * share(0.5))
  const message = 'Pay it back? '.repeat(8)
  const nodes = Array.from({ length: count }, (_, at) => ({
    id: `ask${at}`,
    type: 'human.Approval',
    data: { message, value: 1 },
  }))
  let job_id = ''
  const attack: Attack = {
    name: `${ANSWERS} answers to a job of which ${count} nodes wait`,
    async prepare(attacker) {
      const id = await attacker.store({ nodes, edges: [] })
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}')
      ;({ job_id } = JSON.parse(text) as { job_id: string })
    },
    // Later answers find the job resumed, and are refused.
    strike: (attacker) =>
      Promise.all(
        Array.from({ length: ANSWERS }, (_, at) =>
          attacker.send('POST', `/api/jobs/${job_id}/resume`, JSON.stringify({ node_id: `ask${at}`, value: true })),
        ),
      ),
  }
  await holdsLittle(server, attack, LONGEST_HOLD)
})
