// Validation finds all issues of a graph at once, before anything runs; the files beside this one test each issue.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph, GraphIssueCode, GraphNode } from '../../src/engine/compile/graph.ts'
import { MAX_DYNAMIC_INPUTS, MAX_OUTPUTS } from '../../src/engine/compile/node-constants.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { processorMs } from '../helpers/processor.ts'
import { errors, found } from './issues.ts'
import { control, edge, graph, node, sink, source } from './kit.ts'

/** A node that declares so many inputs. */
function manyInputs(count: number): GraphNode {
  const names = Array.from({ length: count }, (_, at) => `k${at}`)
  const dynamic_properties = Object.fromEntries(names.map((name) => [name, 1]))
  return node('n', 'text.Template', { template: '' }, { dynamic_properties })
}

/** A node that declares so many outputs. */
function manyOutputs(count: number): GraphNode {
  const names = Array.from({ length: count }, (_, at) => `k${at}`)
  const dynamic_outputs = Object.fromEntries(names.map((name) => [name, { type: 'any' }]))
  return node('n', 'code.JavaScript', { code: 'return {}' }, { dynamic_outputs })
}

/** The smallest graph for each issue. */
const WRONG: Readonly<Record<GraphIssueCode, Graph>> = {
  unknown_node: graph([node('n', 'no.Such')], []),
  duplicate_id: graph([source('n', 1), node('n', 'input.Any', { name: 'm', value: 1 })], []),
  missing_property: graph([node('n', 'list.Length')], []),
  dangling_edge: graph([source('n', 1)], ['n.output->ghost.value']),
  unknown_handle: graph([source('n', 1), sink('out')], ['n.output->out.value', 'n.output->out.name']),
  type_mismatch: graph([node('n', 'control.Delay', { seconds: 'soon' })], []),
  out_of_range: graph([node('n', 'control.Delay', { seconds: -1 })], []),
  invalid_expression: graph([node('n', 'math.Formula', { formula: '1 +* 2' })], []),
  fan_in: graph([source('n', 1), sink('out')], ['n.output->out.value', 'n.output->out.value']),
  illegal_cycle: graph([source('n', 1)], [control('n', 'n')]),
  incomparable_scopes: graph([source('n', 1), node('all', 'control.Collect')], ['n.output->all.item']),
  too_many_inputs: graph([manyInputs(MAX_DYNAMIC_INPUTS + 1)], []),
  too_many_outputs: graph([manyOutputs(MAX_OUTPUTS + 1)], []),
  empty_graph: graph([], []),
  unknown_property: graph([node('n', 'text.Join', { list: [], seperator: ',' })], []),
  unknown_name: graph([node('n', 'text.Template', { template: '{{who}}' })], []),
  unknown_type: graph(
    [node('n', 'text.Template', { template: '' }, { dynamic_properties: { a: { type: 'string' } } })],
    [],
  ),
  ignored_handle: graph([node('n', 'text.Trim', { text: '' }, { dynamic_outputs: { more: {} } })], []),
  unreachable_output: graph([source('n', 1), source('m', 1), sink('out')], ['n.output->out.value']),
}

test('each issue code has a graph of its own, and a message that ends in a period', () => {
  for (const [code, of] of Object.entries(WRONG)) {
    const all = found(of)
    assert.deepEqual(
      all.map((one) => one.code),
      [code],
    )
    assert.match(all[0]!.message, /^[A-Z].*[.?]$/)
  }
})

test('a node has at most the allowed number of inputs, declared or made by edges', () => {
  const most = manyInputs(MAX_DYNAMIC_INPUTS)
  assert.deepEqual(found(graph([most], [])), [])
  const [issue, ...others] = found(graph([source('in', 1), most], ['in.output->n.more']))
  assert.deepEqual([issue?.code, issue?.node_id, others], ['too_many_inputs', 'n', []])
  assert.match(issue!.message, /has 20,001 dynamic inputs; the limit is 20,000/)
})

test('a node has at most the allowed number of outputs', () => {
  assert.deepEqual(found(graph([manyOutputs(MAX_OUTPUTS)], [])), [])
})

describe('validation of a whole graph', () => {
  test('finds all issues at once', () => {
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
    const codes = errors(of).map((one) => one.code)
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

  test('accepts an empty graph, whose plan does nothing', () => {
    assert.deepEqual(compileGraph({ nodes: [], edges: [] }, builtinRegistry).plan?.nodes, [])
  })

  test('ignores unknown keys of nodes and edges', () => {
    const of = graph(
      [{ ...source('in', 1), selected: true }, sink('out')],
      [edge('in.output->out.value', { className: 'thick' })],
    )
    assert.deepEqual(errors(of), [])
  })

  test('describes the interface of a plan', () => {
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
      builtinRegistry,
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

  test('of ten thousand nodes takes less than a second of processor time, valid or not', () => {
    const count = 10_000
    const chain = Array.from({ length: count }, (_, at) => node(`n${at}`, at % 50 === 0 ? 'text.Cncat' : 'text.Concat'))
    const edges = chain.slice(1).map((_, at) => edge(`n${at}.output->n${at + 1}.a`))
    let found: ReturnType<typeof errors> = []
    const took = processorMs(() => {
      found = errors(graph(chain, edges))
    })
    assert.equal(found.length, count / 50)
    assert.ok(took < 1000, `${Math.round(took)} ms`)
  })
})
