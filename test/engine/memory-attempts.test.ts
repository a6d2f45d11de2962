// The record of failed attempts, and how a run continues after them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { edge, Gate, graph, HandClock, mapType, node, output, sink, source, testType, until, value } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'
import { answer, called, remembered, waits } from './waiting.ts'

const dynamic = { dynamic_properties: { in: { type: 'any' } }, dynamic_outputs: { out: { type: 'any' } } }
const retry = { attempts: 3, backoff_ms: 100 }

/** Fails so many times, and then returns the number of the attempt. */
function shaky(failures: number, rest: Partial<NodeType> = {}) {
  const seen = { begun: 0 }
  const type = testType('test.Shaky', {
    properties: [value],
    outputs: [output],
    ...rest,
    async run() {
      seen.begun++
      if (seen.begun <= failures) throw new NodeError('not yet', 'busy')
      return { output: seen.begun }
    },
  })
  return { seen, type }
}

const tried = (type = 'test.Shaky'): Graph =>
  graph([source('in', 1), node('n', type, { retry }), sink('out')], ['in.output->n.value', 'n.output->out.value'])

/** The journal of a run that was interrupted in its first pause. */
async function leftInPause(type: NodeType, clock: HandClock): Promise<MemoryJournal> {
  const journal = new MemoryJournal()
  const { execution, abort } = remembered(tried(), journal, [type], { clock })
  await until(() => clock.sleepers.size === 1, 'the pause')
  const left = journal.cut(journal.size)
  abort.abort()
  await execution.done
  return left
}

/** A workflow that calls another one, whose node fails once before a firing waits for an answer. */
const WORKFLOWS = {
  main: graph(
    [source('in', 'a'), node('call', 'workflow.Call', { workflow_id: 'inner', retry }, dynamic as never), sink('out')],
    ['in.output->call.in', 'call.out->out.value'],
  ),
  inner: graph(
    [node('in', 'input.Any', { name: 'in' }), node('n', 'test.Shaky'), node('ask', 'test.Ask'), sink('out')],
    ['in.output->n.value', 'n.output->ask.value', 'ask.output->out.value'],
  ),
}

describe('failed attempts of a firing', () => {
  test('are not repeated after an interruption, and their calls are counted', async () => {
    for (const rest of [{}, { retry_safe: false }]) {
      const clock = new HandClock()
      const { seen, type } = shaky(1, rest)
      const journal = new MemoryJournal()
      const { execution } = called(WORKFLOWS, journal, [type], { clock })
      await until(() => clock.sleepers.size === 1, 'the pause')
      clock.turn(100)
      const first = await execution.done
      assert.deepEqual(waits(first), ['call 2'])
      assert.ok(first.status === 'suspended' && first.waiting[0]!.firing === 'call@#1/ask@')
      answer(journal, first, '2')
      const outcome = await called(WORKFLOWS, journal, [type], { clock }).execution.done
      assert.deepEqual(outcome, { status: 'completed', outputs: { out: [[2, 'yes']] } })
      assert.equal(seen.begun, 2)
    }
  })

  test('leave only the rest of their pause after an interruption', async () => {
    for (const [passed, rest] of [
      [40, 60],
      [100, 0],
    ] as const) {
      const clock = new HandClock()
      const { seen, type } = shaky(1)
      const journal = await leftInPause(type, clock)
      clock.turn(passed)
      const { execution } = remembered(tried(), journal, [type], { clock })
      if (rest > 0) {
        await until(() => clock.sleepers.size === 1, 'what is left of the pause')
        const [sleeper] = clock.sleepers
        assert.deepEqual([sleeper!.until - clock.now(), seen.begun], [rest, 1])
        clock.turn(rest)
      }
      assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [2] } })
      assert.equal(clock.sleepers.size, 0)
    }
  })

  test('count after an interruption, so that their total stays the same', async () => {
    const clock = new HandClock()
    const { seen, type } = shaky(9)
    let journal = await leftInPause(type, clock)
    clock.turn(100)
    const { execution, abort } = remembered(tried(), journal, [type], { clock })
    await until(() => clock.sleepers.size === 1, 'the second pause')
    const [sleeper] = clock.sleepers
    assert.equal(sleeper!.until - clock.now(), 200)
    journal = journal.cut(journal.size)
    abort.abort()
    await execution.done
    clock.turn(200)
    const outcome = await remembered(tried(), journal, [type], { clock }).execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'busy', JSON.stringify(outcome))
    assert.equal(seen.begun, 3)
  })

  test('no longer count once forgiven, but their calls still do', async () => {
    const { seen, type } = shaky(2)
    const journal = new MemoryJournal()
    journal.keep(['attempt', 'call@', { failed: 2, forgiven: 2, calls: 2, next_at: 0 }])
    const clock = new HandClock()
    const { execution } = called(WORKFLOWS, journal, [type], { clock })
    for (const pause of [100, 200]) {
      await until(() => clock.sleepers.size === 1, 'a pause')
      clock.turn(pause)
    }
    assert.deepEqual(waits(await execution.done), ['call 3'])
    assert.equal(seen.begun, 3)
    assert.ok(journal.of('wait').includes('call@#4/ask@'))
  })

  test('allow a firing that must not run twice to continue if its next attempt had not begun', async () => {
    const clock = new HandClock()
    const { seen, type } = shaky(1, { retry_safe: false })
    const journal = await leftInPause(type, clock)
    assert.deepEqual(
      journal.records.map(([kind]) => kind),
      ['start', 'attempt'],
    )
    clock.turn(100)
    const outcome = await remembered(tried(), journal, [type], { clock }).execution.done
    assert.deepEqual([outcome.status, seen.begun], ['completed', 2])
    const begun = journal.cut(3)
    assert.deepEqual(begun.of('start').length, 2)
    const lost = await remembered(tried(), begun, [type], { clock }).execution.done
    assert.ok(lost.status === 'failed' && lost.error.type === 'node_interrupted', JSON.stringify(lost))
    assert.equal(seen.begun, 2)
  })

  test('do not delay the end of a run that fails during their pause', async () => {
    const clock = new HandClock()
    const { seen, type } = shaky(1)
    const journal = await leftInPause(type, clock)
    const fails = mapType('test.Fails', () => {
      throw new NodeError('broken', 'broken')
    })
    const { nodes, edges } = tried()
    const of = { nodes: [...nodes, node('fails', 'test.Fails')], edges: [...edges, edge('in.output->fails.value')] }
    const { execution } = remembered(of, journal, [type, fails], { clock })
    await until(() => execution.outcome !== null || clock.sleepers.size > 0)
    assert.equal(clock.sleepers.size, 0)
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'broken', JSON.stringify(outcome))
    assert.equal(seen.begun, 1)
  })

  test('have their own random numbers, interrupted or not', async () => {
    const rolls: number[] = []
    const type = testType('test.Shaky', {
      properties: [value],
      outputs: [output],
      async run(_inputs, context) {
        rolls.push(context.random())
        if (rolls.length === 1) throw new NodeError('not yet')
        return { output: rolls.at(-1) }
      },
    })
    const clock = new HandClock()
    const left = await leftInPause(type, clock)
    clock.turn(100)
    for (let runs = 0; runs < 2; runs++) {
      const outcome = await remembered(tried(), left.cut(left.size), [type], { clock }).execution.done
      assert.deepEqual(outcome, { status: 'completed', outputs: { out: [rolls[1]] } })
    }
    assert.ok(rolls.length === 3 && rolls[0] !== rolls[1] && rolls[1] === rolls[2], rolls.join())
  })
})

test('an attempt that is over its time limit calls no workflow any more', async () => {
  const gate = new Gate()
  const late = Promise.withResolvers<unknown>()
  let begun = 0
  const type = testType('test.Late', {
    properties: [value],
    outputs: [output],
    async run({ value: given }, context) {
      if (++begun === 1) {
        await new Promise((go) => context.signal.addEventListener('abort', go))
        late.resolve(context.callWorkflow('inner', { in: given }).catch((error: unknown) => error))
      }
      return { output: (await context.callWorkflow('inner', { in: given })).out }
    },
  })
  const data = { timeout_seconds: 1, retry: { attempts: 2, backoff_ms: 100 } }
  const main = graph(
    [source('in', 'a'), node('n', 'test.Late', data), sink('out')],
    ['in.output->n.value', 'n.output->out.value'],
  )
  const inner = graph(
    [node('in', 'input.Any', { name: 'in' }), node('gate', 'test.Gate'), sink('out')],
    ['in.output->gate.value', 'gate.output->out.value'],
  )
  const clock = new HandClock()
  const journal = new MemoryJournal()
  const { execution } = called({ main, inner }, journal, [type, gate.type], { clock })
  await until(() => clock.sleepers.size === 1, 'the time limit')
  clock.turn(1000)
  const error = await late.promise
  assert.ok(error instanceof NodeError && error.type === 'timed_out', String(error))
  await until(() => clock.sleepers.size === 1, 'the pause')
  clock.turn(100)
  await until(() => gate.waiting.length === 1, 'the call of the second attempt')
  gate.waiting[0]!.open()
  assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['a'] } })
  assert.deepEqual(journal.of('end').sort(), ['n@', 'n@#0/gate@'])
})
