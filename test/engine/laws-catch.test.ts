// The laws of Catch: which failures it receives, and how they travel.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { caught, error, list, told, types } from './catching.ts'
import { control, graph, node, outputs, run, sink, start } from './kit.ts'

describe('law 27: which failures are held', () => {
  const bad: Graph = graph(
    [node('odd', 'test.Odd', { value: 1 }), node('same', 'test.Same'), ...caught],
    ['odd.output->same.value', 'same.output->caught.value', ...told],
  )

  test('law 27: the failure of a node from which an edge leads to a Catch, over any nodes', async () => {
    assert.deepEqual(await outputs(bad, types), { out: [], failed: [error('odd', 'test.Odd', '1 is odd')] })
  })

  test('law 27: the failure of a node beside it fails the run', async () => {
    const of = graph([...bad.nodes, node('alone', 'test.Odd', { value: 3 })], bad.edges)
    const outcome = await run(of, types)
    assert.ok(outcome.status === 'failed' && outcome.error.node_id === 'alone')
  })

  test('law 27: a Catch does not receive failures of nodes behind it', async () => {
    const of = graph(
      [
        list('each', [2]),
        node('caught', 'control.Catch'),
        node('plus', 'math.Formula', { formula: 'x + 1' }),
        node('after', 'test.Odd'),
      ],
      ['each.item->caught.value', 'caught.value->plus.x', 'plus.output->after.value'],
    )
    const outcome = await run(of, types)
    assert.ok(outcome.status === 'failed' && outcome.error.node_id === 'after')
  })
})

describe('law 28: how a held failure travels', () => {
  test('law 28: nodes between do not fire and pass it on', async () => {
    const of = graph(
      [node('odd', 'test.Odd', { value: 1 }), node('same', 'test.Same'), ...caught],
      ['odd.output->same.value', 'same.output->caught.value', ...told],
    )
    const { execution, observer } = start(of, types)
    assert.equal((await execution.done).status, 'completed')
    assert.deepEqual(observer.statuses('same'), ['skipped'])
  })

  test('law 28: the first in the order of the connected inputs is passed on', async () => {
    const of = graph(
      [node('x', 'test.Odd', { value: 1 }), node('y', 'test.Odd', { value: 3 }), node('pair', 'test.Pair'), ...caught],
      ['x.output->pair.a', 'y.output->pair.b', 'pair.output->caught.value', ...told],
    )
    const { failed } = await outputs(of, types)
    assert.deepEqual(failed, [error('x', 'test.Odd', '1 is odd')])
  })

  test('law 28: along every other edge travels nothing', async () => {
    const of = graph(
      [node('odd', 'test.Odd', { value: 1 }), node('same', 'test.Same'), sink('plain'), ...caught],
      ['odd.output->caught.value', 'odd.output->same.value', 'same.output->plain.value', ...told],
    )
    const { execution, observer } = start(of, types)
    const outcome = await execution.done
    assert.ok(outcome.status === 'completed')
    assert.deepEqual([outcome.outputs.plain, outcome.outputs.failed!.length], [[], 1])
    assert.deepEqual(observer.statuses('same'), ['skipped'])
  })

  test('law 28: a failure travels along control edges as well', async () => {
    const of = graph(
      [node('odd', 'test.Odd', { value: 1 }), node('same', 'test.Same', { value: 0 }), ...caught],
      [control('odd', 'same'), 'same.output->caught.value', ...told],
    )
    assert.deepEqual(await outputs(of, types), { out: [], failed: [error('odd', 'test.Odd', '1 is odd')] })
  })

  test('law 28: an aggregate that receives a failure ends with it', async () => {
    const of = graph(
      [list('each', [2, 3, 4, 5]), node('odd', 'test.Odd'), node('all', 'control.Collect'), ...caught],
      ['each.item->odd.value', 'odd.output->all.item', 'all.list->caught.value', ...told],
    )
    assert.deepEqual(await outputs(of, types), { out: [], failed: [error('odd', 'test.Odd', '3 is odd (at index 1)')] })
  })

  test('law 28: a stream operator that receives a failure ends with it, after the items before it', async () => {
    const of = graph(
      [
        list('each', [2, 4, 5, 6]),
        node('odd', 'test.Odd'),
        list('other', ['a', 'b', 'c', 'd']),
        node('zip', 'control.Zip'),
        ...caught,
      ],
      ['each.item->odd.value', 'odd.output->zip.a', 'other.item->zip.b', 'zip.pair->caught.value', ...told],
    )
    const out = [
      [2, 'a'],
      [4, 'b'],
    ]
    assert.deepEqual(await outputs(of, types), { out, failed: [error('odd', 'test.Odd', '5 is odd (at index 2)')] })
  })

  test('law 28: a failure that a stream operator did not read has no effect', async () => {
    const of = graph(
      [list('each', [2, 4, 5, 6]), node('odd', 'test.Odd'), node('take', 'control.Take', { count: 2 }), ...caught],
      ['each.item->odd.value', 'odd.output->take.item', 'take.item->caught.value', ...told],
    )
    assert.deepEqual(await outputs(of, types), { out: [2, 4], failed: [] })
  })

  test('law 28: a failure goes before a stream that was skipped', async () => {
    const of = graph(
      [
        node('if', 'control.If', { condition: false, value: [1] }),
        node('none', 'control.ForEach'),
        node('odd', 'test.Odd', { value: 1 }),
        node('take', 'control.Take'),
        ...caught,
      ],
      ['if.if_true->none.list', 'none.item->take.item', 'odd.output->take.count', 'take.count->caught.value', ...told],
    )
    const { failed } = await outputs(of, types)
    assert.deepEqual(failed, [error('odd', 'test.Odd', '1 is odd')])
  })

  test('law 28: a failure in a round ends its loop with it', async () => {
    const of = graph(
      [
        node('loop', 'control.Loop', { initial: 0, times: 9 }),
        node('odd', 'test.Odd'),
        node('plus', 'math.Formula', { formula: 'x + 1' }),
        ...caught,
        sink('values'),
      ],
      [
        'loop.value->odd.value',
        'odd.output->plus.x',
        'plus.output->loop.next',
        'loop.result->caught.value',
        'loop.value->values.value',
        ...told,
      ],
    )
    const given = await outputs(of, types)
    assert.deepEqual(given, { out: [], failed: [error('odd', 'test.Odd', '1 is odd (at index 1)')], values: [0, 1] })
  })
})
