// The speed of the engine alone: firings per second for several shapes of graphs, and the time to compile a graph. Run it directly for a
// table; `benchEngine` returns the rows to other benchmarks.

import { compileGraph, type Plan } from '../../src/engine/compile/compiler.ts'
import type { Graph, GraphEdge, GraphNode } from '../../src/engine/compile/graph.ts'
import { type Execution, executePlan } from '../../src/engine/runtime/execution.ts'
import type { RunObserver } from '../../src/engine/runtime/run/observer.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'

export interface BenchRow {
  name: string
  value: number
  unit: string
}

/** Does about as much for each call as a host does at least: it builds the frame to send. */
class FramingObserver implements RunObserver {
  frames = 0
  last: unknown = null

  #frame(frame: unknown): void {
    this.frames++
    this.last = frame
  }

  nodeUpdated: RunObserver['nodeUpdated'] = (node, status, detail) =>
    this.#frame({ type: 'node_update', ...node, status, error: detail?.error, result: detail?.result ?? null })
  output: RunObserver['output'] = (node, output_name, value, type) =>
    this.#frame({ type: 'output_update', ...node, output_name, value, output_type: type.type, disposition: 'append' })
  edgeUpdated: RunObserver['edgeUpdated'] = (edge_id, status, counter) =>
    this.#frame({ type: 'edge_update', edge_id, status, counter })
  progress: RunObserver['progress'] = (node, progress, total) =>
    this.#frame({ type: 'node_progress', node_id: node.node_id, progress, total })
  chunk: RunObserver['chunk'] = (node, chunk) => this.#frame({ type: 'chunk', node_id: node.node_id, ...chunk })
  log: RunObserver['log'] = (node, severity, content) =>
    this.#frame({ type: 'log_update', node_id: node.node_id, severity, content })
  fault: RunObserver['fault'] = (_node, cause) => {
    throw cause
  }
}

function edge(source: string, sourceHandle: string, target: string, targetHandle: string): GraphEdge {
  return { id: `${source}-${target}`, source, sourceHandle, target, targetHandle }
}

/** An input, `count − 2` nodes that each append to a text, and an output. */
function chain(count: number): Graph {
  const steps = Array.from(
    { length: count - 2 },
    (_, at): GraphNode => ({ id: `n${at}`, type: 'text.Concat', data: { b: '' } }),
  )
  const edges = steps.slice(1).map((step, at) => edge(`n${at}`, 'output', step.id, 'a'))
  return {
    nodes: [
      { id: 'in', type: 'input.String', data: { name: 'in' } },
      ...steps,
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [edge('in', 'output', 'n0', 'a'), ...edges, edge(`n${count - 3}`, 'output', 'out', 'value')],
  }
}

/** An input that feeds `count` nodes, and a tree of joins that collects their outputs. */
function fan(count: number): Graph {
  const nodes: GraphNode[] = [{ id: 'in', type: 'input.String', data: { name: 'in' } }]
  const edges: GraphEdge[] = []
  let layer = Array.from({ length: count }, (_, at) => `f${at}`)
  for (const id of layer) {
    nodes.push({ id, type: 'text.Trim' })
    edges.push(edge('in', 'output', id, 'text'))
  }
  for (let depth = 0; layer.length > 1; depth++) {
    const next: string[] = []
    for (let at = 0; at < layer.length; at += 2) {
      const id = `j${depth}-${at}`
      nodes.push({ id, type: 'text.Concat' })
      edges.push(edge(layer[at]!, 'output', id, 'a'))
      if (layer[at + 1]) edges.push(edge(layer[at + 1]!, 'output', id, 'b'))
      next.push(id)
    }
    layer = next
  }
  return { nodes, edges }
}

/** `count` numbers through five nodes, each of which fires once per item, except for the source and the collector. */
function stream(count: number): Graph {
  return {
    nodes: [
      { id: 'range', type: 'list.Range', data: { stop: count } },
      { id: 'each', type: 'control.ForEach' },
      { id: 'double', type: 'math.Formula', data: { formula: 'n * 2' } },
      { id: 'text', type: 'text.FromValue' },
      { id: 'pad', type: 'text.Pad', data: { length: 8, side: 'start', fill: '0' } },
      { id: 'all', type: 'control.Collect' },
      { id: 'length', type: 'list.Length' },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [
      edge('range', 'output', 'each', 'list'),
      edge('each', 'item', 'double', 'n'),
      edge('double', 'output', 'text', 'value'),
      edge('text', 'output', 'pad', 'text'),
      edge('pad', 'output', 'all', 'item'),
      edge('all', 'list', 'length', 'list'),
      edge('length', 'output', 'out', 'value'),
    ],
  }
}

/** `count` numbers through five nodes, none of which keeps more than a few of them. */
function endless(count: number): Graph {
  return {
    nodes: [
      { id: 'numbers', type: 'control.Numbers', data: { from: 1, to: count } },
      { id: 'double', type: 'math.Formula', data: { formula: 'n * 2' } },
      { id: 'text', type: 'text.FromValue' },
      { id: 'pad', type: 'text.Pad', data: { length: 8, side: 'start', fill: '0' } },
      { id: 'all', type: 'control.Count' },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [
      edge('numbers', 'item', 'double', 'n'),
      edge('double', 'output', 'text', 'value'),
      edge('text', 'output', 'pad', 'text'),
      edge('pad', 'output', 'all', 'item'),
      edge('all', 'count', 'out', 'value'),
    ],
  }
}

const MEGABYTE = 1e6

/** The additional peak memory of the process during a long stream, and its speed. */
async function longStream(count: number): Promise<BenchRow[]> {
  const plan = planOf(endless(count))
  const before = process.memoryUsage.rss()
  let most = before
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 10)
  const from = performance.now()
  await finished(
    executePlan(plan, { params: {}, signal: new AbortController().signal, observer: new FramingObserver() }),
  )
  const took = performance.now() - from
  clearInterval(look)
  const name = `engine: stream of ${count.toLocaleString('en')} items through 5 nodes`
  return [
    { name, value: Math.round((count * 5000) / took), unit: 'firings/s' },
    { name: `${name}, memory above idle`, value: Math.round((most - before) / MEGABYTE), unit: 'MB' },
  ]
}

function planOf(graph: Graph): Plan {
  const { plan, issues } = compileGraph(graph, builtinRegistry)
  if (!plan) throw new Error(issues[0]!.message)
  return plan
}

async function finished(execution: Execution): Promise<void> {
  const outcome = execution.outcome ?? (await execution.done)
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
}

/** Runs a plan for about `ms` milliseconds. Returns runs per second, the best of three rounds. */
async function runsPerSecond(plan: Plan, ms: number): Promise<number> {
  const observer = new FramingObserver()
  const { signal } = new AbortController()
  let best = 0
  for (let round = 0; round < 3; round++) {
    const from = performance.now()
    let runs = 0
    let took = 0
    do {
      await finished(executePlan(plan, { params: { in: 'x' }, signal, observer }))
      runs++
      took = performance.now() - from
    } while (took < ms)
    best = Math.max(best, (runs * 1000) / took)
  }
  return best
}

function firings(name: string, runs: number, perRun: number): BenchRow {
  return { name: `engine: ${name}`, value: Math.round(runs * perRun), unit: 'firings/s' }
}

/** The time of the first compilation of a graph in this process, and with a warm compiler: the best of five. */
function compileTimes(count: number): BenchRow[] {
  const graph = chain(count)
  const times = Array.from({ length: 5 }, () => {
    const from = performance.now()
    planOf(graph)
    return performance.now() - from
  })
  const row = (name: string, value: number) => ({
    name: `engine: compile ${count} nodes, ${name}`,
    value: Math.round(value * 10) / 10,
    unit: 'ms',
  })
  return [row('first', times[0]!), row('warm', Math.min(...times))]
}

/** Returns all rows, after about ten seconds. */
export async function benchEngine(): Promise<BenchRow[]> {
  const items = 100_000
  const compile = compileTimes(10_000)
  const chains = [
    firings('chain of 10 nodes', await runsPerSecond(planOf(chain(10)), 700), 10),
    firings('chain of 1,000 nodes', await runsPerSecond(planOf(chain(1000)), 700), 1000),
  ]
  const large = fan(50_000)
  const small = await runsPerSecond(planOf(fan(500)), 700)
  const perNode = 1 / (small * fan(500).nodes.length)
  const wide = await runsPerSecond(planOf(large), 700)
  const tiny = await runsPerSecond(planOf(chain(3)), 700)
  return [
    ...chains,
    { name: 'engine: start and end of a run of 3 nodes', value: Math.round(1e7 / tiny) / 10, unit: 'µs' },
    firings('fan-out and joins, 1,000 nodes', small, fan(500).nodes.length),
    firings('fan-out and joins, 100,000 nodes', wide, large.nodes.length),
    {
      name: 'engine: cost of a node among 100,000 to that among 1,000',
      value: Math.round(100 / (wide * large.nodes.length) / perNode) / 100,
      unit: '×',
    },
    firings('stream of 100,000 items through 5 nodes', await runsPerSecond(planOf(stream(items)), 700), items * 5),
    ...(await longStream(1_000_000)),
    ...compile,
  ]
}

if (process.argv[1] === import.meta.filename) {
  for (const { name, value, unit } of await benchEngine()) {
    console.log(`${name.padEnd(55)} ${value.toLocaleString('en').padStart(12)} ${unit}`)
  }
}
