// Everything that can be wrong with a graph, found before anything runs and all at once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph, GraphIssueCode } from '../../src/engine/graph.ts'
import { compileGraph } from '../../src/engine/plan.ts'
import { ANY } from '../../src/engine/types.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'
import { control, edge, graph, mapType, node, output, sink, source, testType, withTypes } from './kit.ts'

function issues(of: Graph, registry = builtinNodes) {
  const { plan, issues: found } = compileGraph(of, registry)
  assert.equal(
    plan === null,
    found.some((one) => one.severity === 'error'),
  )
  return found
}

/** The only issue of a graph, which must have this code. */
function only(of: Graph, code: GraphIssueCode, registry = builtinNodes) {
  const found = issues(of, registry)
  assert.deepEqual(
    found.map((one) => one.code),
    [code],
    JSON.stringify(found),
  )
  return found[0]!
}

describe('nodes', () => {
  test('an unknown type, with a hint', () => {
    const issue = only(graph([node('n', 'text.Templat')], []), 'unknown_node')
    assert.deepEqual([issue.node_id, issue.severity], ['n', 'error'])
    assert.equal(issue.message, 'There is no node type "text.Templat". Did you mean "text.Template"?')
    assert.match(only(graph([node('n', 'Template')], []), 'unknown_node').message, /Did you mean "text.Template"/)
    assert.doesNotMatch(only(graph([node('n', 'zzzzzzzzzz')], []), 'unknown_node').message, /Did you mean/)
  })

  test('edges of a node of unknown type bring no further complaint', () => {
    only(graph([node('n', 'no.Such'), sink('out')], ['n.output->out.value']), 'unknown_node')
  })

  test('an edge with one bad end has its other end judged all the same', () => {
    const pairs = (of: Graph) => issues(of).map((one) => [one.code, one.node_id, one.pin_name])
    const unknown = graph([node('n', 'no.Such'), node('t', 'text.Trim', { text: 'x' })], ['n.output->t.txt'])
    assert.deepEqual(pairs(unknown), [
      ['unknown_node', 'n', null],
      ['unknown_handle', 't', 'txt'],
    ])
    assert.deepEqual(pairs(graph([source('in', 1)], ['in.outptu->ghost.value'])), [
      ['dangling_edge', 'in', 'outptu'],
      ['unknown_handle', 'in', 'outptu'],
    ])
    assert.deepEqual(pairs(graph([node('t', 'text.Trim', { text: 'x' })], ['ghost.output->t.txt'])), [
      ['dangling_edge', 't', 'txt'],
      ['unknown_handle', 't', 'txt'],
    ])
  })

  test('hints stay cheap in a graph of misspelt handles', () => {
    const names = Array.from({ length: 3000 }, (_, at) => `a_rather_long_name_of_an_output_${at}`)
    const wide = (count: number) =>
      graph(
        [
          node(
            'call',
            'workflow.Call',
            { workflow_id: 'x' },
            {
              dynamic_outputs: Object.fromEntries(names.slice(0, count).map((name) => [name, null])),
            },
          ),
          sink('out'),
        ],
        names.map((name) => edge(`call.${name.replace('rather', 'rahter')}->out.value`)),
      )
    const hinted = (count: number) => issues(wide(count)).filter((one) => /Did you mean/.test(one.message)).length
    const began = performance.now()
    assert.equal(hinted(100), 20)
    assert.equal(hinted(3000), 0)
    assert.ok(performance.now() - began < 3000)
  })

  test('two nodes with one id, two outputs or two inputs with one name', () => {
    assert.equal(
      only(graph([source('n', 1), node('n', 'input.Any', { name: 'x', value: 1 })], []), 'duplicate_id').node_id,
      'n',
    )
    const twice = (type: string) =>
      graph([node('a', type, { name: 'same', value: 1 }), node('b', type, { name: 'same', value: 1 })], [])
    assert.equal(only(twice('output.Output'), 'duplicate_id').pin_name, 'name')
    assert.match(only(twice('input.Any'), 'duplicate_id').message, /input nodes "a" and "b" have the same name "same"/)
    const both = [node('a', 'input.Any', { name: 'x', value: 1 }), node('b', 'output.Output', { name: 'x' })]
    assert.deepEqual(issues(graph(both, ['a.output->b.value'])), [])
  })

  test('a required property without an edge or a value', () => {
    const issue = only(graph([node('n', 'list.Length')], []), 'missing_property')
    assert.deepEqual([issue.node_id, issue.pin_name], ['n', 'list'])
    only(graph([node('n', 'list.Length', { list: null })], []), 'missing_property')
    only(graph([node('n', 'control.Collect', { item: [1] })], []), 'missing_property')
    only(graph([node('n', 'input.String', { name: '' })], []), 'missing_property')
    assert.deepEqual(issues(graph([node('n', 'list.Length', { list: [] })], [])), [])
  })

  test('an own value of the wrong type or outside of its limits', () => {
    const issue = only(graph([node('n', 'control.Delay', { seconds: 'soon' })], []), 'type_mismatch')
    assert.equal(issue.message, 'Property "seconds" of node "n": expected float, got str.')
    assert.match(
      only(graph([node('n', 'control.Delay', { seconds: -1 })], []), 'type_mismatch').message,
      /must be at least 0/,
    )
    assert.match(
      only(graph([node('n', 'text.Case', { text: 'x', to: 'loud' })], []), 'type_mismatch').message,
      /expected enum\(upper \| lower/,
    )
    assert.match(
      only(graph([node('n', 'text.Join', { list: 5, separator: 1 })], []), 'type_mismatch').message,
      /"separator"/,
    )
  })

  test('a stale value under an edge is no matter', () => {
    assert.deepEqual(issues(graph([source('in', 'x'), node('n', 'text.Trim', { text: 5 })], ['in.output->n.text'])), [])
  })

  test('a dynamic input whose value is not of its declared type', () => {
    const typed = testType('test.Typed', { supports_dynamic_inputs: true, run: () => ({}) })
    const of = graph([node('n', 'test.Typed', { x: 'text' }, { dynamic_properties: { x: { type: 'int' } } })], [])
    assert.match(
      only(of, 'type_mismatch', withTypes(typed)).message,
      /Dynamic input "x" of node "n": expected int, got str/,
    )
  })
})

describe('edges', () => {
  test('an end that is no node', () => {
    const out = node('out', 'output.Output', { name: 'o', value: 1 })
    const issue = only(graph([out], ['ghost.output->out.value']), 'dangling_edge')
    assert.deepEqual([issue.node_id, issue.pin_name], ['out', 'value'])
    only(graph([source('in', 1)], ['in.output->ghost.value']), 'dangling_edge')
    assert.equal(issues(graph([], ['a.x->b.y'])).length, 2)
  })

  test('a handle that does not exist, with a hint', () => {
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
    assert.deepEqual(issues(of), [])
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

  test('types that do not fit, both named', () => {
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

  test('two edges into one input, and the same edge twice', () => {
    const nodes = [source('a', 1), source('b', 2), sink('out')]
    assert.equal(only(graph(nodes, ['a.output->out.value', 'b.output->out.value']), 'fan_in').pin_name, 'value')
    only(graph(nodes, ['a.output->out.value', 'a.output->out.value']), 'fan_in')
    only(graph(nodes, ['a.output->out.value', control('a', 'b'), control('a', 'b')]), 'fan_in')
  })

  test('two edges with one id', () => {
    const of = graph(
      [source('a', 1), node('c', 'text.Concat')],
      [edge('a.output->c.a', { id: 'e' }), edge('a.output->c.b', { id: 'e' })],
    )
    only(of, 'duplicate_id')
  })
})

describe('cycles', () => {
  test('nodes that wait for each other, and themselves', () => {
    const same = withTypes(mapType('test.Same', (given) => given))
    const ring = graph(
      [node('a', 'test.Same'), node('b', 'test.Same'), node('c', 'test.Same')],
      ['a.output->b.value', 'b.output->c.value', 'c.output->a.value'],
    )
    assert.match(
      only(ring, 'illegal_cycle', same).message,
      /These nodes wait for each other: "a" → "b" → "c" → "a"\.|"b" → "c" → "a" → "b"|"c" → "a" → "b" → "c"/,
    )
    only(graph([node('a', 'test.Same')], ['a.output->a.value']), 'illegal_cycle', same)
    only(graph([source('a', 1), source('b', 2)], [control('a', 'b'), control('b', 'a')]), 'illegal_cycle')
  })

  test('each cycle is reported once, nodes behind it not at all', () => {
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
      issues(of, same).map((one) => one.code),
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
        { name: 'item', type: ANY, required: true, aggregate: true },
        { name: 'extra', type: ANY },
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
    assert.deepEqual(issues(of), [])
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
    const found = issues(graph([source('in', []), ...nodes], ['in.output->e0.list', ...edges]))
    assert.ok(
      found.length > 0 &&
        found.every((one) => one.code === 'incomparable_scopes' && /more than 64 deep/.test(one.message)),
    )
  })
})

describe('as a whole', () => {
  test('all issues are found at once', () => {
    const of = graph(
      [
        node('a', 'no.Such'),
        source('in', 1),
        source('in', 2),
        node('len', 'list.Length'),
        node('trim', 'text.Trim', { text: 5 }),
        node('n', 'input.String', { name: 's' }),
        node('r', 'math.Round'),
        node('l1', 'text.FromValue'),
        node('l2', 'text.FromValue'),
      ],
      ['n.output->r.value', 'ghost.x->r.digits', 'in.nope->trim.side', 'l1.output->l2.value', 'l2.output->l1.value'],
    )
    const codes = issues(of).map((one) => one.code)
    assert.deepEqual(codes.sort(), [
      'dangling_edge',
      'duplicate_id',
      'illegal_cycle',
      'missing_property',
      'type_mismatch',
      'type_mismatch',
      'unknown_handle',
      'unknown_node',
    ])
  })

  test('an empty graph is a plan that does nothing', () => {
    assert.deepEqual(compileGraph({ nodes: [], edges: [] }, builtinNodes).plan?.nodes, [])
  })

  test('unknown keys of nodes and edges are no matter', () => {
    const of = graph(
      [{ ...source('in', 1), selected: true }, sink('out')],
      [edge('in.output->out.value', { className: 'thick' })],
    )
    assert.deepEqual(issues(of), [])
  })

  test('the interface of a plan', () => {
    const { plan } = compileGraph(
      graph(
        [
          node('a', 'input.Integer', { name: 'count', description: 'How many', min: 1, max: 9 }),
          node('b', 'input.String', { name: 'label', value: 'x' }),
          node('s', 'input.Float', { name: 'live', stream: true }),
          node('range', 'list.Range'),
          node('each', 'control.ForEach'),
          node('o1', 'output.Output', { name: 'single', description: 'One' }),
          node('o2', 'output.Output', { name: 'many' }),
          sink('o3'),
        ],
        [
          'a.output->range.stop',
          'range.output->each.list',
          'b.output->o1.value',
          'each.index->o2.value',
          's.output->o3.value',
        ],
      ),
      builtinNodes,
    )
    const shorthand = (one: { type: { type: string } }) => ({ ...one, type: one.type.type })
    assert.deepEqual(plan?.inputs.map(shorthand), [
      {
        node_id: 'a',
        name: 'count',
        description: 'How many',
        type: 'int',
        required: true,
        default: null,
        min: 1,
        max: 9,
        stream: false,
      },
      { node_id: 'b', name: 'label', description: '', type: 'str', required: false, default: 'x', stream: false },
      { node_id: 's', name: 'live', description: '', type: 'float', required: false, default: null, stream: true },
    ])
    assert.deepEqual(plan?.outputs.map(shorthand), [
      { node_id: 'o1', name: 'single', description: 'One', type: 'str', stream: false },
      { node_id: 'o2', name: 'many', description: '', type: 'int', stream: true },
      { node_id: 'o3', name: 'o3', description: '', type: 'float', stream: true },
    ])
  })

  test('ten thousand nodes are checked in less than a second, right or wrong', () => {
    const count = 10_000
    const chain = Array.from({ length: count }, (_, at) => node(`n${at}`, at % 50 === 0 ? 'text.Cncat' : 'text.Concat'))
    const edges = chain.slice(1).map((_, at) => edge(`n${at}.output->n${at + 1}.a`))
    const from = performance.now()
    const found = issues(graph(chain, edges))
    const took = performance.now() - from
    assert.equal(found.length, count / 50)
    assert.ok(took < 1000, `${Math.round(took)} ms`)
  })
})
