// Compiles large graphs, runs them until all their nodes wait, and prints the estimate for each and its size on the heap.
import { setTimeout as pause } from 'node:timers/promises'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { createRun } from '../../src/engine/runtime/sub-workflow.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { estimateGraphMemorySteps } from '../../src/workflows/graph-memory-estimate.ts'
import { Recorder } from '../engine/kit.ts'

const COUNT = 10_000

const node = (id: string, type: string, data: object = {}) => ({ id, type, data })
const edge = (source: string, target: string, targetHandle: string) => {
  return { source, sourceHandle: 'output', target, targetHandle }
}
const WAIT = node('wait', 'control.Delay', { seconds: 3_600, value: 'x' })
const row = (type: string) => Array.from({ length: COUNT }, (_, at) => node(`n${at}`, type, {}))

const SHAPES = {
  chain: () => {
    const nodes = row('text.Trim')
    return {
      nodes: [WAIT, ...nodes],
      edges: nodes.map(({ id }, at) => edge(at === 0 ? 'wait' : `n${at - 1}`, id, 'text')),
    }
  },
  delays: () => ({
    nodes: row('control.Delay').map((one) => ({ ...one, data: { seconds: 3_600, value: 1 } })),
    edges: [],
  }),
  joins: () => {
    const nodes = row('text.Concat')
    const edges = nodes.flatMap(({ id }) => [edge('wait', id, 'a'), edge('text', id, 'b')])
    return { nodes: [WAIT, node('text', 'constant.String', { value: 'y' }), ...nodes], edges }
  },
  text: () => ({ nodes: [WAIT, node('text', 'constant.String', { value: 'x'.repeat(10_000_000) })], edges: [] }),
  values: () => {
    const value = Array.from({ length: 300_000 }, () => ({}))
    return { nodes: [WAIT, node('list', 'constant.List', { value })], edges: [] }
  },
} as const

/** The values themselves do not stay reachable from the caller of this function. */
function textOf(make: () => unknown): string {
  return JSON.stringify(make())
}

function used(): number {
  global.gc!()
  global.gc!()
  return process.memoryUsage().heapUsed
}

const held: unknown[] = []
/** Warms up everything that is created once. */
compileGraph(SHAPES.chain() as Graph, builtinRegistry)

for (const [name, make] of Object.entries(SHAPES)) {
  const text = textOf(make)
  const before = used()
  const graph = JSON.parse(text) as Graph
  const compiled = compileGraph(graph, builtinRegistry)
  const observer = new Recorder()
  const run = createRun(compiled.plan!, { params: {}, signal: new AbortController().signal, observer })
  run.start()
  for (let turns = 0; turns < 20; turns++) await pause(5)
  const taken = used() - before + text.length
  held.push(graph, compiled, run, text)
  process.stdout.write(`${name}\t${runToCompletion(estimateGraphMemorySteps(text)).retained_bytes}\t${taken}\n`)
}
process.exit(held.length === 0 ? 1 : 0)
