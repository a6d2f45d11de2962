// Runs the example of a node type in a graph of its own: a node for each input, the node itself, and an output for each handle.
import assert from 'node:assert/strict'
import { compileGraph } from '../../../src/engine/compile/compiler.ts'
import type { GraphEdge, GraphIssue, GraphNode } from '../../../src/engine/compile/graph.ts'
import type { NodeServices } from '../../../src/engine/node-api/node-services.ts'
import type { ExecuteOptions, RunOutcome } from '../../../src/engine/runtime/execution.ts'
import { exampleFor } from '../../../src/nodes/examples/catalogue.ts'
import type { NodeExample } from '../../../src/nodes/examples/node-example.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { loadExamples } from '../../../src/workflows/examples.ts'
import { parseNodeCallGraph } from '../../../src/workflows/tools/node-call-graph.ts'
import { edge, graph, node, planOf, sink, start } from '../../engine/kit.ts'
import { MemoryJournal } from '../../engine/memory-journal.ts'

/** The nodes around the node `n`, as the notes of these examples describe them. */
const NEIGHBOURS: Readonly<Record<string, { nodes: readonly GraphNode[]; edges: readonly string[] }>> = {
  'control.Catch': {
    nodes: [node('read_price', 'math.ParseNumber', { text: 'n/a' })],
    edges: ['read_price.output->n.value'],
  },
  'control.Loop': {
    nodes: [node('behind', 'math.Formula', { formula: 'value * 1.05' })],
    edges: ['n.value->behind.value', 'behind.output->n.next'],
  },
}

/** The values that waiting nodes are sent. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  'control.WaitFor': '2026-04-02',
  'human.Approval': true,
}

/** The example that runs before an example, with the same services. */
const BEFORE: Readonly<Record<string, string>> = {
  'asset.List': 'asset.Save',
  'vector.Info': 'vector.Index',
  'vector.List': 'vector.Index',
  'vector.Remove': 'vector.Index',
  'vector.Search': 'vector.Index',
}

const CLOCK = { now: () => Date.parse('2026-03-31T07:30:00Z'), sleep: async () => {} }

interface ExampleGraph {
  readonly nodes: GraphNode[]
  readonly edges: (string | GraphEdge)[]
  readonly params: Record<string, unknown>
}

/** An output node publishes the result itself; every other node gets an output node for each handle. */
function exampleGraph(type: string, { data, inputs = {} }: NodeExample, handles: readonly string[]): ExampleGraph {
  const { properties, outputs, role } = builtinRegistry.get(type)!
  const { nodes = [], edges = [] } = NEIGHBOURS[type] ?? {}
  const dynamic = handles.filter((handle) => role === undefined && !outputs.some(({ name }) => name === handle))
  const dynamic_outputs = Object.fromEntries(dynamic.map((handle) => [handle, null]))
  const tested = node('n', type, { ...data }, dynamic.length > 0 ? { dynamic_outputs } : {})
  const built: ExampleGraph = { nodes: [tested, ...nodes], edges: [...edges], params: {} }
  for (const [name, value] of Object.entries(inputs)) {
    const isStream = properties.some((property) => property.name === name && property.aggregate)
    built.nodes.push(node(`in ${name}`, 'input.Any', { name: `in ${name}`, stream: isStream }))
    built.edges.push(edge(`in ${name}.output->n.${name}`))
    built.params[`in ${name}`] = value
  }
  if (role === 'output') return built
  for (const handle of handles) {
    built.nodes.push(sink(handle))
    built.edges.push(`n.${handle}->${handle}.value`)
  }
  return built
}

/** What validation says about the graph of an example. */
export function exampleIssues(type: string, example: NodeExample): GraphIssue[] {
  const { nodes, edges } = exampleGraph(type, example, Object.keys(example.outputs ?? {}))
  return compileGraph(graph(nodes, edges), builtinRegistry).issues
}

/** The values that the example's node gives for these handles; handles without a value are missing. */
export async function runExample(
  type: string,
  example: NodeExample,
  handles: readonly string[],
  services: NodeServices,
): Promise<Record<string, unknown>> {
  const before = BEFORE[type]
  if (before !== undefined) await runExample(before, exampleFor(before)!, [], services)
  const { nodes, edges, params } = exampleGraph(type, example, handles)
  const outcome = await runToEnd(type, graph(nodes, edges), { params, services, clock: CLOCK, loadPlan })
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
  const outputs = outcome.status === 'completed' ? outcome.outputs : {}
  const streams = builtinRegistry.get(type)!.outputs.filter(({ stream }) => stream)
  const given: Record<string, unknown> = {}
  for (const handle of handles) {
    const values = outputs[handle] ?? []
    if (streams.some(({ name }) => name === handle)) given[handle] = withoutBytes(values)
    else if (values.length > 0) given[handle] = withoutBytes(values[0])
  }
  return given
}

/** A node that waits is sent its answer, and the run continues. */
async function runToEnd(
  type: string,
  of: ReturnType<typeof graph>,
  options: Partial<ExecuteOptions>,
): Promise<RunOutcome> {
  if (!Object.hasOwn(ANSWERS, type)) return start(of, builtinRegistry, options).execution.done
  const journal = new MemoryJournal()
  const first = await start(of, builtinRegistry, { ...options, journal: journal.open() }).execution.done
  assert.equal(first.status, 'suspended')
  const waiting = first.status === 'suspended' ? first.waiting : []
  for (const { firing } of waiting) journal.answer(firing, ANSWERS[type])
  return start(of, builtinRegistry, { ...options, journal: journal.open() }).execution.done
}

/** Bundled workflows, and the nodes that are tools of an agent. */
async function loadPlan(workflow_id: string) {
  return planOf(parseNodeCallGraph(workflow_id) ?? loadExamples().get(workflow_id)!.graph)
}

/** Files have no bytes in examples. */
function withoutBytes(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutBytes)
  const members = Object.entries(value).filter(([, member]) => !(member instanceof Uint8Array))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutBytes(member)]))
}
