// Laws of branches and of control edges: absent values, skipped firings, fallbacks.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import {
  control,
  edge,
  graph,
  mapType,
  node,
  output,
  outputs,
  sink,
  source,
  start,
  testType,
  withTypes,
} from './kit.ts'

const iff = (condition: boolean) => node('if', 'control.If', { condition, value: 'v' })

describe('branches', () => {
  test('the branch not taken is skipped, with all nodes behind it', async () => {
    const of = graph(
      [
        iff(true),
        node('a', 'text.FromValue'),
        node('b', 'text.FromValue'),
        node('b2', 'text.Trim'),
        sink('yes'),
        sink('no'),
      ],
      [
        'if.if_true->a.value',
        'if.if_false->b.value',
        'b.output->b2.text',
        'a.output->yes.value',
        'b2.output->no.value',
      ],
    )
    const { execution, observer } = start(of)
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { yes: ['v'], no: [] } })
    assert.deepEqual(observer.statuses('a'), ['running', 'completed'])
    for (const id of ['b', 'b2', 'no']) assert.deepEqual(observer.statuses(id), ['skipped'])
  })

  test('inputs without a value fall back to their own value or default', async () => {
    const of = graph(
      [
        iff(true),
        node('join', 'text.Concat', { b: '!' }),
        node('plain', 'text.Concat'),
        sink('out'),
        sink('plain_out'),
      ],
      [
        'if.if_true->join.a',
        'if.if_false->join.b',
        'join.output->out.value',
        'if.if_true->plain.a',
        'if.if_false->plain.b',
        'plain.output->plain_out.value',
      ],
    )
    assert.deepEqual(await outputs(of), { out: ['v!'], plain_out: ['v'] })
  })

  test('a required input without a value skips the firing', async () => {
    const of = graph(
      [iff(false), source('low', 1), node('between', 'compare.Between', { high: 9 }), sink('out')],
      ['if.if_true->between.value', 'low.output->between.low', 'between.output->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: [] })
  })

  test('dynamic inputs count as required, unless they have a value of their own', async () => {
    const template = (id: string, more = {}) => node(id, 'text.Template', { template: '{{a}}+{{b}}' }, more)
    const of = graph(
      [
        iff(true),
        template('bare'),
        template('backed', { dynamic_properties: { b: 'own' } }),
        sink('bare_out'),
        sink('out'),
      ],
      [
        'if.if_true->bare.a',
        'if.if_false->bare.b',
        'bare.output->bare_out.value',
        'if.if_true->backed.a',
        'if.if_false->backed.b',
        'backed.output->out.value',
      ],
    )
    assert.deepEqual(await outputs(of), { bare_out: [], out: ['v+own'] })
  })

  test('branches come together again in control.Coalesce', async () => {
    const of = (condition: boolean) =>
      graph(
        [iff(condition), node('up', 'text.Case', { to: 'upper' }), node('both', 'control.Coalesce'), sink('out')],
        ['if.if_true->up.text', 'up.output->both.a', 'if.if_false->both.b', 'both.output->out.value'],
      )
    assert.deepEqual(await outputs(of(true)), { out: ['V'] })
    assert.deepEqual(await outputs(of(false)), { out: ['v'] })
  })

  test('dynamic inputs of control.Coalesce may have no value, and count in the order of their declaration', async () => {
    const of = (first: boolean, second: boolean) =>
      graph(
        [
          node('one', 'control.If', { condition: first, value: 'one' }),
          node('two', 'control.If', { condition: second, value: 'two' }),
          node(
            'any',
            'control.Coalesce',
            { last: 'own' },
            { dynamic_properties: { z: { type: 'str' }, m: null, last: null } },
          ),
          node('bare', 'control.Coalesce'),
          sink('out'),
          sink('bare_out'),
        ],
        [
          'one.if_true->any.m',
          'two.if_true->any.z',
          'any.output->out.value',
          'one.if_true->bare.x',
          'two.if_true->bare.w',
          'bare.output->bare_out.value',
        ],
      )
    assert.deepEqual(await outputs(of(true, true)), { out: ['two'], bare_out: ['one'] })
    assert.deepEqual(await outputs(of(true, false)), { out: ['one'], bare_out: ['one'] })
    assert.deepEqual(await outputs(of(false, true)), { out: ['two'], bare_out: ['two'] })
    assert.deepEqual(await outputs(of(false, false)), { out: [], bare_out: [] })
  })

  test('an optional dynamic input falls back to its own value, and a node type that does not say so requires them', async () => {
    const of = (type: string) =>
      graph(
        [iff(true), node('n', type, { template: '' }, { dynamic_properties: { x: null, y: 'own' } }), sink('out')],
        ['if.if_false->n.x', 'if.if_true->n.z', 'n.output->out.value'],
      )
    assert.deepEqual(await outputs(of('control.Coalesce')), { out: ['own'] })
    assert.deepEqual(await outputs(of('text.Template')), { out: [] })
  })

  test('an opener that is skipped gives nothing to its aggregate, which is skipped', async () => {
    const of = graph(
      [
        node('if', 'control.If', { condition: false, value: [1] }),
        node('each', 'control.ForEach'),
        node('all', 'control.Collect'),
        sink('out'),
      ],
      ['if.if_true->each.list', 'each.item->all.item', 'all.list->out.value'],
    )
    const { execution, observer } = start(of)
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [] } })
    assert.deepEqual(observer.statuses('all'), ['skipped'])
  })

  test('null is a value and differs from an absent one', async () => {
    const of = graph(
      [source('in', [null, 1]), node('each', 'control.ForEach'), node('all', 'control.Collect'), sink('out')],
      ['in.output->each.list', 'each.item->all.item', 'all.list->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: [[null, 1]] })
  })

  test('an output named like a member of every object has no value unless it is returned', async () => {
    const odd = testType('test.Odd', { supports_dynamic_outputs: true, run: () => ({}) })
    const of = graph(
      [node('odd', 'test.Odd', {}, { dynamic_outputs: { constructor: null, toString: {} } }), sink('a'), sink('b')],
      ['odd.constructor->a.value', 'odd.toString->b.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(odd)), { a: [], b: [] })
  })
})

describe('control edges', () => {
  const order: unknown[] = []
  const noted = mapType('test.Noted', (given) => {
    order.push(given)
    return given
  })

  test('the target waits for the source, without a value', async () => {
    order.length = 0
    const slow = testType('test.Slow', {
      outputs: [output],
      async run() {
        await new Promise((resolve) => setImmediate(resolve))
        order.push('slow')
        return { output: 1 }
      },
    })
    const of = graph(
      [source('in', 'after'), node('slow', 'test.Slow'), node('n', 'test.Noted'), sink('out')],
      ['in.output->n.value', control('slow', 'n'), 'n.output->out.value'],
    )
    assert.deepEqual(await outputs(of, withTypes(noted, slow)), { out: ['after'] })
    assert.deepEqual(order, ['slow', 'after'])
  })

  test('the target is skipped with the source', async () => {
    const of = graph(
      [iff(false), node('b', 'text.FromValue'), source('in', 'x'), node('n', 'text.FromValue'), sink('out')],
      ['if.if_true->b.value', control('b', 'n'), 'in.output->n.value', 'n.output->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: [] })
  })

  test('a control edge from an output follows that output', async () => {
    const of = graph(
      [
        iff(true),
        node('yes', 'text.FromValue', { value: 1 }),
        node('no', 'text.FromValue', { value: 2 }),
        sink('a'),
        sink('b'),
      ],
      [
        edge('if.if_true->yes.x', { edge_type: 'control' }),
        edge('if.if_false->no.x', { edge_type: 'control' }),
        'yes.output->a.value',
        'no.output->b.value',
      ],
    )
    assert.deepEqual(await outputs(of), { a: ['1'], b: [] })
  })

  test('a control edge from inside a stream makes the target fire once per item', async () => {
    const of = graph(
      [
        source('in', [1, 2, 3]),
        node('each', 'control.ForEach'),
        node('step', 'text.FromValue'),
        node('n', 'text.FromValue', { value: 'x' }),
        sink('out'),
      ],
      ['in.output->each.list', 'each.item->step.value', control('step', 'n'), 'n.output->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: ['x', 'x', 'x'] })
  })

  test('several control edges may lead to one node', async () => {
    const of = graph(
      [source('a', 1), source('b', 2), node('n', 'text.FromValue', { value: 'x' }), sink('out')],
      [control('a', 'n'), control('b', 'n'), 'n.output->out.value'],
    )
    assert.deepEqual(await outputs(of), { out: ['x'] })
  })

  test('a node without connections fires once', async () => {
    let fired = 0
    const lone = testType('test.Lone', {
      outputs: [{ name: 'output', type: ANY_TYPE }],
      run() {
        fired++
        return { output: 'alone' }
      },
    })
    assert.deepEqual(
      await outputs(graph([node('n', 'test.Lone'), sink('out')], ['n.output->out.value']), withTypes(lone)),
      { out: ['alone'] },
    )
    assert.equal(fired, 1)
  })
})
