// code.JavaScript in a run that is suspended while its code is in the middle of a stream.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { NodeServices } from '../../src/engine/node-api/node-services.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { MemoryJournal } from '../engine/memory-journal.ts'
import { answer, remembered, waits } from '../engine/waiting.ts'

const sandbox = createCodeSandbox({ workers: 1 })
after(() => sandbox[Symbol.asyncDispose]())
const services: NodeServices = { ...noServices, sandbox }

test('a stream of code that reads the clock continues after its run was suspended', async () => {
  const code = 'for (let i = 0; i < count; i++) yield { item: i + "@" + Date.now() }'
  const dynamic = { dynamic_properties: { count: null }, dynamic_outputs: { item: { type: 'str', stream: true } } }
  const of = graph(
    [source('in', 150), node('n', 'code.JavaScript', { code }, dynamic as never), node('ask', 'test.Ask'), sink('out')],
    ['in.output->n.count', 'n.item->ask.value', 'ask.output->out.value'],
  )
  const journal = new MemoryJournal()
  let outcome = await remembered(of, journal, [], { services }).execution.done
  let rounds = 0
  for (; outcome.status === 'suspended'; rounds++) {
    for (const name of waits(outcome)) answer(journal, outcome, name.slice('ask '.length))
    outcome = await remembered(of, journal, [], { services }).execution.done
  }
  assert.ok(outcome.status === 'completed', JSON.stringify(outcome))
  assert.deepEqual([outcome.outputs.out!.length, rounds], [150, 3])
})
