// Small node types, graph shorthands, a recording observer and a clock that tests set.
import assert from 'node:assert/strict'
import { compileGraph, type Plan } from '../../src/engine/compile/compiler.ts'
import type { Graph, GraphEdge, GraphNode } from '../../src/engine/compile/graph.ts'
import type { Clock } from '../../src/engine/node-api/clock.ts'
import type { NodeRegistry, NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import {
  type ExecuteOptions,
  type Execution,
  executePlan,
  type RunOutcome,
} from '../../src/engine/runtime/execution.ts'
import { resolvePropertyUpdates } from '../../src/engine/runtime/property-updates.ts'
import type { RunObserver } from '../../src/engine/runtime/run/observer.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { PATIENCE_MS } from '../helpers/patience.ts'

/** A node type of a test, with defaults for all other members. */
export function testType(node_type: string, rest: Partial<NodeType>): NodeType {
  return { node_type, title: node_type, description: '', properties: [], outputs: [], ...rest }
}

export const value = { name: 'value', type: ANY_TYPE, required: true }
export const output = { name: 'output', type: ANY_TYPE }
export const item = { name: 'item', type: ANY_TYPE, stream: true }

/** The built-in types and those of the test. */
export function withTypes(...types: NodeType[]): NodeRegistry {
  const own = new Map(types.map((type) => [type.node_type, type]))
  return { get: (name) => own.get(name) ?? builtinRegistry.get(name), all: () => [...builtinRegistry.all(), ...types] }
}

export function node(
  id: string,
  type: string,
  data: Record<string, unknown> = {},
  more: Partial<GraphNode> = {},
): GraphNode {
  return { id, type, data, ...more }
}

/** `a.output -> b.value` */
export function edge(text: string, more: Partial<GraphEdge> = {}): GraphEdge {
  const [from, to] = text.split('->').map((end) => end.trim().split('.'))
  return { source: from![0]!, sourceHandle: from![1]!, target: to![0]!, targetHandle: to![1]!, ...more }
}

export function graph(nodes: GraphNode[], edges: (string | GraphEdge)[]): Graph {
  return { nodes, edges: edges.map((one) => (typeof one === 'string' ? edge(one) : one)) }
}

/** An input node whose own value is `given`. */
export function source(id: string, given: unknown): GraphNode {
  return node(id, 'input.Any', { name: id, value: given })
}

export function sink(id: string): GraphNode {
  return node(id, 'output.Output', { name: id })
}

/** A control edge between two nodes. */
export function control(from: string, to: string): GraphEdge {
  return { source: from, target: to, edge_type: 'control' }
}

export function planOf(of: Graph, registry: NodeRegistry = builtinRegistry): Plan {
  const { plan, issues } = compileGraph(of, registry)
  assert.deepEqual(
    issues.filter((one) => one.severity === 'error'),
    [],
  )
  assert.ok(plan)
  return plan
}

export type Call = [string, ...unknown[]]

/** Records every call as a list that begins with its name. */
export class Recorder implements RunObserver {
  readonly calls: Call[] = []
  readonly faults: unknown[] = []

  nodeUpdated: RunObserver['nodeUpdated'] = (at, status, detail) =>
    this.calls.push(['node', at.node_id, status, detail])
  output: RunObserver['output'] = (at, name, given) => this.calls.push(['output', at.node_id, name, given])
  outputDone: RunObserver['outputDone'] = (at, name) => this.calls.push(['outputDone', at.node_id, name])
  edgeUpdated: RunObserver['edgeUpdated'] = (id, status, counter) => this.calls.push(['edge', id, status, counter])
  progress: RunObserver['progress'] = (at, progress, total) =>
    this.calls.push(['progress', at.node_id, progress, total])
  chunk: RunObserver['chunk'] = (at, chunk) => this.calls.push(['chunk', at.node_id, chunk])
  log: RunObserver['log'] = (at, severity, content) => this.calls.push(['log', at.node_id, severity, content])
  fault: RunObserver['fault'] = (_at, cause) => this.faults.push(cause)

  /** The statuses that a node had. */
  statuses(node_id: string): unknown[] {
    return this.calls.filter((call) => call[0] === 'node' && call[1] === node_id).map((call) => call[2])
  }

  named(name: string): Call[] {
    return this.calls.filter((call) => call[0] === name)
  }
}

export interface Started {
  plan: Plan
  execution: Execution
  observer: Recorder
  abort: AbortController
}

export function start(
  of: Graph,
  registry: NodeRegistry = builtinRegistry,
  options: Partial<ExecuteOptions> = {},
): Started {
  const observer = new Recorder()
  const abort = new AbortController()
  const plan = planOf(of, registry)
  const execution = executePlan(plan, { params: {}, signal: abort.signal, observer, ...options })
  return { plan, execution, observer, abort }
}

/** The names of the applied properties, and the first firing that has them, counted from 0; null: no such node. */
export function update(
  { plan, execution }: Pick<Started, 'plan' | 'execution'>,
  node_id: string,
  properties: Record<string, unknown>,
): { applied: string[]; from: number } | null {
  const values = resolvePropertyUpdates(plan, node_id, properties)
  return values && { applied: Object.keys(values), from: execution.updateProperties(node_id, values) }
}

export async function run(
  of: Graph,
  registry: NodeRegistry = builtinRegistry,
  options: Partial<ExecuteOptions> = {},
): Promise<RunOutcome> {
  return start(of, registry, options).execution.done
}

/** The outputs of a run that must complete. */
export async function outputs(
  of: Graph,
  registry: NodeRegistry = builtinRegistry,
  options: Partial<ExecuteOptions> = {},
) {
  const outcome = await run(of, registry, options)
  assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
  return outcome.status === 'completed' ? outcome.outputs : {}
}

/** Waits turns of the event loop until the condition holds. Fails only after many long turns, as other threads and the system may be slow. */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (let turns = 0; turns < 10_000 || performance.now() < deadline; turns++) {
    if (condition()) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.fail(`waited in vain for ${what}`)
}

/** Waits so many turns of the event loop: work without outside dependencies has ended by then. */
export async function someTurns(turns = 50): Promise<void> {
  for (let done = 0; done < turns; done++) await new Promise((resolve) => setImmediate(resolve))
}

interface Sleeper {
  until: number
  wake: () => void
}

/** A clock that advances only when the test sets it. */
export class HandClock implements Clock {
  #now = 0
  readonly sleepers = new Set<Sleeper>()

  now(): number {
    return this.#now
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.sleepers.delete(sleeper)
        reject(signal.reason)
      }
      const wake = () => {
        this.sleepers.delete(sleeper)
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const sleeper: Sleeper = { until: this.#now + ms, wake }
      this.sleepers.add(sleeper)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  turn(ms: number): void {
    this.#now += ms
    for (const sleeper of [...this.sleepers]) if (sleeper.until <= this.#now) sleeper.wake()
  }
}

/** A node type whose firings wait until the test releases them. */
export class Gate {
  readonly waiting: {
    value: unknown
    signal: AbortSignal
    open: (result?: unknown) => void
    fail: (error: unknown) => void
  }[] = []
  started = 0
  most = 0
  readonly type: NodeType

  constructor(node_type = 'test.Gate') {
    this.type = testType(node_type, {
      properties: [{ name: 'value', type: ANY_TYPE, required: true }],
      outputs: [output],
      run: ({ value: given }, context) => this.#wait(given, context.signal),
    })
  }

  #wait(given: unknown, signal: AbortSignal): Promise<Record<string, unknown>> {
    this.started++
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(entry), 1)
      }
      const entry = {
        value: given,
        signal,
        open: (result: unknown = given) => {
          leave()
          resolve({ output: result })
        },
        fail: (error: unknown) => {
          leave()
          reject(error)
        },
      }
      this.waiting.push(entry)
      this.most = Math.max(this.most, this.waiting.length)
    })
  }
}

/** A plain synchronous function of one value. */
export function mapType(node_type: string, of: (given: unknown) => unknown): NodeType {
  return testType(node_type, {
    properties: [value],
    outputs: [output],
    run: (inputs) => ({ output: of(inputs.value) }),
  })
}

/** Counts up to `count`, one item at a time, and notes how far it was advanced. */
export class Counter {
  given = 0
  ended = false
  readonly type: NodeType

  constructor(node_type = 'test.Counter') {
    const counter = this
    this.type = testType(node_type, {
      properties: [{ name: 'count', type: parseType('int'), required: true }],
      outputs: [item, { name: 'total', type: parseType('int') }],
      *run(inputs) {
        try {
          for (let at = 0; at < Number(inputs.count); at++) {
            counter.given++
            yield { item: at }
          }
          return { total: inputs.count }
        } finally {
          counter.ended = true
        }
      },
    })
  }
}
