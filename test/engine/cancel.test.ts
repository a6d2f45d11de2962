// Laws of cancelling: everything in flight is aborted, nothing begins afterwards, and the run is over within five seconds.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import {
  Gate,
  graph,
  HandClock,
  item,
  mapType,
  node,
  planOf,
  Recorder,
  sink,
  source,
  start,
  testType,
  until,
  value,
  withTypes,
} from './kit.ts'

const delayed = graph(
  [source('in', 1), node('wait', 'control.Delay', { seconds: 3600 }), sink('out')],
  ['in.output->wait.value', 'wait.output->out.value'],
)

describe('cancel', () => {
  test('a run that is cancelled before it begins does nothing', async () => {
    const observer = new Recorder()
    const execution = executePlan(planOf(delayed), { params: {}, signal: AbortSignal.abort(), observer })
    assert.deepEqual(execution.outcome, { status: 'cancelled' })
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.deepEqual(observer.calls, [])
  })

  test('firings in flight are aborted, and no timer stays behind', async () => {
    const clock = new HandClock()
    const { execution, observer, abort } = start(delayed, withTypes(), { clock })
    await until(() => clock.sleepers.size === 1)
    abort.abort()
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.equal(clock.sleepers.size, 0)
    assert.deepEqual(observer.statuses('wait'), ['running'])
    assert.deepEqual(observer.named('output'), [])
  })

  test('a firing that ignores the signal is abandoned after five seconds, and its result dropped', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const of = graph(
      [source('in', 1), node('deaf', 'test.Gate'), sink('out')],
      ['in.output->deaf.value', 'deaf.output->out.value'],
    )
    const { execution, observer, abort } = start(of, withTypes(gate.type), { clock })
    await until(() => gate.waiting.length === 1)
    abort.abort()
    clock.turn(4999)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(execution.outcome, null)
    clock.turn(1)
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    const calls = observer.calls.length
    gate.waiting[0]!.open()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(observer.calls.length, calls)
    assert.equal(clock.sleepers.size, 0)
  })

  test('a cancel after an error does not wait for siblings longer than five seconds', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const failing = new Gate('test.Failing')
    const of = graph(
      [source('in', 1), node('a', 'test.Gate'), node('b', 'test.Failing')],
      ['in.output->a.value', 'in.output->b.value'],
    )
    const { execution, observer, abort } = start(of, withTypes(gate.type, failing.type), { clock })
    await until(() => failing.waiting.length === 1 && gate.waiting.length === 1)
    failing.waiting[0]!.fail(new Error('b'))
    await until(() => observer.statuses('b').includes('error'))
    abort.abort()
    await until(() => clock.sleepers.size === 1)
    clock.turn(5000)
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.node_id === 'b')
  })

  test('an endless synchronous stream lets a cancel through', async () => {
    const endless = testType('test.Endless', {
      outputs: [item],
      *run() {
        for (let at = 0; ; at++) yield { item: at }
      },
    })
    const of = graph([node('endless', 'test.Endless'), node('same', 'test.Same')], ['endless.item->same.value'])
    const { execution, abort } = start(
      of,
      withTypes(
        endless,
        mapType('test.Same', (given) => given),
      ),
    )
    assert.equal(execution.outcome, null)
    setImmediate(() => abort.abort())
    assert.deepEqual(await execution.done, { status: 'cancelled' })
  })

  test('a cancel from within a firing, or from an observer, takes effect at once', async () => {
    const abort = new AbortController()
    const fired: unknown[] = []
    let then: unknown = 'not asked'
    const stopper = mapType('test.Stop', (given) => {
      fired.push(given)
      if (given !== 2) return given
      abort.abort()
      // After the turn that this test is a part of, and before the next one.
      queueMicrotask(() => {
        then = execution.outcome
      })
      return given
    })
    const of = graph(
      [source('in', [1, 2, 3]), node('each', 'control.ForEach'), node('stop', 'test.Stop'), sink('out')],
      ['in.output->each.list', 'each.item->stop.value', 'stop.output->out.value'],
    )
    const { execution } = start(of, withTypes(stopper), { signal: abort.signal })
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.deepEqual(then, { status: 'cancelled' })
    assert.deepEqual(fired, [1, 2])
  })

  test('a run that is cancelled at any moment settles, and neither fires nor reports anything afterwards', async () => {
    for (let moment = 0; moment < 40; moment++) {
      const abort = new AbortController()
      let fired = 0
      const step = testType('test.Step', {
        properties: [value],
        outputs: [{ name: 'output', type: value.type }],
        async run({ value: given }, context) {
          if (++fired === moment) abort.abort()
          await new Promise((resolve) => setImmediate(resolve))
          context.log('info', 'spoken')
          return { output: given }
        },
      })
      const of = graph(
        [
          source('in', [...Array(10).keys()]),
          node('each', 'control.ForEach'),
          node('a', 'test.Step'),
          node('b', 'test.Step'),
          node('all', 'control.Collect'),
          sink('out'),
        ],
        [
          'in.output->each.list',
          'each.item->a.value',
          'a.output->b.value',
          'b.output->all.item',
          'all.list->out.value',
        ],
      )
      const { execution, observer } = start(of, withTypes(step), { signal: abort.signal })
      const outcome = await execution.done
      assert.equal(
        outcome.status,
        moment >= 1 && moment <= 20 ? 'cancelled' : 'completed',
        `cancelled at firing ${moment}`,
      )
      const after = [fired, observer.calls.length]
      await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual([fired, observer.calls.length], after)
    }
  })

  test('a stream that waits for outside values is cancelled cleanly', async () => {
    const of = graph([node('in', 'input.Any', { name: 'in', stream: true }), sink('out')], ['in.output->out.value'])
    const { execution, abort } = start(of)
    assert.equal(execution.pushInput('in', 1), 'ok')
    abort.abort()
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.equal(execution.pushInput('in', 2), 'not_running')
  })
})
