// Laws of bounds: inboxes, firings in flight, time slices, and the leftovers of runs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ANY_TYPE, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { silentObserver } from '../../src/engine/runtime/run/observer.ts'
import { countListeners } from '../helpers/listeners.ts'
import { takesLess } from '../helpers/patience.ts'
import { atRealSize } from '../helpers/scale.ts'
import {
  Counter,
  edge,
  Gate,
  graph,
  HandClock,
  item,
  mapType,
  node,
  output,
  outputs,
  planOf,
  sink,
  someTurns,
  source,
  start,
  testType,
  until,
  value,
  withTypes,
} from './kit.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('the start of a run', () => {
  test('very many nodes without inputs begin in slices', { skip: atRealSize }, async () => {
    const plan = planOf(
      graph(
        Array.from({ length: 300_000 }, (_, at) => source(`n${at}`, at)),
        [],
      ),
    )
    const controller = new AbortController()
    const options = { params: {}, signal: controller.signal, observer: silentObserver }
    await takesLess(100, () => executePlan(plan, options))
    const { done } = executePlan(plan, options)
    assert.equal((await done).status, 'completed')
    controller.abort()
  })
})

describe('inboxes', () => {
  test('a fast producer waits for a slow consumer', async () => {
    const counter = new Counter()
    const gate = new Gate()
    const of = graph(
      [node('count', 'test.Counter', { count: 1000 }), node('slow', 'test.Gate'), sink('out')],
      ['count.item->slow.value', 'slow.output->out.value'],
    )
    const { execution } = start(of, withTypes(counter.type, gate.type))
    let opened = 0
    let most = 0
    while (!execution.outcome) {
      await until(() => gate.waiting.length > 0 || execution.outcome !== null)
      most = Math.max(most, counter.given - opened)
      if (gate.waiting.length > 0) {
        gate.waiting[0]!.open()
        opened++
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(execution.outcome.status, 'completed')
    assert.equal(counter.given, 1000)
    // At most 16 in flight, 64 in the buffer of the consumer, 64 in its inbox, and one being sent.
    assert.ok(most <= 16 + 64 + 1, `${most} items were under way`)
  })

  test('a slow consumer holds up all nodes before it', async () => {
    const counter = new Counter()
    const gate = new Gate()
    const steps = Array.from({ length: 5 }, (_, at) => node(`s${at}`, 'test.Same'))
    const of = graph(
      [node('count', 'test.Counter', { count: 10_000 }), ...steps, node('slow', 'test.Gate')],
      [
        'count.item->s0.value',
        ...steps.slice(1).map((_, at) => edge(`s${at}.output->s${at + 1}.value`)),
        's4.output->slow.value',
      ],
    )
    const { abort, execution } = start(
      of,
      withTypes(
        counter.type,
        gate.type,
        mapType('test.Same', (given) => given),
      ),
    )
    await until(() => gate.waiting.length === 16)
    assert.ok(counter.given <= 6 * 64 + 16 + 1, `${counter.given} items were given`)
    abort.abort()
    for (const one of [...gate.waiting]) one.open()
    await execution.done
    assert.ok(counter.ended)
  })

  test('an asynchronous producer is not asked for more items than there is room for', async () => {
    let given = 0
    const producer = testType('test.Producer', {
      outputs: [item],
      async *run() {
        for (; given < 5000; given++) yield { item: given }
      },
    })
    const gate = new Gate()
    const of = graph([node('p', 'test.Producer'), node('slow', 'test.Gate')], ['p.item->slow.value'])
    const { abort, execution } = start(of, withTypes(producer, gate.type))
    await until(() => gate.waiting.length === 16)
    await someTurns()
    assert.ok(given <= 64 + 64 + 16 + 1, `${given} items were given`)
    abort.abort()
    for (const one of [...gate.waiting]) one.open()
    await execution.done
  })

  test('a graph that blocks itself enlarges an inbox', async () => {
    const counter = new Counter()
    const of = graph(
      [
        node('count', 'test.Counter', { count: 1000 }),
        node('all', 'control.Collect'),
        node('length', 'list.Length'),
        node('pair', 'text.Template', { template: '{{a}}/{{b}}' }),
        sink('out'),
      ],
      [
        'count.item->all.item',
        'all.list->length.list',
        'count.item->pair.a',
        'length.output->pair.b',
        'pair.output->out.value',
      ],
    )
    const { out } = await outputs(of, withTypes(counter.type))
    assert.equal(out!.length, 1000)
    assert.equal(out!.at(-1), '999/1000')
  })

  test('a graph that blocks itself enlarges an inbox also while unrelated work is in flight', async () => {
    const gate = new Gate()
    const counter = new Counter()
    const of = graph(
      [
        source('in', 1),
        node('other', 'test.Gate'),
        node('count', 'test.Counter', { count: 500 }),
        node('all', 'control.Collect'),
        node('pair', 'test.Pair'),
        sink('out'),
      ],
      [
        'in.output->other.value',
        'count.item->all.item',
        'count.item->pair.value',
        'all.list->pair.all',
        'pair.output->out.value',
      ],
    )
    const pair = testType('test.Pair', {
      properties: [value, { name: 'all', type: ANY_TYPE, required: true }],
      outputs: [output],
      run: ({ value: given }) => ({ output: given }),
    })
    const { execution, observer } = start(of, withTypes(gate.type, counter.type, pair))
    await until(() => observer.named('outputDone').length === 1)
    assert.equal(observer.named('output').length, 500)
    assert.equal(execution.outcome, null)
    gate.waiting[0]!.open()
    assert.equal((await execution.done).status, 'completed')
  })
})

describe('firings in flight', () => {
  test('of one node are at most 16', async () => {
    const gate = new Gate()
    const of = graph(
      [source('in', [...Array(100).keys()]), node('each', 'control.ForEach'), node('slow', 'test.Gate'), sink('out')],
      ['in.output->each.list', 'each.item->slow.value', 'slow.output->out.value'],
    )
    const { execution } = start(of, withTypes(gate.type))
    await until(() => gate.waiting.length === 16)
    while (!execution.outcome) {
      gate.waiting.at(-1)?.open()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(gate.most, 16)
    assert.deepEqual(execution.outcome, { status: 'completed', outputs: { out: [...Array(100).keys()] } })
  })

  test('of one run stay within its concurrency limit', async () => {
    const gate = new Gate()
    const slow = Array.from({ length: 40 }, (_, at) => node(`slow${at}`, 'test.Gate'))
    const of = graph(
      [source('in', 1), ...slow],
      slow.map((one) => edge(`in.output->${one.id}.value`)),
    )
    const { execution } = start(of, withTypes(gate.type), { concurrency: 5 })
    while (!execution.outcome) {
      gate.waiting[0]?.open()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(gate.most, 5)
    assert.equal(gate.started, 40)
  })

  test('that call a workflow after a large input was checked in steps do not end the run early', async () => {
    const large = mapType('test.Large', () => Array.from({ length: 20_000 }, () => [1]))
    const slow = testType('test.Slow', {
      properties: [value],
      outputs: [output],
      run: async (inputs) => ({ output: inputs.value }),
    })
    const calling = testType('test.Calling', {
      properties: [value, { name: 'with', type: parseType('list[list[int]]'), required: true }],
      outputs: [output],
      run: (_inputs, context) => context.callWorkflow('inner', {}),
    })
    const of = graph(
      [
        source('in', 1),
        node('large', 'test.Large'),
        node('one', 'test.Slow'),
        node('two', 'test.Slow'),
        node('call', 'test.Calling'),
        sink('out'),
      ],
      [
        'in.output->large.value',
        'in.output->one.value',
        'in.output->two.value',
        'two.output->call.value',
        'large.output->call.with',
        'call.output->out.value',
      ],
    )
    const inner = planOf(graph([source('in', 2), sink('output')], ['in.output->output.value']))
    const options = { concurrency: 1, loadPlan: async () => inner }
    assert.deepEqual(await outputs(of, withTypes(large, slow, calling), options), { out: [2] })
  })

  test('that are synchronous continue while no permit is free', async () => {
    const gate = new Gate()
    const of = graph(
      [
        source('a', 1),
        node('slow', 'test.Gate'),
        source('in', [1, 2, 3]),
        node('each', 'control.ForEach'),
        sink('out'),
      ],
      ['a.output->slow.value', 'in.output->each.list', 'each.item->out.value'],
    )
    const { execution, observer } = start(of, withTypes(gate.type), { concurrency: 1 })
    await until(() => observer.named('output').length === 3)
    gate.waiting[0]!.open()
    assert.equal((await execution.done).status, 'completed')
  })
})

describe('turns', () => {
  test('a small synchronous graph is over when execute returns', async () => {
    const outcome = () => start(graph([source('in', 'x'), sink('out')], ['in.output->out.value'])).execution.outcome
    // On a busy machine the slice may pass meanwhile.
    let found = outcome()
    for (let tries = 20; found === null && tries > 0; tries--) {
      await new Promise((resolve) => setImmediate(resolve))
      found = outcome()
    }
    assert.deepEqual(found, { status: 'completed', outputs: { out: ['x'] } })
  })

  test('long synchronous work lets timers and sockets in between', async () => {
    let turns = 0
    let going = true
    const tick = () => {
      turns++
      if (going) setImmediate(tick)
    }
    setImmediate(tick)
    const busy = mapType('test.Busy', (given) => {
      const end = performance.now() + 1
      while (performance.now() < end);
      return given
    })
    const of = graph(
      [source('in', [...Array(60).keys()]), node('each', 'control.ForEach'), node('busy', 'test.Busy'), sink('out')],
      ['in.output->each.list', 'each.item->busy.value', 'busy.output->out.value'],
    )
    const { out } = await outputs(of, withTypes(busy))
    going = false
    assert.equal(out!.length, 60)
    assert.ok(turns >= 1, `${turns} turns of the event loop`)
  })

  test('firings that resolve in microtasks give the event loop its turns as well', async () => {
    const soon = testType('test.Soon', {
      properties: [value],
      outputs: [output],
      run: async ({ value: given }) => {
        const end = performance.now() + 1
        while (performance.now() < end);
        return { output: given }
      },
    })
    const of = graph(
      [source('in', [...Array(2000).keys()]), node('each', 'control.ForEach'), node('soon', 'test.Soon'), sink('out')],
      ['in.output->each.list', 'each.item->soon.value', 'soon.output->out.value'],
    )
    const { execution, abort } = start(of, withTypes(soon))
    await someTurns(5)
    assert.equal(execution.outcome, null)
    abort.abort()
    assert.deepEqual(await execution.done, { status: 'cancelled' })
  })
})

describe('leftovers', () => {
  test('runs leave no listener, no timer and no growing memory', async () => {
    const clock = new HandClock()
    const abort = new AbortController()
    const { signal } = abort
    const listeners = countListeners(signal)
    const later = testType('test.Later', {
      properties: [value],
      outputs: [output],
      run: async ({ value: given }) => ({ output: given }),
    })
    const of = graph(
      [source('in', [1, 2]), node('each', 'control.ForEach'), node('later', 'test.Later'), sink('out')],
      ['in.output->each.list', 'each.item->later.value', 'later.output->out.value'],
    )
    const plan = planOf(of, withTypes(later))
    const one = () => executePlan(plan, { params: {}, signal, observer: silentObserver, clock }).done
    for (let runs = 0; runs < 1000; runs++) await one()
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let runs = 0; runs < 9000; runs++) await one()
    collectGarbage()
    const grown = process.memoryUsage().heapUsed - before
    assert.equal(listeners(), 0)
    assert.equal(clock.sleepers.size, 0)
    assert.ok(grown < 5e6, `the heap grew by ${Math.round(grown / 1e6)} MB`)
  })

  test('a plan serves many concurrent runs that do not affect each other', async () => {
    const gate = new Gate()
    const of = graph(
      [node('in', 'input.Integer', { name: 'n' }), node('slow', 'test.Gate'), sink('out')],
      ['in.output->slow.value', 'slow.output->out.value'],
    )
    const plan = planOf(of, withTypes(gate.type))
    const signal = new AbortController().signal
    const runs = [1, 2, 3].map((n) => executePlan(plan, { params: { n }, signal, observer: silentObserver }))
    await until(() => gate.waiting.length === 3)
    for (const waiting of [...gate.waiting].reverse()) waiting.open()
    assert.deepEqual(
      await Promise.all(runs.map((one) => one.done)),
      [1, 2, 3].map((n) => ({ status: 'completed', outputs: { out: [n] } })),
    )
  })

  test('the total memory of a stream is known while its items still wait', async () => {
    const counter = new Counter()
    const of = graph(
      [node('count', 'test.Counter', { count: 300 }), node('share', 'test.Share'), sink('out')],
      ['count.item->share.value', 'count.total->share.total', 'share.output->out.value'],
    )
    const share = testType('test.Share', {
      properties: [value, { name: 'total', type: parseType('int'), required: true }],
      outputs: [output],
      run: ({ value: given, total }) => ({ output: `${given}/${total}` }),
    })
    const { out } = await outputs(of, withTypes(counter.type, share))
    assert.deepEqual([out!.length, out![0]], [300, '0/300'])
  })
})
