// agent.Run with servers whose tool calls are sloppy: without ids, types or indexes, with arguments as values, streamed or whole.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ResultManifest } from '../../generated/types.ts'
import { startGateway } from '../completions/kit.ts'
import { graph, node, output, sink, testType, value, withTypes } from '../engine/kit.ts'
import type { Script } from '../helpers/upstream.ts'
import { ended, submit } from '../jobs/kit.ts'

interface Message {
  readonly role: string
  readonly tool_calls?: readonly { id: string; type: string; function: { name: string; arguments: string } }[]
  readonly tool_call_id?: string
  readonly content?: unknown
}

const doubles = testType('test.Double', {
  properties: [{ ...value, type: { ...value.type, type: 'int' } }],
  outputs: [output],
  run: async ({ value: given }) => ({ output: (given as number) * 2 }),
})

const called = (given: object) => ({ choices: [{ index: 0, delta: { tool_calls: [given] } }] })
const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
const double = (given: unknown) => ({ function: { name: 'test_Double', arguments: given } })
const message = { role: 'assistant', content: '', tool_calls: [double({ value: 2 }), double({ value: 5 })] }

/** The same two calls in several forms. */
const CALLS: Readonly<Record<string, Script>> = {
  'all of each in one piece': { events: [called(double('{"value":2}')), called(double('{"value":5}')), last] },
  'in pieces with one number': {
    events: [
      called({ index: 0, ...double('{"val') }),
      called({ index: 0, function: { arguments: 'ue":2}' } }),
      called({ index: 0, ...double('{"value":5}') }),
      last,
    ],
  },
  'with arguments as values': {
    events: [called(double({ value: 2 })), called({ id: '', ...double({ value: 5 }) }), last],
  },
  'in an answer that is not streamed': { body: JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] }) },
}

describe('agent.Run calls the tools that a server names without ids and types', () => {
  for (const [how, script] of Object.entries(CALLS)) {
    test(how, async () => {
      const answer = (_: unknown, n: number): Script => (n === 0 ? script : { text: '4 and 10' })
      await using gateway = await startGateway({ answer }, { registry: withTypes(doubles) })
      const data = { model: 'up/gpt-4o-mini', prompt: 'do it', tools: ['test.Double'] }
      const run = graph([node('agent', 'agent.Run', data), sink('answer')], ['agent.answer->answer.value'])
      const row = await ended(gateway.server, submit(gateway.server, { graph: run }).row.id)
      assert.equal(row.status, 'completed', row.error ?? '')
      assert.equal((JSON.parse(row.result!) as ResultManifest).outputs.answer, '4 and 10')
      const messages = gateway.upstream.posts[1]!.json.messages as Message[]
      const calls = messages.find(({ tool_calls }) => tool_calls)!.tool_calls!
      assert.deepEqual(
        calls.map((one) => [one.type, one.function.name, JSON.parse(one.function.arguments)]),
        [2, 5].map((given) => ['function', 'test_Double', { value: given }]),
      )
      const ids = calls.map(({ id }) => id)
      assert.ok(ids.every((id) => id !== '') && ids[0] !== ids[1], ids.join())
      const results = messages.filter(({ role }) => role === 'tool')
      assert.deepEqual(
        results.map(({ tool_call_id, content }) => [tool_call_id, content]),
        [
          [ids[0], '4'],
          [ids[1], '10'],
        ],
      )
    })
  }
})
