// Laws of params, streamed inputs and property changes during a run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { estimateMemory } from '../../src/engine/node-api/values/measure.ts'
import { silentObserver } from '../../src/engine/runtime/run/observer.ts'
import { createRun } from '../../src/engine/runtime/sub-workflow.ts'
import { takesLess } from '../helpers/patience.ts'
import { Gate, graph, node, outputs, planOf, run, sink, source, start, until, update, withTypes } from './kit.ts'

const echo = (type: string, data: Record<string, unknown> = {}) =>
  graph([node('in', type, { name: 'x', ...data }), sink('out')], ['in.output->out.value'])

const streamed = (type = 'input.Any') =>
  graph(
    [node('in', type, { name: 'x', stream: true }), node('all', 'control.Collect'), sink('out'), sink('list')],
    ['in.output->out.value', 'in.output->all.item', 'all.list->list.value'],
  )

describe('params of a run', () => {
  test('are read item by item if a streamed input has a list of millions', async () => {
    const plan = planOf(streamed())
    const list = Array(3_000_000).fill(1)
    // The caller that produced a value has measured it.
    estimateMemory(list)
    const options = { params: { x: list }, signal: AbortSignal.abort(), observer: silentObserver }
    await takesLess(20, () => createRun(plan, options))
  })

  test('take precedence over the own value of their input', async () => {
    assert.deepEqual(await outputs(echo('input.String', { value: 'own' }), withTypes(), { params: { x: 'given' } }), {
      out: ['given'],
    })
    assert.deepEqual(await outputs(echo('input.String', { value: 'own' })), { out: ['own'] })
    assert.deepEqual(await outputs(echo('input.String', { value: 'own' }), withTypes(), { params: { x: null } }), {
      out: ['own'],
    })
    assert.deepEqual(await outputs(echo('input.Any', { value: 'own' }), withTypes(), { params: { x: null } }), {
      out: [null],
    })
  })

  test('may be false, 0 and empty texts', async () => {
    assert.deepEqual(await outputs(echo('input.Boolean', { value: false })), { out: [false] })
    assert.deepEqual(await outputs(echo('input.Integer', { value: 0 })), { out: [0] })
    assert.deepEqual(await outputs(echo('input.String', { value: '' })), { out: [''] })
  })

  test('fail with a clear error if they are missing, of another type or out of range', async () => {
    const failing = async (type: string, params: Record<string, unknown>, data = {}) => {
      const outcome = await run(echo(type, data), withTypes(), { params })
      assert.ok(outcome.status === 'failed')
      return outcome.error
    }
    assert.deepEqual(await failing('input.String', {}), {
      node_id: 'in',
      type: 'missing_input',
      message: 'Input "x" needs a value.',
    })
    const mismatch = {
      node_id: 'in',
      type: 'input_mismatch',
      message: 'Input "x": expected an integer (int), got a float.',
    }
    assert.deepEqual(await failing('input.Integer', { x: 1.5 }), mismatch)
    assert.equal((await failing('input.Integer', { x: 11 }, { max: 10 })).message, 'Input "x": must be at most 10.')
    assert.equal((await failing('input.Float', { x: -1 }, { min: 0 })).message, 'Input "x": must be at least 0.')
    assert.equal(
      (await failing('input.Float', { x: Number.POSITIVE_INFINITY })).message,
      'Input "x": expected a float, got Infinity.',
    )
  })

  test('named like members of every object are missing unless they are given', async () => {
    const of = graph([node('in', 'input.Any', { name: 'constructor' }), sink('out')], ['in.output->out.value'])
    const outcome = await run(of)
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'missing_input')
  })
})

describe('streamed inputs', () => {
  test('values that are pushed become the items of a stream', async () => {
    const { execution, observer } = start(streamed())
    assert.equal(execution.pushInput('x', 1), 'ok')
    assert.equal(execution.pushInput('x', 2, 'output'), 'ok')
    await until(() => observer.named('output').length === 2)
    assert.equal(execution.outcome, null)
    assert.equal(execution.pushInput('x', 3), 'ok')
    assert.equal(execution.endInput('x'), 'ok')
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [1, 2, 3], list: [[1, 2, 3]] } })
  })

  test('a list among the params is the whole stream', async () => {
    const { execution } = start(streamed(), withTypes(), { params: { x: ['a', 'b'] } })
    assert.equal(execution.pushInput('x', 'late'), 'not_running')
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['a', 'b'], list: [['a', 'b']] } })
    assert.deepEqual(await outputs(streamed(), withTypes(), { params: { x: [] } }), { out: [], list: [[]] })
  })

  test('a push that is not accepted returns the reason', async () => {
    const of = graph(
      [
        node('a', 'input.Any', { name: 'x', stream: true }),
        node('b', 'input.Any', { name: 'y', value: 1 }),
        sink('out'),
      ],
      ['a.output->out.value'],
    )
    const { execution } = start(of)
    assert.equal(execution.pushInput('z', 1), 'unknown_input')
    assert.equal(execution.pushInput('x', 1, 'elsewhere'), 'unknown_input')
    assert.equal(execution.pushInput('y', 1), 'not_a_stream')
    assert.equal(execution.endInput('y'), 'not_a_stream')
    assert.equal(execution.endInput('x'), 'ok')
    assert.equal(execution.pushInput('x', 1), 'not_running')
    assert.equal(execution.endInput('x'), 'ok', 'ending twice is the same as once')
    assert.equal((await execution.done).status, 'completed')
    assert.equal(execution.pushInput('x', 1), 'not_running')
  })

  test('values wait in the queue of the input while consumers are busy', async () => {
    const gate = new Gate()
    const of = graph(
      [node('in', 'input.Integer', { name: 'x', stream: true }), node('slow', 'test.Gate'), sink('out')],
      ['in.output->slow.value', 'slow.output->out.value'],
    )
    const { execution } = start(of, withTypes(gate.type))
    for (let at = 0; at < 500; at++) assert.equal(execution.pushInput('x', at), 'ok')
    execution.endInput('x')
    while (!execution.outcome) {
      gate.waiting[0]?.open()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [...Array(500).keys()] } })
  })

  test('a pushed value of the wrong type fails the run at its input', async () => {
    const { execution } = start(streamed('input.Integer'))
    execution.pushInput('x', 'text')
    const error = {
      node_id: 'in',
      type: 'input_mismatch',
      message: 'Input "x": expected an integer (int), got a string.',
    }
    assert.deepEqual(await execution.done, { status: 'failed', error })
  })
})

describe('changes of properties', () => {
  test('apply to firings that have not begun', async () => {
    const gate = new Gate()
    const of = graph(
      [
        source('in', [1, 2]),
        node('each', 'control.ForEach'),
        node('slow', 'test.Gate'),
        node('say', 'text.Template', { template: 'old {{v}}' }),
        sink('out'),
      ],
      ['in.output->each.list', 'each.item->slow.value', 'slow.output->say.v', 'say.output->out.value'],
    )
    const started = start(of, withTypes(gate.type))
    const { execution, observer } = started
    await until(() => gate.waiting.length === 2)
    gate.waiting[0]!.open()
    await until(() => observer.named('output').length === 1)
    assert.deepEqual(update(started, 'say', { template: 'new {{v}}' })?.applied, ['template'])
    gate.waiting[0]!.open()
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['old 1', 'new 2'] } })
  })

  test('are ignored for unknown, connected, fixed and mistyped properties', () => {
    const of = graph(
      [node('in', 'input.Any', { name: 'x', stream: true }), node('say', 'text.Concat'), sink('out')],
      ['in.output->say.a', 'say.output->out.value'],
    )
    const started = start(of)
    assert.deepEqual(update(started, 'say', { a: 'x', b: 'y', c: 'z' })?.applied, ['b'])
    assert.deepEqual(update(started, 'say', { b: 5 })?.applied, [])
    assert.deepEqual(update(started, 'out', { name: 'other' })?.applied, [])
    assert.deepEqual(update(started, 'in', { name: 'y', value: 1, stream: false })?.applied, [])
    assert.equal(update(started, 'nobody', { a: 1 }), null)
  })
})

describe('the queue of a streamed input', () => {
  const waiting = () => {
    const gate = new Gate()
    const of = graph(
      [node('in', 'input.Any', { name: 'in', stream: true }), node('slow', 'test.Gate')],
      ['in.output->slow.value'],
    )
    return { gate, ...start(of, withTypes(gate.type), { inboxLimit: 1 }) }
  }

  test('refuses values beyond its number, and accepts values again once some were read', async () => {
    const { execution, gate, abort } = waiting()
    const results = Array.from({ length: 1200 }, (_, at) => execution.pushInput('in', at))
    assert.deepEqual([results[0], results[1023], results[1199]], ['ok', 'ok', 'full'])
    await until(() => gate.waiting.length > 0)
    assert.equal(execution.pushInput('in', 'more'), 'ok')
    abort.abort()
    for (const one of [...gate.waiting]) one.open()
    await execution.done
  })

  test('refuses values beyond its number of characters', async () => {
    const { execution, abort } = waiting()
    const long = 'x'.repeat(10_000_000)
    const results = Array.from({ length: 4 }, () => execution.pushInput('in', long))
    assert.deepEqual(results, ['ok', 'ok', 'ok', 'full'])
    abort.abort()
    await execution.done
  })
})

test('values pushed before the run starts are limited by its host, and none is lost', async () => {
  const of = graph(
    [node('in', 'input.Any', { name: 'in', stream: true }), node('count', 'control.Count'), sink('out')],
    ['in.output->count.item', 'count.count->out.value'],
  )
  const { signal } = new AbortController()
  const execution = createRun(planOf(of), { params: {}, signal, observer: silentObserver })
  const large = Array.from({ length: 2_000_000 }, () => 1)
  const results = [...Array(1200).keys(), large, large, large].map((value) => execution.pushInput('in', value))
  assert.deepEqual(new Set(results), new Set(['ok']))
  execution.endInput('in')
  execution.start()
  assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [1203] } })
})
