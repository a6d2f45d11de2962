// The law of stream operators: what they read, what they yield, and where they fire.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import { ItemRequest, STREAM_END } from '../../src/engine/node-api/firing-forms.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { graph, item, node, output, outputs, sink, start, testType, value, withTypes } from './kit.ts'

const each = (id: string, list: unknown) => node(id, 'control.ForEach', { list })

describe('law 15: a stream operator takes whole streams and opens one of its own', () => {
  const letters = ['a', 'b', 'c']

  test('law 15: two streams side by side are joined item by item', async () => {
    const of = graph(
      [each('one', [1, 2, 3, 4]), each('two', letters), node('zip', 'control.Zip'), sink('pairs'), sink('count')],
      ['one.item->zip.a', 'two.item->zip.b', 'zip.pair->pairs.value', 'zip.count->count.value'],
    )
    const pairs = letters.map((letter, at) => [at + 1, letter])
    assert.deepEqual(await outputs(of), { pairs, count: [3] })
  })

  test('law 15: two streams are joined each with each', async () => {
    const of = graph(
      [each('one', [1, 2]), each('two', ['a', 'b']), node('cross', 'control.Cross'), sink('a'), sink('b')],
      ['one.item->cross.a', 'two.item->cross.b', 'cross.a->a.value', 'cross.b->b.value'],
    )
    assert.deepEqual(await outputs(of), { a: [1, 1, 2, 2], b: ['a', 'b', 'a', 'b'] })
  })

  test('law 15: a stream operator fires at the path around its streams, once for each', async () => {
    const of = graph(
      [
        each('rows', [
          [1, 2],
          [3, 4, 5],
        ]),
        node('row', 'control.ForEach'),
        node('take', 'control.Take', { count: 2 }),
        node('all', 'control.Collect'),
        sink('out'),
      ],
      ['rows.item->row.list', 'row.item->take.item', 'take.item->all.item', 'all.list->out.value'],
    )
    assert.deepEqual(await outputs(of), {
      out: [
        [1, 2],
        [3, 4],
      ],
    })
  })

  test('law 15: streams that do not lie side by side are refused', () => {
    const of = graph(
      [each('rows', [[1]]), node('row', 'control.ForEach'), each('other', [1]), node('zip', 'control.Zip')],
      ['rows.item->row.list', 'row.item->zip.a', 'other.item->zip.b'],
    )
    const codes = compileGraph(of, withTypes()).issues.map((issue) => issue.code)
    assert.deepEqual(codes, ['incomparable_scopes'])
  })

  test('law 15: items without a value are skipped', async () => {
    const odd = testType('test.Odd', {
      properties: [value],
      outputs: [output],
      run: ({ value: given }) => (Number(given) % 2 === 1 ? { output: given } : {}),
    })
    const of = graph(
      [
        each('all', [1, 2, 3, 4, 5]),
        node('odd', 'test.Odd'),
        each('two', letters),
        node('zip', 'control.Zip'),
        sink('out'),
      ],
      ['all.item->odd.value', 'odd.output->zip.a', 'two.item->zip.b', 'zip.pair->out.value'],
    )
    const pairs = letters.map((letter, at) => [at * 2 + 1, letter])
    assert.deepEqual(await outputs(of, withTypes(odd)), { out: pairs })
  })

  test('law 15: a firing is skipped if one of its streams was skipped', async () => {
    const of = graph(
      [
        node('if', 'control.If', { condition: false, value: [1] }),
        node('one', 'control.ForEach'),
        each('two', [1]),
        node('zip', 'control.Zip'),
        sink('count'),
      ],
      ['if.if_true->one.list', 'one.item->zip.a', 'two.item->zip.b', 'zip.count->count.value'],
    )
    const { execution, observer } = start(of)
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { count: [] } })
    assert.deepEqual(observer.statuses('zip'), ['skipped'])
  })

  test('law 15: a stream operator decides what it reads next, also of two streams of one opener', async () => {
    // First the whole of one stream, then the whole of the other.
    const after = testType('test.After', {
      properties: [
        { name: 'a', type: ANY_TYPE, required: true, aggregate: true },
        { name: 'b', type: ANY_TYPE, required: true, aggregate: true },
      ],
      outputs: [item],
      *streamOperator() {
        for (const name of ['b', 'a']) {
          for (let next = yield new ItemRequest(name); next !== STREAM_END; next = yield new ItemRequest(name))
            yield { item: next }
        }
        return {}
      },
    })
    const of = graph(
      [each('one', ['x', 'y', 'z']), node('after', 'test.After'), sink('out')],
      ['one.item->after.a', 'one.index->after.b', 'after.item->out.value'],
    )
    const given = await outputs(of, withTypes(after), { inboxLimit: 1 })
    assert.deepEqual(given, { out: [0, 1, 2, 'x', 'y', 'z'] })
  })
})
