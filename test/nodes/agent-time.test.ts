// The time of an agent: what people take counts not, whatever else runs meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { graph, node, output, sink, testType, withTypes } from '../engine/kit.ts'
import { agentProvider, toolTexts } from '../helpers/agent-provider.ts'
import { call as http } from '../helpers/http.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { startServer, until } from '../helpers/server.ts'
import { ended, submit } from '../jobs/kit.ts'

test('max_seconds counts no time for which an agent waits for people while another node works', async () => {
  // Its own turns have to fit into its time.
  await withMoreTime(400, async (ms) => {
    const provider = agentProvider((request) =>
      toolTexts(request).length === 0
        ? { calls: [{ name: 'human_Approval', args: { message: 'ok?', value: 1 } }] }
        : { say: ['done'] },
    )
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = testType('test.Slow', {
      properties: [],
      outputs: [output],
      run: async () => {
        await promise
        return { output: 1 }
      },
    })
    await using server = await startServer({ providers: [provider], registry: withTypes(slow) })
    const data = { model: 'agent/brain', prompt: 'do it', tools: ['human.Approval'], max_seconds: ms / 1_000 }
    const job = submit(server, {
      graph: graph(
        [node('agent', 'agent.Run', data), node('slow', 'test.Slow'), sink('answer'), sink('slowly')],
        ['agent.answer->answer.value', 'slow.output->slowly.value'],
      ),
    })
    await until('the call', () => provider.requests.length === 1)
    const begun = Date.now()
    await until('a time longer than its own', () => Date.now() - begun > 2.5 * ms)
    resolve()
    await until('the question', () => job.row.status === 'paused' || job.row.finished_at !== null)
    assert.equal(job.row.status, 'paused', job.row.error ?? '')
    const body = { node_id: 'agent', value: true }
    const { status, text } = await http(server, 'POST', `/api/jobs/${job.row.id}/resume`, { body })
    assert.ok(status < 300, text)
    const row = await ended(server, job.row.id)
    assert.equal(row.status, 'completed', row.error ?? '')
  })
})
