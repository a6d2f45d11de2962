// The record of the failure that ends a run: followers receive the same error after an interruption.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { RunOutcome } from '../../src/engine/runtime/execution.ts'
import { Gate, graph, node, output, sink, source, testType, until, value } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'
import { called, remembered } from './waiting.ts'

const dynamic = { dynamic_properties: { in: { type: 'any' } }, dynamic_outputs: { out: { type: 'any' } } }

/** Fails, except for later times; and a node in flight until its gate opens. `beside`: the first fails once the other is in flight. */
function parts(rest: Partial<NodeType> = {}, beside = false) {
  const seen = { bad: 0, slow: 0 }
  const gate = new Gate()
  const bad = testType('test.Bad', {
    properties: [value],
    outputs: [output],
    ...rest,
    async run({ value: given }) {
      if (seen.bad++ > 0) return { output: given }
      if (beside) await until(() => gate.waiting.length > 0)
      throw new NodeError('no', 'odd')
    },
  })
  const slow = testType('test.Slow', {
    properties: [value],
    outputs: [output],
    ...rest,
    async run(inputs, context) {
      seen.slow++
      return (await gate.type.run!(inputs, context)) as { output: unknown }
    },
  })
  return { seen, gate, types: [bad, slow] }
}

/** Both nodes side by side, in either order. */
const together = (first: 'Bad' | 'Slow', second: 'Bad' | 'Slow'): Graph =>
  graph(
    [source('in', 'a'), node(first, `test.${first}`), node(second, `test.${second}`), sink('out')],
    [`in.output->${first}.value`, `in.output->${second}.value`, 'Bad.output->out.value'],
  )

function failedOddly(outcome: RunOutcome): void {
  assert.deepEqual(outcome, { status: 'failed', error: { node_id: 'Bad', type: 'odd', message: 'no' } })
}

describe('a run that fails', () => {
  test('and is interrupted before it has settled fails with the same error at once', async () => {
    for (const main of [together('Bad', 'Slow'), together('Slow', 'Bad')]) {
      for (const rest of [{}, { retry_safe: false }]) {
        const { seen, gate, types } = parts(rest, true)
        const journal = new MemoryJournal()
        const first = remembered(main, journal, types)
        await until(() => first.observer.statuses('Bad').includes('error') && gate.waiting.length === 1)
        const cut = journal.cut(journal.size)
        gate.waiting[0]!.open()
        failedOddly(await first.execution.done)
        const size = cut.size
        const { execution, observer } = remembered(main, cut, types)
        failedOddly(await execution.done)
        assert.deepEqual(observer.calls, [['node', 'Bad', 'error', { error: 'no' }]])
        assert.deepEqual([seen, cut.size], [{ bad: 1, slow: 1 }, size])
      }
    }
  })

  test('tells its journal first', async () => {
    const { gate, types } = parts({}, true)
    const journal = new MemoryJournal()
    const { execution, observer } = remembered(together('Bad', 'Slow'), journal, types)
    const heard: unknown[] = []
    journal.onRecord = ([kind]) => heard.push([kind, observer.statuses('Bad').at(-1)])
    await until(() => observer.statuses('Bad').includes('error') && gate.waiting.length === 1)
    gate.waiting[0]!.open()
    failedOddly(await execution.done)
    assert.deepEqual(heard, [
      ['failure', 'running'],
      ['end', 'error'],
    ])
  })

  test('fails with the same error again even if its firings record nothing', async () => {
    let begun = 0
    const gate = new Gate()
    const bad = testType('test.Bad', {
      properties: [value],
      outputs: [output],
      run() {
        begun++
        throw new NodeError('no', 'odd')
      },
    })
    const of = together('Slow', 'Bad')
    of.nodes[1]!.type = 'test.Gate'
    const journal = new MemoryJournal()
    const { execution, abort } = remembered(of, journal, [bad, gate.type])
    await until(() => journal.of('failure').length === 1)
    const cut = journal.cut(1)
    abort.abort()
    gate.waiting[0]!.fail(new Error('aborted'))
    failedOddly(await execution.done)
    failedOddly(await remembered(of, cut, [bad, gate.type]).execution.done)
    assert.deepEqual([begun, gate.started], [1, 1])
  })

  test('records no caught failure, none of a cancelled run, and none twice', async () => {
    const { types } = parts()
    const of = graph(
      [source('in', 'a'), node('Bad', 'test.Bad'), node('catch', 'control.Catch'), sink('out')],
      ['in.output->Bad.value', 'Bad.output->catch.value', 'catch.value->out.value'],
    )
    const journal = new MemoryJournal()
    assert.equal((await remembered(of, journal, types).execution.done).status, 'completed')
    assert.deepEqual([journal.of('failure'), journal.of('end')], [[], ['Bad@']])

    const gate = new Gate()
    const two = graph([source('in', 'a'), node('n', 'test.Gate')], ['in.output->n.value'])
    for (const [abort, failures] of [
      [true, []],
      [false, ['']],
    ] as const) {
      const told = new MemoryJournal()
      const run = remembered(two, told, [gate.type])
      await until(() => gate.waiting.length === 1)
      if (abort) run.abort.abort()
      gate.waiting[0]!.fail(new Error('broken'))
      await run.execution.done
      assert.deepEqual(told.of('failure'), failures)
    }
  })
})

describe('a called workflow that fails', () => {
  const inner = graph(
    [node('in', 'input.Any', { name: 'in' }), node('Bad', 'test.Bad'), node('Slow', 'test.Slow'), sink('out')],
    ['in.output->Bad.value', 'in.output->Slow.value', 'Bad.output->out.value'],
  )
  const mainOf = (data = {}): Graph =>
    graph(
      [
        source('in', 'a'),
        node('call', 'workflow.Call', { workflow_id: 'inner', ...data }, dynamic as never),
        node('catch', 'control.Catch'),
        sink('out'),
        sink('error'),
      ],
      ['in.output->call.in', 'call.out->catch.value', 'catch.value->out.value', 'catch.error->error.value'],
    )

  /** The record of a run whose called workflow has failed, and not settled. */
  async function cutInside(main: Graph, { gate, types }: ReturnType<typeof parts>): Promise<MemoryJournal> {
    const journal = new MemoryJournal()
    const { execution, abort } = called({ main, inner }, journal, types)
    await until(() => journal.of('failure').length === 1 && gate.waiting.length === 1)
    const cut = journal.cut(journal.size)
    abort.abort()
    gate.waiting[0]!.open()
    await execution.done
    return cut
  }

  test('fails at once when it is called again after an interruption', async () => {
    const made = parts({ retry_safe: false }, true)
    const main = mainOf()
    const journal = await cutInside(main, made)
    assert.deepEqual(journal.of('failure'), ['call@#0/'])
    const message = 'Workflow "inner" failed at node "Bad": no'
    const error = { node_id: 'call', node_type: 'workflow.Call', type: 'odd', message }
    const outcome = await called({ main, inner }, journal, made.types).execution.done
    assert.deepEqual(outcome, { status: 'completed', outputs: { out: [], error: [error] } })
    assert.deepEqual(made.seen, { bad: 1, slow: 1 })
  })

  test('is called again by the next attempt', async () => {
    const made = parts({ retry_safe: false }, true)
    const main = mainOf({ retry: { attempts: 2, backoff_ms: 0 } })
    const journal = await cutInside(main, made)
    const { execution } = called({ main, inner }, journal, made.types)
    await until(() => made.gate.waiting.length === 1, 'the second call')
    made.gate.waiting[0]!.open()
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['a'], error: [] } })
    assert.deepEqual(made.seen, { bad: 2, slow: 2 })
    assert.deepEqual(journal.of('attempt'), ['call@'])
  })
})
