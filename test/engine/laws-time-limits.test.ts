// The laws of time limits of nodes and runs, by a clock that the test sets.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Gate, graph, HandClock, item, node, planOf, sink, start, testType, until, withTypes } from './kit.ts'

describe('law 32: time limits of a node', () => {
  const limited = (data: Record<string, unknown>) =>
    graph([node('slow', 'test.Gate', { value: 1, ...data }), sink('out')], ['slow.output->out.value'])

  test('law 32: the attempt fails and its signal aborts; later results are dropped', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const { execution } = start(limited({ timeout_seconds: 2 }), withTypes(gate.type), { clock })
    await until(() => gate.waiting.length === 1)
    clock.turn(1999)
    assert.equal(gate.waiting[0]!.signal.aborted, false)
    clock.turn(1)
    await until(() => gate.waiting[0]!.signal.aborted)
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed')
    assert.deepEqual([outcome.error.node_id, outcome.error.type], ['slow', 'timed_out'])
    gate.waiting[0]!.open()
    assert.equal(clock.sleepers.size, 0)
  })

  test('law 32: the limit applies to each attempt, and an attempt in time leaves no timer', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const of = limited({ timeout_seconds: 2, retry: { attempts: 2, backoff_ms: 500 } })
    const { execution } = start(of, withTypes(gate.type), { clock })
    await until(() => gate.waiting.length === 1)
    clock.turn(2000)
    await until(() => [...clock.sleepers].some((sleeper) => sleeper.until === 2500))
    clock.turn(500)
    await until(() => gate.waiting.length === 2)
    gate.waiting[1]!.open('in time')
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['in time'] } })
    assert.equal(clock.sleepers.size, 0)
  })

  test('law 32: for a stream the limit applies to each next item, not to the whole', async () => {
    const clock = new HandClock()
    const go: (() => void)[] = []
    const slow = testType('test.Slow', {
      outputs: [item],
      async *run() {
        for (let at = 0; at < 4; at++) {
          await new Promise<void>((resolve) => go.push(resolve))
          yield { item: at }
        }
      },
    })
    const of = graph([node('slow', 'test.Slow', { timeout_seconds: 1 }), sink('out')], ['slow.item->out.value'])
    const { execution, observer } = start(of, withTypes(slow), { clock })
    for (let at = 0; at < 3; at++) {
      await until(() => go.length === at + 1)
      clock.turn(900)
      go[at]!()
    }
    await until(() => go.length === 4 && observer.named('output').length === 3)
    clock.turn(1000)
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'timed_out')
    assert.deepEqual(
      observer.named('output').map((call) => call[3]),
      [0, 1, 2],
    )
    for (const resolve of go) resolve()
  })

  test('law 32: a generator that is over its time is ended as soon as it reacts', async () => {
    const clock = new HandClock()
    let open = 0
    const go: (() => void)[] = []
    const slow = testType('test.Slow', {
      outputs: [item],
      async *run() {
        open++
        try {
          await new Promise<void>((resolve) => go.push(resolve))
          yield { item: 1 }
        } finally {
          open--
        }
      },
    })
    const of = graph([node('slow', 'test.Slow', { timeout_seconds: 1 }), sink('out')], ['slow.item->out.value'])
    const { execution } = start(of, withTypes(slow), { clock })
    await until(() => go.length === 1)
    clock.turn(1000)
    assert.equal((await execution.done).status, 'failed')
    go[0]!()
    await until(() => open === 0)
  })
})

describe('law 33: the time limit of a run', () => {
  test('law 33: the run fails as timed out, and firings in flight are aborted', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const of = graph([node('slow', 'test.Gate', { value: 1 }), sink('out')], ['slow.output->out.value'])
    const { execution } = start(of, withTypes(gate.type), { clock, timeLimit: 3000 })
    await until(() => gate.waiting.length === 1)
    clock.turn(2999)
    assert.equal(execution.outcome, null)
    clock.turn(1)
    await until(() => gate.waiting[0]!.signal.aborted)
    gate.waiting[0]!.fail(gate.waiting[0]!.signal.reason)
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'timed_out')
    assert.equal(clock.sleepers.size, 0)
  })

  test('law 33: a run that is in time leaves no timer', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const of = graph([node('slow', 'test.Gate', { value: 1 }), sink('out')], ['slow.output->out.value'])
    const { execution } = start(of, withTypes(gate.type), { clock, timeLimit: 3000 })
    await until(() => gate.waiting.length === 1)
    gate.waiting[0]!.open()
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [1] } })
    assert.equal(clock.sleepers.size, 0)
  })
})

describe('time limits reach into called workflows', () => {
  const called = graph([node('slow', 'test.Gate', { value: 1 }), sink('out')], ['slow.output->out.value'])
  const calling = (data: Record<string, unknown>) =>
    graph([node('call', 'workflow.Call', { workflow_id: 'inner', ...data })], [])

  for (const [what, data, limit] of [
    ['that of the node that calls', { timeout_seconds: 2 }, {}],
    ['that of the run', {}, { timeLimit: 2000 }],
  ] as const) {
    test(`${what} aborts their firings as well`, async () => {
      const clock = new HandClock()
      const gate = new Gate()
      const types = withTypes(gate.type)
      const loadPlan = async () => planOf(called, types)
      const { execution } = start(calling(data), types, { clock, loadPlan, ...limit })
      await until(() => gate.waiting.length === 1)
      clock.turn(2000)
      await until(() => gate.waiting[0]!.signal.aborted)
      gate.waiting[0]!.open()
      const outcome = await execution.done
      assert.equal(outcome.status === 'failed' && outcome.error.type, 'timed_out')
      await until(() => clock.sleepers.size === 0)
    })
  }
})
