// The suite's workflows, made of standard node types.
import type { JsonMap } from './json.ts'

type GraphNode = { id: string; type: string; data: JsonMap; dynamic_properties?: JsonMap; dynamic_outputs?: JsonMap }
type GraphLink = readonly [from: string, handle: string, to: string, input: string]

export interface SampleGraph {
  nodes: GraphNode[]
  edges: { source: string; sourceHandle: string; target: string; targetHandle: string }[]
}

function createGraph(nodes: GraphNode[], links: readonly GraphLink[]): SampleGraph {
  const edges = links.map(([source, sourceHandle, target, targetHandle]) => ({
    source,
    sourceHandle,
    target,
    targetHandle,
  }))
  return { nodes, edges }
}

function createInputNode(type: string, name: string, data: JsonMap = {}): GraphNode {
  return { id: `in_${name}`, type: `input.${type}`, data: { name, ...data } }
}

function createOutputNode(name: string): GraphNode {
  return { id: `out_${name}`, type: 'output.Output', data: { name } }
}

/** Two outputs of one required text. */
function createGreetingGraph(): SampleGraph {
  const greet = { id: 'greet', type: 'text.Concat', data: { a: 'Hello, ' } }
  return createGraph(
    [createInputNode('String', 'name'), greet, createOutputNode('greeting'), createOutputNode('name')],
    [
      ['in_name', 'output', 'greet', 'b'],
      ['greet', 'output', 'out_greeting', 'value'],
      ['in_name', 'output', 'out_name', 'value'],
    ],
  )
}

/** Waits for a value from outside, and passes it on. */
function createWaitingGraph(): SampleGraph {
  const wait = { id: 'wait', type: 'control.WaitFor', data: { name: 'answer', schema: { type: 'string' } } }
  return createGraph(
    [
      createInputNode('String', 'name', { value: 'nobody' }),
      wait,
      createOutputNode('answer'),
      createOutputNode('name'),
    ],
    [
      ['wait', 'value', 'out_answer', 'value'],
      ['in_name', 'output', 'out_name', 'value'],
    ],
  )
}

/** Takes a few seconds, so that another run of it waits in the queue. No check waits for its end. */
function createSlowGraph(): SampleGraph {
  const delay = { id: 'delay', type: 'control.Delay', data: { seconds: 4 } }
  return createGraph(
    [createInputNode('String', 'name', { value: 'nobody' }), delay, createOutputNode('name')],
    [
      ['in_name', 'output', 'delay', 'value'],
      ['delay', 'output', 'out_name', 'value'],
    ],
  )
}

/** Fails in a node during the run. */
function createFailingGraph(): SampleGraph {
  const formula = { id: 'divide', type: 'math.Formula', data: { formula: 'a / 0' }, dynamic_properties: { a: 1 } }
  return createGraph(
    [createInputNode('Float', 'a'), formula, createOutputNode('quotient')],
    [
      ['in_a', 'output', 'divide', 'a'],
      ['divide', 'output', 'out_quotient', 'value'],
    ],
  )
}

/** Accepts a number between limits. */
function createLimitsGraph(): SampleGraph {
  return createGraph(
    [createInputNode('Integer', 'count', { min: 1, max: 5 }), createOutputNode('count')],
    [['in_count', 'output', 'out_count', 'value']],
  )
}

/** Accepts any value, such as nested references to assets. */
function createAnythingGraph(): SampleGraph {
  return createGraph(
    [createInputNode('Any', 'value'), createOutputNode('value')],
    [['in_value', 'output', 'out_value', 'value']],
  )
}

/** Each graph has one fault, by the word of its diagnostic. */
function createBrokenGraphs(): Readonly<Record<string, SampleGraph>> {
  const { nodes, edges } = createGreetingGraph()
  const [first, second] = nodes as [GraphNode, GraphNode]
  const edge = edges[0]!
  return {
    unknown_node: { nodes: [...nodes, { id: 'odd', type: 'conformance.Unknown', data: {} }], edges },
    duplicate_id: { nodes: [...nodes, { ...first }], edges },
    dangling_edge: { nodes, edges: [...edges, { ...edge, source: 'nowhere' }] },
    unknown_handle: { nodes, edges: [...edges, { ...edge, sourceHandle: 'conformance_unknown', targetHandle: 'a' }] },
    fan_in: { nodes, edges: [...edges, { ...edge }] },
    illegal_cycle: {
      nodes: [
        first,
        { ...second, data: {} },
        { id: 'echo', type: 'text.Concat', data: { b: '' } },
        createOutputNode('greeting'),
      ],
      edges: [
        edge,
        { source: 'greet', sourceHandle: 'output', target: 'echo', targetHandle: 'a' },
        { source: 'echo', sourceHandle: 'output', target: 'greet', targetHandle: 'a' },
        { source: 'echo', sourceHandle: 'output', target: 'out_greeting', targetHandle: 'value' },
      ],
    },
    type_mismatch: createGraph(
      [createInputNode('List', 'items'), { id: 'wait', type: 'control.Delay', data: {} }, createOutputNode('value')],
      [
        ['in_items', 'output', 'wait', 'seconds'],
        ['in_items', 'output', 'wait', 'value'],
        ['wait', 'output', 'out_value', 'value'],
      ],
    ),
  }
}

export const sampleGraphs = {
  greeting: createGreetingGraph(),
  waiting: createWaitingGraph(),
  slow: createSlowGraph(),
  failing: createFailingGraph(),
  limits: createLimitsGraph(),
  anything: createAnythingGraph(),
}
export const brokenGraphs = createBrokenGraphs()
export type SampleGraphName = keyof typeof sampleGraphs
