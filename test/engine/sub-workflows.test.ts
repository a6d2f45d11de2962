// Laws of workflows that call workflows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import {
  control,
  Gate,
  graph,
  mapType,
  node,
  output,
  outputs,
  planOf,
  run,
  sink,
  source,
  start,
  testType,
  until,
  value,
  withTypes,
} from './kit.ts'

const call = (more = {}) =>
  node('call', 'workflow.Call', { workflow_id: 'inner' }, { dynamic_outputs: { result: null, items: {} }, ...more })

const outer = graph(
  [source('in', 2), call(), sink('result'), sink('items')],
  ['in.output->call.n', 'call.result->result.value', 'call.items->items.value'],
)

const inner = graph(
  [
    node('n', 'input.Integer', { name: 'n' }),
    node('range', 'list.Range'),
    node('each', 'control.ForEach'),
    node('sum', 'math.Formula', { formula: 'n * 10' }),
    sink('items'),
    sink('result'),
  ],
  [
    'n.output->range.stop',
    'range.output->each.list',
    'each.item->items.value',
    'n.output->sum.n',
    'sum.output->result.value',
  ],
)

const loading = (graphs: Record<string, Graph>, registry = withTypes()) => ({
  loadPlan: async (id: string) => {
    const found = graphs[id]
    if (!found) throw new NodeError(`There is no workflow "${id}".`, 'not_found')
    return planOf(found, registry)
  },
})

describe('sub-workflows', () => {
  test('params go in by name, outputs come out by name, a stream as a list', async () => {
    assert.deepEqual(await outputs(outer, withTypes(), loading({ inner })), { result: [20], items: [[0, 1]] })
  })

  test('an output without a value has none outside', async () => {
    const nothing = graph(
      [node('n', 'input.Any', { name: 'n' }), node('if', 'control.If', { condition: false, value: 1 }), sink('result')],
      ['if.if_true->result.value'],
    )
    assert.deepEqual(await outputs(outer, withTypes(), loading({ inner: nothing })), { result: [], items: [] })
  })

  test('each call has its own run, also inside a stream', async () => {
    const of = graph(
      [source('in', [1, 2, 3]), node('each', 'control.ForEach'), call(), sink('out')],
      ['in.output->each.list', 'each.item->call.n', 'call.items->out.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(), loading({ inner })), { out: [[0], [0, 1], [0, 1, 2]] })
  })

  test('a failure inside fails the call, with its node and its message', async () => {
    const broken = graph(
      [node('n', 'input.Any', { name: 'n' }), node('f', 'math.Formula', { formula: 'n / 0' }), sink('result')],
      ['n.output->f.n', 'f.output->result.value'],
    )
    const outcome = await run(outer, withTypes(), loading({ inner: broken }))
    assert.ok(outcome.status === 'failed')
    assert.equal(outcome.error.node_id, 'call')
    assert.match(outcome.error.message, /Workflow "inner" failed at node "f": The result of the formula is Infinity/)
  })

  test('an unknown workflow, an unknown param, a missing param, and a host without workflows fail the call', async () => {
    const message = async (options: Parameters<typeof run>[2], of = outer) => {
      const outcome = await run(of, withTypes(), options)
      assert.ok(outcome.status === 'failed')
      return outcome.error.message
    }
    assert.equal(await message(loading({})), 'There is no workflow "inner".')
    assert.equal(await message({}), 'Workflows can not be called here.')
    const strange = graph([source('in', 2), call()], ['in.output->call.m'])
    assert.equal(await message(loading({ inner }), strange), 'Workflow "inner" has no input "m".')
    const bare = graph([call()], [])
    assert.match(await message(loading({ inner }), bare), /Input "n" needs a value/)
  })

  test('calls go no deeper than the limit', async () => {
    let plans = 0
    const self = graph([call()], [])
    const outcome = await run(self, withTypes(), {
      loadPlan: async () => {
        plans++
        return planOf(self)
      },
    })
    assert.ok(outcome.status === 'failed')
    assert.match(outcome.error.message, /Workflows call each other more than 16 deep/)
    assert.equal(plans, 16)
  })

  test('a run and its sub-workflows share one limit of concurrency, and do not starve each other', async () => {
    const gate = new Gate()
    const registry = withTypes(gate.type)
    const slow = graph(
      [node('n', 'input.Any', { name: 'n' }), node('gate', 'test.Gate'), sink('result')],
      ['n.output->gate.value', 'gate.output->result.value'],
    )
    const of = graph(
      [source('in', [1, 2, 3, 4]), node('each', 'control.ForEach'), call(), sink('out')],
      ['in.output->each.list', 'each.item->call.n', 'call.result->out.value'],
    )
    for (const concurrency of [1, 2]) {
      gate.most = 0
      const { execution } = start(of, registry, { ...loading({ inner: slow }, registry), concurrency })
      while (!execution.outcome) {
        gate.waiting[0]?.open()
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.deepEqual(execution.outcome, { status: 'completed', outputs: { out: [1, 2, 3, 4] } })
      assert.equal(gate.most, concurrency)
    }
  })

  test('a cancel reaches the firings inside', async () => {
    const gate = new Gate()
    const registry = withTypes(gate.type)
    const slow = graph([node('n', 'input.Any', { name: 'n' }), node('gate', 'test.Gate')], ['n.output->gate.value'])
    const { execution, abort } = start(outer, registry, loading({ inner: slow }, registry))
    await until(() => gate.waiting.length === 1)
    const { signal } = gate.waiting[0]!
    abort.abort()
    assert.ok(signal.aborted)
    gate.waiting[0]!.fail(signal.reason)
    assert.deepEqual(await execution.done, { status: 'cancelled' })
  })

  test('logs of nodes inside are reported for the calling node', async () => {
    const talker = testType('test.Talker', {
      properties: [value],
      run(_inputs, context) {
        context.log('warning', 'careful')
        context.chunk('piece')
        context.progress(1, 2)
        return {}
      },
    })
    const registry = withTypes(
      talker,
      mapType('test.Same', (given) => given),
    )
    const talking = graph([node('n', 'input.Any', { name: 'n' }), node('t', 'test.Talker')], ['n.output->t.value'])
    const { execution, observer } = start(outer, registry, loading({ inner: talking }, registry))
    await execution.done
    assert.deepEqual(observer.named('log'), [['log', 'call', 'warning', 't: careful']])
    assert.deepEqual(observer.named('chunk'), [
      ['chunk', 'call', { content: 'piece', content_type: 'text', done: false, thinking: false }],
    ])
    assert.deepEqual(observer.named('progress'), [])
  })

  test('a workflow that calls itself in a loop fails soon, and timers have their turn meanwhile', async () => {
    let plans = 0
    const self = graph(
      [source('in', [...Array(16).keys()]), node('each', 'control.ForEach'), call()],
      ['in.output->each.list', { ...control('each', 'call'), sourceHandle: 'item' }],
    )
    const plan = planOf(self)
    let turns = 0
    const ticking = setInterval(() => turns++, 1)
    const outcome = await run(self, withTypes(), {
      loadPlan: async () => {
        plans++
        assert.ok(plans < 20_000, 'runs are begun without an end')
        return plan
      },
    })
    clearInterval(ticking)
    assert.ok(turns > 0, 'no timer had its turn')
    assert.ok(outcome.status === 'failed')
    assert.match(outcome.error.message, /Workflows call each other more than 16 deep/)
  })

  test('at each depth at most 16 called workflows are alive', async () => {
    const live = new Map<unknown, number>()
    const most = new Map<unknown, number>()
    const change = (level: unknown, by: number) => {
      live.set(level, (live.get(level) ?? 0) + by)
      most.set(level, Math.max(most.get(level) ?? 0, live.get(level)!))
    }
    const leave = mapType('test.Leave', (level) => {
      change(level, -1)
      return level
    })
    // The leaves wait for each other: on a slow machine some would end before the others begin.
    const meet: NodeType = {
      ...mapType('test.Meet', (level) => level),
      run: async ({ value }) => {
        await until(() => (most.get('c') ?? 0) >= 16, 'sixteen leaves')
        return { output: value }
      },
    }
    const registry = withTypes(leave, meet)
    const fan = (next: string) =>
      graph(
        [
          source('in', [...Array(20).keys()]),
          node('each', 'control.ForEach'),
          node('call', 'workflow.Call', { workflow_id: next }, { dynamic_outputs: { out: null } }),
          node('all', 'control.Collect'),
          source('level', next === 'b' ? 'a' : 'b'),
          node('leave', 'test.Leave'),
          sink('out'),
        ],
        [
          'in.output->each.list',
          { ...control('each', 'call'), sourceHandle: 'item' },
          'call.out->all.item',
          control('all', 'leave'),
          'level.output->leave.value',
          'leave.output->out.value',
        ],
      )
    const leaf = graph(
      [source('level', 'c'), node('meet', 'test.Meet'), node('leave', 'test.Leave'), sink('out')],
      ['level.output->meet.value', 'meet.output->leave.value', 'leave.output->out.value'],
    )
    const plans: Record<string, Graph> = { a: fan('b'), b: fan('c'), c: leaf }
    const outcome = await run(fan('b'), registry, {
      loadPlan: async (id) => {
        change(id, 1)
        return planOf(plans[id]!, registry)
      },
    })
    assert.equal(outcome.status, 'completed')
    assert.deepEqual([...most].filter(([level]) => level !== 'a').sort(), [
      ['b', 16],
      ['c', 16],
    ])
    assert.equal(live.get('b'), 0)
    assert.equal(live.get('c'), 0)
  })

  test('a run that fails stops the workflows that it called, and waits for their firings in flight', async () => {
    const gate = new Gate()
    const later: string[] = []
    const registry = withTypes(
      gate.type,
      mapType('test.After', (given) => {
        later.push(String(given))
        return given
      }),
    )
    const slow = graph(
      [node('n', 'input.Any', { name: 'n' }), node('gate', 'test.Gate'), node('after', 'test.After'), sink('result')],
      ['n.output->gate.value', 'gate.output->after.value', 'after.output->result.value'],
    )
    const of = graph(
      [source('in', [...Array(16).keys()]), node('each', 'control.ForEach'), call(), sink('out')],
      ['in.output->each.list', 'each.item->call.n', 'call.result->out.value'],
    )
    const { execution, observer } = start(of, registry, loading({ inner: slow }, registry))
    await until(() => gate.waiting.length === 16)
    gate.waiting[0]!.fail(new NodeError('broken', 'broken'))
    await until(() => observer.statuses('call').includes('error'))
    assert.equal(execution.outcome, null)
    for (const waiting of [...gate.waiting]) waiting.open()
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed')
    assert.match(outcome.error.message, /broken/)
    assert.deepEqual(later, [])
  })

  test('a run that fails while a call has released its permit makes no further call', async () => {
    const gate = new Gate()
    const fails = mapType('test.Fails', () => {
      throw new NodeError('broken', 'broken')
    })
    const calls = testType('test.Calls', {
      outputs: [output],
      run: async (_inputs, context) => {
        await new Promise((resolve) => setImmediate(resolve))
        return { output: await context.callWorkflow('inner', {}) }
      },
    })
    const registry = withTypes(gate.type, calls, fails)
    const inside = graph(
      [source('n', 1), node('gate', 'test.Gate'), sink('result')],
      ['n.output->gate.value', 'gate.output->result.value'],
    )
    const of = graph(
      [source('in', 1), node('calls', 'test.Calls'), node('fails', 'test.Fails'), sink('a'), sink('b')],
      ['in.output->fails.value', 'calls.output->a.value', 'fails.output->b.value'],
    )
    const { execution } = start(of, registry, { ...loading({ inner: inside }, registry), concurrency: 1 })
    await until(() => execution.outcome !== null || gate.started > 0)
    assert.equal(gate.started, 0)
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed')
    assert.equal(outcome.error.message, 'broken')
  })

  test('a loop over calls of synchronous workflows gives the event loop its turns, and hears of a cancel', async () => {
    const busy = mapType('test.Busy', (given) => {
      const end = performance.now() + 1
      while (performance.now() < end);
      return given
    })
    const registry = withTypes(busy)
    const inside = graph(
      [node('n', 'input.Any', { name: 'n' }), node('busy', 'test.Busy'), sink('result')],
      ['n.output->busy.value', 'busy.output->result.value'],
    )
    const of = graph(
      [source('in', [...Array(5000).keys()]), node('each', 'control.ForEach'), call(), sink('out')],
      ['in.output->each.list', 'each.item->call.n', 'call.result->out.value'],
    )
    const { execution, abort } = start(of, registry, loading({ inner: inside }, registry))
    let turns = 0
    const began = process.threadCpuUsage()
    // Processor time of this thread: other work of the machine does not count.
    while (process.threadCpuUsage(began).user < 100_000) {
      await new Promise((resolve) => setImmediate(resolve))
      turns++
    }
    assert.equal(execution.outcome, null)
    abort.abort()
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.ok(turns >= 5, `${turns} turns of the event loop`)
  })
})
