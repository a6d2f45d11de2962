// Shared by the tests of the socket: graphs, and node types that wait, flood and fail on demand.
import type { CreateWorkflowRequest } from '../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { NodeContext } from '../../src/engine/node-api/node-context.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeRegistry, NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import type { JobSubmission } from '../../src/jobs/service.ts'
import { graph, node, testType, withTypes } from '../engine/kit.ts'
import { startServer, type TestServer, type TestSettings, until } from '../helpers/server.ts'

export { edge, graph, node, sink, source } from '../engine/kit.ts'

const given = { name: 'value', type: ANY_TYPE, required: true }
const output = { name: 'output', type: ANY_TYPE }

interface Waiting {
  readonly key: string
  open(result?: unknown): void
  fail(error: unknown): void
}

/** Firings of `test.Gate` that wait until the test releases them, by the key of the node. */
export class Gates {
  readonly #waiting = new Set<Waiting>()
  /** The keys of all firings that have begun. */
  readonly begun: string[] = []
  readonly type: NodeType = testType('test.Gate', {
    properties: [given, { name: 'key', type: parseType('str'), default: '' }],
    outputs: [output],
    run: ({ value, key }, context) => this.#wait(value, key as string, context.signal),
  })
  /** As `test.Gate`, with firings that must not run twice. */
  readonly once: NodeType = { ...this.type, node_type: 'test.Once', retry_safe: false }

  /** The next firing with this key; waits for it. */
  async at(key: string): Promise<Waiting> {
    return until(`a firing of ${key}`, () => [...this.#waiting].find((waiting) => waiting.key === key))
  }

  async open(key: string, result?: unknown): Promise<void> {
    const waiting = await this.at(key)
    waiting.open(result)
  }

  isWaiting(key: string): boolean {
    return [...this.#waiting].some((waiting) => waiting.key === key)
  }

  #wait(value: unknown, key: string, signal: AbortSignal): Promise<Record<string, unknown>> {
    this.begun.push(key)
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting)
        signal.removeEventListener('abort', abort)
      }
      const abort = () => {
        leave()
        reject(signal.reason)
      }
      const waiting: Waiting = {
        key,
        open: (result = value) => {
          leave()
          resolve({ output: result })
        },
        fail: (error) => {
          leave()
          reject(error)
        },
      }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', abort)
    })
  }
}

/** Emits `count` strings of `size` characters, `at_once` in a turn of the event loop, each with a chunk, progress and a log line. */
const burst = testType('test.Burst', {
  properties: [
    { name: 'count', type: parseType('int'), default: 1 },
    { name: 'size', type: parseType('int'), default: 1 },
    { name: 'at_once', type: parseType('int'), default: 16 },
    { name: 'chunks', type: parseType('int'), default: 1 },
  ],
  outputs: [{ name: 'item', type: parseType('str'), stream: true }],
  async *run(given: Record<'count' | 'size' | 'at_once' | 'chunks', number>, context: NodeContext) {
    const { count, size, at_once, chunks } = given
    for (let at = 0; at < count; at++) {
      const text = `${at}:`.padEnd(size, 'x')
      for (let told = 0; told < chunks; told++) context.chunk(text)
      context.progress(at + 1, count)
      context.log('info', `item ${at}`)
      yield { item: text }
      if (at % at_once === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  },
})

/** Fails with `message`, which is public or not. */
const fail = testType('test.Fail', {
  properties: [given, { name: 'safe', type: parseType('bool'), default: true }],
  outputs: [output],
  run({ value, safe }) {
    if (safe) throw new NodeError(String(value), 'test_failed')
    throw new Error(String(value))
  },
})

export function registryOf(gates: Gates): NodeRegistry {
  return withTypes(gates.type, gates.once, burst, fail)
}

export interface Bench extends AsyncDisposable {
  readonly server: TestServer
  readonly gates: Gates
}

/** A server with the test's node types and without a message limit. */
export async function startBench(settings: TestSettings = {}): Promise<Bench> {
  const gates = new Gates()
  const config = { ws_rate_limit_disabled: true, ...settings.config }
  const server = await startServer({ registry: registryOf(gates), ...settings, config })
  return { server, gates, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

let ids = 0

/** An id that no other test of this file uses. */
export function newId(prefix = 'job'): string {
  return `${prefix}-${++ids}`
}

/** A submission as another transport makes it. */
export function submission(more: Partial<JobSubmission>): JobSubmission {
  return {
    workflow_id: null,
    graph: null,
    params: {},
    params_at: '/params',
    job_id: null,
    name: null,
    concurrent: true,
    timeout_seconds: null,
    options: { persistence: 'job', event_detail: 'full', asset_persistence: 'auto' },
    hasFollower: false,
    acceptsStreamInput: true,
    ...more,
  }
}

/** Stores a workflow of the local user and returns its id. */
export async function stored(server: TestServer, of: Graph, name = 'A workflow'): Promise<string> {
  const request = { name, graph: of as CreateWorkflowRequest['graph'] }
  const { record } = await server.context.runs.workflows.create(LOCAL_PRINCIPAL, request)
  return record.id
}

/** `name` → `Hello, {{name}}!` → `greeting`. */
export const greeting: Graph = graph(
  [
    node('name', 'input.String', { name: 'name', value: 'world' }),
    node('say', 'text.Template', { template: 'Hello, {{name}}!' }),
    node('greeting', 'output.Output', { name: 'greeting' }),
  ],
  ['name.output->say.name', 'say.output->greeting.value'],
)

/** `x` waits at the gate of this key and is published as `out`. */
export function gated(key: string): Graph {
  return graph(
    [
      node('in', 'input.Any', { name: 'x', value: 1 }),
      node('gate', 'test.Gate', { key }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    ['in.output->gate.value', 'gate.output->out.value'],
  )
}

/** Every item of `list` waits at the gate of this key and is published in the stream `out`. */
export function gatedItems(key: string, type = 'input.List'): Graph {
  return graph(
    [
      node('in', type, { name: 'list' }),
      node('each', 'control.ForEach'),
      node('gate', 'test.Gate', { key }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    ['in.output->each.list', 'each.item->gate.value', 'gate.output->out.value'],
  )
}

/** Publishes the values pushed into `x`. */
export function streamed(type = 'input.Any'): Graph {
  return graph(
    [node('in', type, { name: 'x', stream: true }), node('out', 'output.Output', { name: 'out' })],
    ['in.output->out.value'],
  )
}

/** A stream of `count` strings of `size` characters, each sent before in one or several chunks. */
export function flood(count: number, size: number, at_once = 16, chunks = 1): Graph {
  return graph(
    [node('burst', 'test.Burst', { count, size, at_once, chunks }), node('out', 'output.Output', { name: 'out' })],
    ['burst.item->out.value'],
  )
}
