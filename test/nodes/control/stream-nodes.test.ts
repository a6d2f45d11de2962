// control.*: joining, cutting and reducing streams.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Graph, graph, node, outputs, run, sink, source, start } from '../streams.ts'

/** A graph that feeds the streams of the given lists into one node, and gathers its outputs. */
function operatorGraph(
  type: string,
  lists: Record<string, unknown[]>,
  data: Record<string, unknown>,
  handles: string[],
): Graph {
  const names = Object.keys(lists)
  return graph(
    [
      ...names.flatMap((name) => [source(`list_${name}`, lists[name]), node(`each_${name}`, 'control.ForEach')]),
      node('woven', type, data),
      ...handles.map((handle) => sink(handle)),
    ],
    [
      ...names.flatMap((name) => [`list_${name}.output->each_${name}.list`, `each_${name}.item->woven.${name}`]),
      ...handles.map((handle) => `woven.${handle}->${handle}.value`),
    ],
  )
}

describe('control.Zip', () => {
  const lists = { a: [1, 2, 3], b: ['x', 'y'] }

  test('joins item by item, up to the end of the shorter stream', async () => {
    assert.deepEqual(await outputs(operatorGraph('control.Zip', lists, {}, ['a', 'b', 'pair', 'index', 'count'])), {
      a: [1, 2],
      b: ['x', 'y'],
      pair: [
        [1, 'x'],
        [2, 'y'],
      ],
      index: [0, 1],
      count: [2],
    })
  })

  test('joins up to the end of the longer stream if that is set, without values of the ended one', async () => {
    const longest = await outputs(
      operatorGraph('control.Zip', lists, { length: 'longest' }, ['a', 'b', 'pair', 'count']),
    )
    assert.deepEqual(longest, {
      a: [1, 2, 3],
      b: ['x', 'y'],
      pair: [
        [1, 'x'],
        [2, 'y'],
        [3, null],
      ],
      count: [3],
    })
  })

  test('of empty streams is an empty stream', async () => {
    assert.deepEqual(await outputs(operatorGraph('control.Zip', { a: [], b: [1] }, {}, ['a', 'count'])), {
      a: [],
      count: [0],
    })
  })

  test('needs both streams', async () => {
    await assert.rejects(run(operatorGraph('control.Zip', { a: [1] }, {}, ['a'])), /missing_property.*"b"/s)
  })
})

describe('control.Cross', () => {
  test('joins each with each', async () => {
    const crossed = await outputs(
      operatorGraph('control.Cross', { a: [1, 2], b: ['x', 'y', 'z'] }, {}, ['a', 'b', 'count']),
    )
    assert.deepEqual(crossed, { a: [1, 1, 1, 2, 2, 2], b: ['x', 'y', 'z', 'x', 'y', 'z'], count: [6] })
  })

  test('with an empty stream is empty', async () => {
    assert.deepEqual(await outputs(operatorGraph('control.Cross', { a: [1, 2], b: [] }, {}, ['a', 'count'])), {
      a: [],
      count: [0],
    })
  })

  test('of one stream with itself', async () => {
    const of = graph(
      [
        source(
          'in',
          Array.from({ length: 200 }, (_, at) => at),
        ),
        node('each', 'control.ForEach'),
        node('woven', 'control.Cross'),
        sink('count'),
      ],
      ['in.output->each.list', 'each.item->woven.a', 'each.index->woven.b', 'woven.count->count.value'],
    )
    assert.deepEqual(await outputs(of), { count: [40_000] })
  })

  test('takes no single values', async () => {
    const of = graph([source('in', 1), node('woven', 'control.Cross')], ['in.output->woven.a', 'in.output->woven.b'])
    await assert.rejects(run(of), /incomparable_scopes.*takes a whole stream/s)
  })
})

describe('control.Take', () => {
  test('gives some items after skipping some', async () => {
    const taken = operatorGraph('control.Take', { item: [1, 2, 3, 4, 5] }, { count: 2, skip: 1 }, [
      'item',
      'index',
      'count',
    ])
    assert.deepEqual(await outputs(taken), { item: [2, 3], index: [0, 1], count: [2] })
  })

  test('of a shorter stream gives all of it', async () => {
    assert.deepEqual(await outputs(operatorGraph('control.Take', { item: [1] }, { count: 9 }, ['item', 'count'])), {
      item: [1],
      count: [1],
    })
    assert.deepEqual(
      await outputs(operatorGraph('control.Take', { item: [1] }, { count: 9, skip: 4 }, ['item', 'count'])),
      {
        item: [],
        count: [0],
      },
    )
  })

  test('ends an endless stream, and the nodes in between', async () => {
    const of = graph(
      [
        node('numbers', 'control.Numbers', { from: 1 }),
        node('square', 'math.Formula', { formula: 'x * x' }),
        node('woven', 'control.Take', { count: 3 }),
        sink('out'),
      ],
      ['numbers.item->square.x', 'square.output->woven.item', 'woven.item->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: [1, 4, 9] })
  })

  test('takes none of an endless stream', async () => {
    const of = graph(
      [node('numbers', 'control.Numbers'), node('woven', 'control.Take', { count: 0 }), sink('out')],
      ['numbers.item->woven.item', 'woven.count->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: [0] })
  })

  test('refuses a negative count', async () => {
    await assert.rejects(
      run(operatorGraph('control.Take', { item: [1] }, { count: -1 }, ['item'])),
      /out_of_range.*count/s,
    )
  })
})

describe('control.Chain', () => {
  test('gives one stream after the other', async () => {
    const chained = await outputs(operatorGraph('control.Chain', { a: [1, 2], b: [3] }, {}, ['item', 'index', 'count']))
    assert.deepEqual(chained, { item: [1, 2, 3], index: [0, 1, 2], count: [3] })
    assert.deepEqual(await outputs(operatorGraph('control.Chain', { a: [], b: [] }, {}, ['item'])), { item: [] })
  })

  test('of streams longer than an inbox', async () => {
    const long = Array.from({ length: 1000 }, (_, at) => at)
    const { count } = await outputs(operatorGraph('control.Chain', { a: long, b: long }, {}, ['count']))
    assert.deepEqual(count, [2000])
  })
})

describe('control.Batch', () => {
  test('gathers lists of a length, the last one shorter', async () => {
    const batched = await outputs(
      operatorGraph('control.Batch', { item: [1, 2, 3, 4, 5] }, { size: 2 }, ['list', 'count']),
    )
    assert.deepEqual(batched, { list: [[1, 2], [3, 4], [5]], count: [3] })
    assert.deepEqual(await outputs(operatorGraph('control.Batch', { item: [] }, {}, ['list', 'count'])), {
      list: [],
      count: [0],
    })
  })

  test('refuses a length of 0', async () => {
    await assert.rejects(
      run(operatorGraph('control.Batch', { item: [1] }, { size: 0 }, ['list'])),
      /out_of_range.*size/s,
    )
  })
})

describe('control.Reduce, control.Count and control.Last', () => {
  const reduced = (list: unknown[], data = {}) =>
    outputs(operatorGraph('control.Reduce', { item: list }, data, ['result']))

  test('make one value of a stream', async () => {
    assert.deepEqual(await reduced([1, 2, 3]), { result: [6] })
    assert.deepEqual(await reduced([2, 3], { formula: 'total * item + index', initial: 1 }), { result: [7] })
    assert.deepEqual(await outputs(operatorGraph('control.Count', { item: ['a', 'b'] }, {}, ['count'])), { count: [2] })
    assert.deepEqual(await outputs(operatorGraph('control.Last', { item: ['a', 'b'] }, {}, ['item'])), { item: ['b'] })
  })

  test('of an empty stream', async () => {
    assert.deepEqual(await reduced([], { initial: 4 }), { result: [4] })
    assert.deepEqual(await outputs(operatorGraph('control.Count', { item: [] }, {}, ['count'])), { count: [0] })
    assert.deepEqual(await outputs(operatorGraph('control.Last', { item: [] }, {}, ['item'])), { item: [] })
  })

  test('a bad formula and a total beyond all numbers fail', async () => {
    const bad = operatorGraph('control.Reduce', { item: [1] }, { formula: 'total +' }, ['result'])
    await assert.rejects(async () => run(bad), /invalid_expression/)
    const beyond = await run(operatorGraph('control.Reduce', { item: [1e308, 1e308] }, {}, ['result']))
    assert.match(JSON.stringify(beyond), /not_finite/)
  })
})

test('control.Numbers counts up, down and in steps', async () => {
  const counted = async (data: Record<string, unknown>) => {
    const of = graph([node('numbers', 'control.Numbers', data), sink('out')], ['numbers.item->out.value'])
    return (await outputs(of)).out
  }
  assert.deepEqual(await counted({ from: 1, to: 3 }), [1, 2, 3])
  assert.deepEqual(await counted({ from: 1, to: 0, step: -0.5 }), [1, 0.5, 0])
  assert.deepEqual(await counted({ from: 1, to: 0 }), [])
  const stands = await run(graph([node('numbers', 'control.Numbers', { step: 0 })], []))
  assert.match(JSON.stringify(stands), /must not be 0/)
})

test('an endless stream ends with a cancel', async () => {
  const of = graph([node('numbers', 'control.Numbers'), sink('out')], ['numbers.item->out.value'])
  const { execution, abort } = start(of)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(execution.outcome, null)
  abort.abort()
  assert.deepEqual(await execution.done, { status: 'cancelled' })
})
