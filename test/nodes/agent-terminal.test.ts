// Agents in runs without a journal, such as those in a terminal: their limits also count all attempts, and a tool call that may have taken
// effect is not repeated.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { createToolAccess } from '../../src/workflows/tools/access.ts'
import { parseNodeCallGraph } from '../../src/workflows/tools/node-call-graph.ts'
import {
  graph,
  HandClock,
  node,
  output,
  planOf,
  sink,
  start,
  testType,
  until,
  value,
  withTypes,
} from '../engine/kit.ts'
import { agentProvider, toolTexts } from '../helpers/agent-provider.ts'
import { services } from './chat-kit.ts'

const agent = (data: object) =>
  graph(
    [node('agent', 'agent.Run', { model: 'agent/brain', prompt: 'do it', ...data }), sink('answer')],
    ['agent.answer->answer.value'],
  )

/** A turn that costs something, says nothing, and fails. */
const failing = () => agentProvider(() => ({ calls: [{ name: 'none', args: {} }], fails: new Error('down') }))

describe('without a journal', () => {
  for (const limit of [{ max_cost: 3 }, { max_tokens: 40 }])
    test(`an agent's ${Object.keys(limit)} counts the turns that failed`, async () => {
      const provider = failing()
      const of = agent({ ...limit, retry: { attempts: 40, backoff_ms: 0 } })
      const outcome = await start(of, builtinRegistry, { services: services([provider]) }).execution.done
      assert.ok(outcome.status === 'failed' && outcome.error.type === 'limit_reached', JSON.stringify(outcome))
      if (limit.max_cost) assert.equal(provider.requests.length, 3)
      else assert.ok(provider.requests.length < 20, `${provider.requests.length}`)
    })

  for (const retry_safe of [false, true])
    test(`an interrupted call is repeated only if its node is safe to retry: ${retry_safe}`, async () => {
      const clock = new HandClock()
      let made = 0
      const send = testType('test.Send', {
        properties: [value],
        outputs: [output],
        retry_safe,
        async run(_inputs, { signal }) {
          if (++made === 1)
            await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
          return { output: 'sent' }
        },
      })
      const registry = withTypes(send)
      const provider = agentProvider((request) => {
        const [told] = toolTexts(request)
        return told === undefined ? { calls: [{ name: 'test_Send', args: { value: 1 } }] } : { say: [told] }
      })
      const tools = createToolAccess({ registry, workflow: () => assert.fail('none is called') })
      const of = agent({ tools: ['test.Send'], timeout_seconds: 1, retry: { attempts: 3, backoff_ms: 0 } })
      const { execution } = start(of, registry, {
        clock,
        services: services([provider], { tools }),
        loadPlan: async (id) => planOf(parseNodeCallGraph(id)!, registry),
      })
      await until(() => made === 1, 'the call')
      clock.turn(1000)
      await until(() => {
        clock.turn(0)
        return execution.outcome !== null
      }, 'the end')
      const outcome = await execution.done
      assert.ok(outcome.status === 'completed', JSON.stringify(outcome))
      const answer = String(outcome.outputs.answer)
      if (retry_safe) assert.equal(answer, 'sent')
      else assert.match(answer, /^Error: The call was interrupted, and nobody knows whether it took effect/)
      // The turn before is remembered, so it is not paid for again.
      assert.deepEqual([made, provider.requests.length], [retry_safe ? 2 : 1, 2])
    })
})
