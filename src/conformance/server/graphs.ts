// Workflows that the suite makes for itself, of the standard node types.
import type { JsonMap } from './json.ts'

type Node = { id: string; type: string; data: JsonMap; dynamic_properties?: JsonMap; dynamic_outputs?: JsonMap }
type Link = readonly [from: string, handle: string, to: string, input: string]

export interface Graph {
  nodes: Node[]
  edges: { source: string; sourceHandle: string; target: string; targetHandle: string }[]
}

function graph(nodes: Node[], links: readonly Link[]): Graph {
  const edges = links.map(([source, sourceHandle, target, targetHandle]) => ({
    source,
    sourceHandle,
    target,
    targetHandle,
  }))
  return { nodes, edges }
}

function input(type: string, name: string, data: JsonMap = {}): Node {
  return { id: `in_${name}`, type: `input.${type}`, data: { name, ...data } }
}

function output(name: string): Node {
  return { id: `out_${name}`, type: 'output.Output', data: { name } }
}

/** Two outputs of one text that must be given. */
function greeting(): Graph {
  const greet = { id: 'greet', type: 'text.Concat', data: { a: 'Hello, ' } }
  return graph(
    [input('String', 'name'), greet, output('greeting'), output('name')],
    [
      ['in_name', 'output', 'greet', 'b'],
      ['greet', 'output', 'out_greeting', 'value'],
      ['in_name', 'output', 'out_name', 'value'],
    ],
  )
}

/** Waits for a value from outside, and passes it on. */
function waiting(): Graph {
  const wait = { id: 'wait', type: 'control.WaitFor', data: { name: 'answer', schema: { type: 'string' } } }
  return graph(
    [input('String', 'name', { value: 'nobody' }), wait, output('answer'), output('name')],
    [
      ['wait', 'value', 'out_answer', 'value'],
      ['in_name', 'output', 'out_name', 'value'],
    ],
  )
}

/** Takes a few seconds, so that another run of it waits in the queue; nothing waits for its end. */
function slow(): Graph {
  const delay = { id: 'delay', type: 'control.Delay', data: { seconds: 4 } }
  return graph(
    [input('String', 'name', { value: 'nobody' }), delay, output('name')],
    [
      ['in_name', 'output', 'delay', 'value'],
      ['delay', 'output', 'out_name', 'value'],
    ],
  )
}

/** Fails in a node while it runs. */
function failing(): Graph {
  const formula = { id: 'divide', type: 'math.Formula', data: { formula: 'a / 0' }, dynamic_properties: { a: 1 } }
  return graph(
    [input('Float', 'a'), formula, output('quotient')],
    [
      ['in_a', 'output', 'divide', 'a'],
      ['divide', 'output', 'out_quotient', 'value'],
    ],
  )
}

/** Takes a number between limits. */
function limits(): Graph {
  return graph(
    [input('Integer', 'count', { min: 1, max: 5 }), output('count')],
    [['in_count', 'output', 'out_count', 'value']],
  )
}

/** Takes anything, such as nested references to assets. */
function anything(): Graph {
  return graph([input('Any', 'value'), output('value')], [['in_value', 'output', 'out_value', 'value']])
}

/** Each is broken in one way, by the word of the diagnostic. */
function brokenGraphs(): Readonly<Record<string, Graph>> {
  const { nodes, edges } = greeting()
  const [first, second] = nodes as [Node, Node]
  const edge = edges[0]!
  return {
    unknown_node: { nodes: [...nodes, { id: 'odd', type: 'conformance.Unknown', data: {} }], edges },
    duplicate_id: { nodes: [...nodes, { ...first }], edges },
    dangling_edge: { nodes, edges: [...edges, { ...edge, source: 'nowhere' }] },
    unknown_handle: { nodes, edges: [...edges, { ...edge, sourceHandle: 'conformance_unknown', targetHandle: 'a' }] },
    fan_in: { nodes, edges: [...edges, { ...edge }] },
    illegal_cycle: {
      nodes: [first, { ...second, data: {} }, { id: 'echo', type: 'text.Concat', data: { b: '' } }, output('greeting')],
      edges: [
        edge,
        { source: 'greet', sourceHandle: 'output', target: 'echo', targetHandle: 'a' },
        { source: 'echo', sourceHandle: 'output', target: 'greet', targetHandle: 'a' },
        { source: 'echo', sourceHandle: 'output', target: 'out_greeting', targetHandle: 'value' },
      ],
    },
    type_mismatch: graph(
      [input('List', 'items'), { id: 'wait', type: 'control.Delay', data: {} }, output('value')],
      [
        ['in_items', 'output', 'wait', 'seconds'],
        ['in_items', 'output', 'wait', 'value'],
        ['wait', 'output', 'out_value', 'value'],
      ],
    ),
  }
}

export const graphs = {
  greeting: greeting(),
  waiting: waiting(),
  slow: slow(),
  failing: failing(),
  limits: limits(),
  anything: anything(),
}
export const broken = brokenGraphs()
export type GraphName = keyof typeof graphs
