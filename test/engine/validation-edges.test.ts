// Issues between the nodes of a graph: edges, handles, types, cycles and streams.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraphSteps } from '../../src/engine/compile/compiler.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { errors, found, only } from './issues.ts'
import { control, edge, graph, mapType, node, output, sink, source, testType, withTypes } from './kit.ts'

describe('edges', () => {
  test('each edge is a step: comparing two large types takes long', () => {
    const names = Array.from({ length: 100 }, (_, at) => `out_${at}`)
    const of = graph(
      [source('in', 1), ...names.map((name) => node(name, 'output.Output', { name }))],
      names.map((name) => `in.output->${name}.value`),
    )
    assert.ok([...compileGraphSteps(of, withTypes())].length > 2 * names.length)
  })

  test('an end that is not a node is reported', () => {
    const out = node('out', 'output.Output', { name: 'o', value: 1 })
    const issue = only(graph([out], ['ghost.output->out.value']), 'dangling_edge')
    assert.deepEqual([issue.node_id, issue.pin_name], ['out', 'value'])
    only(graph([source('in', 1)], ['in.output->ghost.value']), 'dangling_edge')
    assert.equal(errors(graph([], ['a.x->b.y'])).length, 2)
  })

  test('an end that is nearly a node, or one of few, gets a suggestion', () => {
    const nodes = [source('price', 1), node('out', 'output.Output', { name: 'o', value: 1 })]
    const message = (text: string) => only(graph(nodes, [text]), 'dangling_edge').message
    assert.match(message('prcie.output->out.value'), /starts at "prcie", which is no node\. Did you mean "price"\?$/)
    assert.match(message('price.output->Out.value'), /ends at "Out", which is no node\. Did you mean "out"\?$/)
    assert.match(message('in.output->out.value'), /"in", which is no node\. Available: "price", "out"\.$/)
    const many = Array.from({ length: 300 }, (_, at) => source(`node_${at}`, at))
    assert.match(only(graph(many, ['node_0.output->nodes_1.value']), 'dangling_edge').message, /which is no node\.$/)
  })

  test('a handle that does not exist is reported with a suggestion', () => {
    const out = only(
      graph([source('in', 'x'), node('n', 'text.Trim', { text: 'y' })], ['in.outptu->n.text']),
      'unknown_handle',
    )
    assert.equal(out.message, 'Node "in" (input.Any) has no output "outptu". Did you mean "output"?')
    const into = only(
      graph([source('in', 'x'), node('n', 'text.Trim', { text: 'y' })], ['in.output->n.txt']),
      'unknown_handle',
    )
    assert.match(into.message, /has no input "txt"\. Did you mean "text"\?/)
    const nameless = { source: 'in', sourceHandle: 'output', target: 'n' }
    only(graph([source('in', 'x'), node('n', 'text.Trim', { text: 'y' })], [nameless]), 'unknown_handle')
  })

  test('dynamic handles exist where the type supports them', () => {
    const of = graph([source('in', 'x'), node('n', 'text.Template', { template: '{{who}}' })], ['in.output->n.who'])
    assert.deepEqual(errors(of), [])
    only(
      graph([source('in', 'x'), node('n', 'text.Template', { template: '' })], ['in.output->n.__proto__']),
      'unknown_handle',
    )
    only(
      graph([node('n', 'workflow.Call', { workflow_id: 'w' }), sink('out')], ['n.result->out.value']),
      'unknown_handle',
    )
  })

  test('the interface of a graph takes no edges', () => {
    only(
      graph([source('in', 'x'), node('b', 'input.Any', { name: 'b', value: 1 })], ['in.output->b.value']),
      'unknown_handle',
    )
    only(
      graph([source('in', 'x'), node('out', 'output.Output', { name: 'o', value: 1 })], ['in.output->out.name']),
      'unknown_handle',
    )
  })

  test('an edge out of an output node is reported', () => {
    const of = graph([source('in', 1), sink('out'), sink('other')], ['in.output->out.value', 'out.value->other.value'])
    assert.match(only(of, 'unknown_handle').message, /has no output "value"\. An output node gives nothing/)
  })

  test('a control edge whose handle is not an output follows the firings', () => {
    const strange = { ...control('in', 'out'), sourceHandle: 'nope', targetHandle: 'nix' }
    assert.deepEqual(found(graph([source('in', 1), sink('out')], ['in.output->out.value', strange])), [])
  })

  test('types that do not fit are both named', () => {
    const issue = only(
      graph([node('in', 'input.String', { name: 's' }), node('n', 'math.Round', { value: 1 })], ['in.output->n.value']),
      'type_mismatch',
    )
    assert.equal(
      issue.message,
      'Output "output" of node "in" is str, but input "value" of node "n" takes float. math.ParseNumber in between reads a number out of it.',
    )
    assert.deepEqual([issue.node_id, issue.pin_name], ['n', 'value'])
  })

  test('two edges into one input, and the same edge twice, are reported', () => {
    const nodes = [source('a', 1), source('b', 2), sink('out')]
    assert.equal(only(graph(nodes, ['a.output->out.value', 'b.output->out.value']), 'fan_in').pin_name, 'value')
    only(graph(nodes, ['a.output->out.value', 'a.output->out.value']), 'fan_in')
    only(graph(nodes, ['a.output->out.value', control('a', 'b'), control('a', 'b')]), 'fan_in')
  })

  test('two edges with one id are reported', () => {
    const of = graph(
      [source('a', 1), node('c', 'text.Concat')],
      [edge('a.output->c.a', { id: 'e' }), edge('a.output->c.b', { id: 'e' })],
    )
    only(of, 'duplicate_id')
  })
})

describe('cycles', () => {
  test('of several nodes, and of a single one, are reported', () => {
    const same = withTypes(mapType('test.Same', (given) => given))
    const ring = graph(
      [node('a', 'test.Same'), node('b', 'test.Same'), node('c', 'test.Same')],
      ['a.output->b.value', 'b.output->c.value', 'c.output->a.value'],
    )
    assert.match(
      only(ring, 'illegal_cycle', same).message,
      /These nodes wait for each other: "a" → "b" → "c" → "a"\.|"b" → "c" → "a" → "b"|"c" → "a" → "b" → "c"/,
    )
    const self = graph([node('a', 'test.Same')], ['a.output->a.value'])
    assert.equal(only(self, 'illegal_cycle', same).message, 'Node "a" waits for itself.')
    only(graph([source('a', 1)], [control('a', 'a')]), 'illegal_cycle')
    only(graph([source('a', 1), source('b', 2)], [control('a', 'b'), control('b', 'a')]), 'illegal_cycle')
  })

  test('are reported once each, without the nodes behind them', () => {
    const same = withTypes(mapType('test.Same', (given) => given))
    const nodes = ['a', 'b', 'c', 'd', 'tail'].map((id) => node(id, 'test.Same'))
    const of = graph(nodes, [
      'a.output->b.value',
      'b.output->a.value',
      'c.output->d.value',
      'd.output->c.value',
      'b.output->tail.value',
    ])
    assert.deepEqual(
      errors(of, same).map((one) => one.code),
      ['illegal_cycle', 'illegal_cycle'],
    )
  })
})

describe('scopes', () => {
  const each = (id: string) => node(id, 'control.ForEach')

  test('unrelated streams do not join', () => {
    const of = graph(
      [source('in', [1]), each('x'), each('y'), node('n', 'text.Template', { template: '' })],
      ['in.output->x.list', 'in.output->y.list', 'x.item->n.a', 'y.item->n.b'],
    )
    const issue = only(of, 'incomparable_scopes')
    assert.match(
      issue.message,
      /inside the stream of node "y".*inside the stream of node "x".*control\.Zip.*control\.Cross/,
    )
    assert.deepEqual([issue.node_id, issue.pin_name], ['n', 'b'])
  })

  test('an aggregate needs a stream', () => {
    const of = graph([source('in', 1), node('all', 'control.Collect')], ['in.output->all.item'])
    assert.match(
      only(of, 'incomparable_scopes').message,
      /takes a whole stream, but "in" gives a single value.*control\.ForEach/,
    )
  })

  test('an aggregate takes nothing from inside of its own stream', () => {
    const fold = testType('test.Fold', {
      properties: [
        { name: 'item', type: ANY_TYPE, required: true, aggregate: true },
        { name: 'extra', type: ANY_TYPE },
      ],
      outputs: [output],
      open: () => ({ push() {}, end: () => ({}) }),
    })
    const of = graph(
      [source('in', [1]), each('x'), node('fold', 'test.Fold')],
      ['in.output->x.list', 'x.item->fold.item', 'x.index->fold.extra'],
    )
    assert.equal(only(of, 'incomparable_scopes', withTypes(fold)).pin_name, 'extra')
  })

  test('a streamed input is not started by the items of another stream', () => {
    const of = graph(
      [source('in', [1]), each('x'), node('s', 'input.Any', { name: 's', stream: true })],
      ['in.output->x.list', control('x', 's')],
    )
    assert.deepEqual(errors(of), [])
    const inside = graph(
      [source('in', [1]), each('x'), node('t', 'text.FromValue'), node('s', 'input.Any', { name: 's', stream: true })],
      ['in.output->x.list', 'x.item->t.value', control('t', 's')],
    )
    only(inside, 'incomparable_scopes')
  })

  test('streams nest only so deep', () => {
    const depth = 70
    const nodes = Array.from({ length: depth }, (_, at) => each(`e${at}`))
    const edges = nodes.slice(1).map((_, at) => edge(`e${at}.item->e${at + 1}.list`))
    const found = errors(graph([source('in', []), ...nodes], ['in.output->e0.list', ...edges]))
    assert.ok(
      found.length > 0 &&
        found.every((one) => one.code === 'incomparable_scopes' && /more than 64 deep/.test(one.message)),
    )
  })
})
