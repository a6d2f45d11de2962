// Laws of paths, scopes and aggregates.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ANY_TYPE, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import {
  Counter,
  edge,
  graph,
  item,
  mapType,
  node,
  output,
  outputs,
  sink,
  source,
  testType,
  value,
  withTypes,
} from './kit.ts'

const each = (id: string) => node(id, 'control.ForEach')
const collect = (id: string) => node(id, 'control.Collect')

describe('streams', () => {
  test('what follows an opener fires once per item, in order', async () => {
    const of = graph(
      [source('in', ['a', 'b', 'c']), each('each'), node('up', 'text.Case', { to: 'upper' }), sink('out'), sink('at')],
      ['in.output->each.list', 'each.item->up.text', 'up.output->out.value', 'each.index->at.value'],
    )
    assert.deepEqual(await outputs(of), { out: ['A', 'B', 'C'], at: [0, 1, 2] })
  })

  test('order inside a stream holds although later firings finish first', async () => {
    const waiting: (() => void)[] = []
    const backwards = testType('test.Backwards', {
      properties: [value],
      outputs: [output],
      run: ({ value: given }) =>
        new Promise((resolve) => {
          waiting.push(() => resolve({ output: given }))
          if (waiting.length === 5) for (const open of waiting.reverse()) open()
        }),
    })
    const of = graph(
      [source('in', [0, 1, 2, 3, 4]), each('each'), node('slow', 'test.Backwards'), sink('out')],
      ['in.output->each.list', 'each.item->slow.value', 'slow.output->out.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(backwards)), { out: [0, 1, 2, 3, 4] })
  })

  test('neither a firing that answers at once nor one that is skipped overtakes an earlier one', async () => {
    const moody = testType('test.Moody', {
      properties: [value],
      outputs: [output],
      run({ value: given }) {
        if (given === 1) return { output: given }
        return new Promise((resolve) => setImmediate(() => resolve({ output: given })))
      },
    })
    const pair = testType('test.Pair', {
      properties: [
        { name: 'a', type: ANY_TYPE, default: 'nothing' },
        { name: 'b', type: ANY_TYPE },
      ],
      outputs: [output],
      run: ({ a, b }) => ({ output: `${b}:${a}` }),
    })
    const of = graph(
      [
        source('in', [0, 1, 2, 3]),
        each('each'),
        node('not_two', 'math.Formula', { formula: 'n != 2' }),
        node('if', 'control.If'),
        node('moody', 'test.Moody'),
        node('pair', 'test.Pair'),
        sink('out'),
      ],
      [
        'in.output->each.list',
        'each.item->not_two.n',
        'not_two.output->if.condition',
        'each.item->if.value',
        'if.if_true->moody.value',
        'moody.output->pair.a',
        'each.index->pair.b',
        'pair.output->out.value',
      ],
    )
    assert.deepEqual(await outputs(of, withTypes(moody, pair)), { out: ['0:0', '1:1', '2:nothing', '3:3'] })
  })

  test('a shorter path is repeated for a longer one', async () => {
    const of = graph(
      [
        source('in', [1, 2]),
        source('once', 10),
        each('each'),
        node('sum', 'math.Formula', { formula: 'a + b' }),
        sink('out'),
      ],
      ['in.output->each.list', 'each.item->sum.a', 'once.output->sum.b', 'sum.output->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: [11, 12] })
  })

  test('streams nest: the inner value repeats no longer than its own item', async () => {
    const of = graph(
      [
        source('in', [['a', 'b'], [], ['c']]),
        each('outer'),
        each('inner'),
        node('pair', 'text.Template', { template: '{{at}}{{it}}' }),
        collect('row'),
        collect('all'),
        sink('flat'),
        sink('rows'),
      ],
      [
        'in.output->outer.list',
        'outer.item->inner.list',
        'inner.item->pair.it',
        'outer.index->pair.at',
        'pair.output->flat.value',
        'pair.output->row.item',
        'row.list->all.item',
        'all.list->rows.value',
      ],
    )
    assert.deepEqual(await outputs(of), { flat: ['0a', '0b', '2c'], rows: [[['0a', '0b'], [], ['2c']]] })
  })

  test('two handles of one opener share its scope and meet item by item', async () => {
    const of = graph(
      [source('in', ['x', 'y']), each('each'), node('pair', 'text.Template', { template: '{{i}}:{{v}}' }), sink('out')],
      ['in.output->each.list', 'each.item->pair.v', 'each.index->pair.i', 'pair.output->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: ['0:x', '1:y'] })
  })

  test('a generator yields its streams and returns its single outputs', async () => {
    const counter = new Counter()
    const of = graph(
      [node('count', 'test.Counter', { count: 3 }), sink('items'), sink('total')],
      ['count.item->items.value', 'count.total->total.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(counter.type)), { items: [0, 1, 2], total: [3] })
  })

  test('an asynchronous generator inside a stream keeps the order of all items', async () => {
    const spread = testType('test.Spread', {
      properties: [value],
      outputs: [item],
      async *run({ value: given }) {
        for (let at = 0; at < 3; at++) {
          if (given === 0) await new Promise((resolve) => setImmediate(resolve))
          yield { item: `${given}.${at}` }
        }
      },
    })
    const of = graph(
      [source('in', [0, 1]), each('each'), node('spread', 'test.Spread'), sink('out')],
      ['in.output->each.list', 'each.item->spread.value', 'spread.item->out.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(spread)), { out: ['0.0', '0.1', '0.2', '1.0', '1.1', '1.2'] })
  })

  test('an item that names only some of the streams gives nothing on the others', async () => {
    const two = testType('test.Two', {
      outputs: [
        { name: 'a', type: ANY_TYPE, stream: true },
        { name: 'b', type: ANY_TYPE, stream: true },
      ],
      *run() {
        yield { a: 1 }
        yield { b: 2 }
        yield { a: 3, b: 4 }
      },
    })
    const pair = testType('test.Pair', {
      properties: [
        { name: 'a', type: ANY_TYPE, default: '-' },
        { name: 'b', type: ANY_TYPE, default: '-' },
      ],
      outputs: [output],
      run: ({ a, b }) => ({ output: [a, b] }),
    })
    const of = graph(
      [node('two', 'test.Two'), node('pair', 'test.Pair'), sink('out')],
      ['two.a->pair.a', 'two.b->pair.b', 'pair.output->out.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(two, pair)), {
      out: [
        [1, '-'],
        ['-', 2],
        [3, 4],
      ],
    })
  })
})

describe('aggregates', () => {
  test('an empty stream collects to an empty list, and what follows fires', async () => {
    const of = graph(
      [source('in', []), each('each'), collect('all'), node('count', 'list.Length'), sink('out')],
      ['in.output->each.list', 'each.item->all.item', 'all.list->count.list', 'count.output->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: [0] })
  })

  test('items without a value are skipped', async () => {
    const of = graph(
      [
        source('in', [1, 2, 3, 4]),
        each('each'),
        node('even', 'math.Formula', { formula: 'n % 2 == 0' }),
        node('if', 'control.If'),
        collect('all'),
        sink('out'),
      ],
      [
        'in.output->each.list',
        'each.item->even.n',
        'even.output->if.condition',
        'each.item->if.value',
        'if.if_true->all.item',
        'all.list->out.value',
      ],
    )
    assert.deepEqual(await outputs(of), { out: [[2, 4]] })
  })

  test('an aggregate takes its other inputs from its own path', async () => {
    const joined = testType('test.Joined', {
      properties: [
        { name: 'item', type: ANY_TYPE, required: true, aggregate: true },
        { name: 'mark', type: parseType('str'), required: true },
      ],
      outputs: [output],
      open({ mark }) {
        let text = ''
        return {
          push(given) {
            text += `${mark}${given}`
          },
          end: () => ({ output: text }),
        }
      },
    })
    const of = graph(
      [
        source('in', [['a', 'b'], ['c']]),
        each('outer'),
        each('inner'),
        node('name', 'text.FromValue'),
        node('join', 'test.Joined'),
        sink('out'),
      ],
      [
        'in.output->outer.list',
        'outer.item->inner.list',
        'outer.index->name.value',
        'inner.item->join.item',
        'name.output->join.mark',
        'join.output->out.value',
      ],
    )
    assert.deepEqual(await outputs(of, withTypes(joined)), { out: ['0a0b', '1c'] })
  })

  test('an asynchronous aggregate takes one item after the other', async () => {
    let busy = 0
    const careful = testType('test.Careful', {
      properties: [{ name: 'item', type: ANY_TYPE, required: true, aggregate: true }],
      outputs: [output],
      open() {
        const seen: unknown[] = []
        return {
          async push(given) {
            assert.equal(busy++, 0)
            await new Promise((resolve) => setImmediate(resolve))
            seen.push(given)
            busy--
          },
          end: async () => ({ output: seen }),
        }
      },
    })
    const of = graph(
      [source('in', [1, 2, 3]), each('each'), node('all', 'test.Careful'), sink('out')],
      ['in.output->each.list', 'each.item->all.item', 'all.output->out.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(careful)), { out: [[1, 2, 3]] })
  })

  test('a stream may be joined with its own collected list', async () => {
    const of = graph(
      [
        source('in', [1, 2, 3]),
        each('each'),
        collect('all'),
        node('share', 'math.Formula', { formula: 'n / count' }),
        node('count', 'list.Length'),
        sink('out'),
      ],
      [
        'in.output->each.list',
        'each.item->all.item',
        'all.list->count.list',
        'each.item->share.n',
        'count.output->share.count',
        'share.output->out.value',
      ],
    )
    assert.deepEqual(await outputs(of), { out: [1 / 3, 2 / 3, 1] })
  })
})

describe('fan-out', () => {
  test('one output feeds many inputs, each with every value', async () => {
    const sinks = Array.from({ length: 20 }, (_, at) => `out${at}`)
    const of = graph(
      [source('in', [1, 2]), each('each'), ...sinks.map(sink)],
      ['in.output->each.list', ...sinks.map((name) => edge(`each.item->${name}.value`))],
    )
    assert.deepEqual(await outputs(of), Object.fromEntries(sinks.map((name) => [name, [1, 2]])))
  })

  test('a graph as deep as it is long does not exhaust the stack', async () => {
    const count = 20_000
    const chain = Array.from({ length: count }, (_, at) => node(`n${at}`, 'test.Inc'))
    const edges = chain.slice(1).map((_, at) => edge(`n${at}.output->n${at + 1}.value`))
    const of = graph(
      [source('in', 0), ...chain, sink('out')],
      ['in.output->n0.value', ...edges, `n${count - 1}.output->out.value`],
    )
    assert.deepEqual(await outputs(of, withTypes(mapType('test.Inc', (given) => Number(given) + 1))), { out: [count] })
  })
})
