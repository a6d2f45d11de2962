// The time limit of an agent: time that people take does not count, even if other nodes work meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemPlatform } from '../../../src/platform.ts'
import { graph, node, output, sink, testType, withTypes } from '../../engine/kit.ts'
import { agentProvider, toolTexts } from '../../helpers/agent-provider.ts'
import { call as http } from '../../helpers/http.ts'
import { withMoreTime } from '../../helpers/patience.ts'
import { startServer, until } from '../../helpers/server.ts'
import { ended, outputs, submit } from '../../jobs/kit.ts'

test('max_seconds does not count the time that an agent waits for people while another node works', async () => {
  // The agent's own turns have to fit into its time.
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

const HOUR = 3_600_000

for (const [how, moved_ms] of [
  ['forward', 2 * HOUR],
  ['back', -2 * HOUR],
] as const)
  test(`max_seconds counts elapsed time if the clock of the machine is set ${how} in a turn and in a call`, async () => {
    const real = systemPlatform()
    let moved = 0
    const now = () => real.now() + moved
    const platform = { ...real, now, timestamp: () => new Date(now()).toISOString() }
    const move = async () => {
      moved += moved_ms
    }
    const provider = agentProvider((request) =>
      toolTexts(request).length === 0
        ? { calls: [{ name: 'test_Mover', args: {} }], waits: { before: 0, for: move } }
        : { say: ['done'] },
    )
    const mover = testType('test.Mover', {
      properties: [],
      outputs: [output],
      run: async () => {
        await move()
        return { output: 1 }
      },
    })
    await using server = await startServer({ providers: [provider], registry: withTypes(mover), platform })
    const data = { model: 'agent/brain', prompt: 'do it', tools: ['test.Mover'], max_seconds: 60 }
    const nodes = [node('agent', 'agent.Run', data), sink('answer'), sink('steps')]
    const edges = ['agent.answer->answer.value', 'agent.steps->steps.value']
    const row = await ended(server, submit(server, { graph: graph(nodes, edges) }).row.id)
    assert.equal(row.status, 'completed', row.error ?? '')
    const { steps } = outputs(row) as { steps: { type: string; ms: number }[] }
    assert.deepEqual(
      steps.map(({ type }) => type),
      ['turn', 'tool', 'turn'],
    )
    for (const { ms } of steps) assert.ok(ms >= 0 && ms < 60_000, `a step of ${ms} ms`)
  })
