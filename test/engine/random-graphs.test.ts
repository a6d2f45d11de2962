// The engine against the reference evaluator, over random graphs with streams, branches, aggregates, control edges and
// asynchronous nodes. `SVC_TEST_SCALE` multiplies the number of graphs; a failure prints its seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { execute } from '../../src/engine/execution.ts'
import type { NodeType } from '../../src/engine/node-type.ts'
import { ANY } from '../../src/engine/types.ts'
import { graph, planOf, Recorder, testType, withTypes } from './kit.ts'
import { Evaluator, type RefEdge, type RefNode, type RefType } from './reference.ts'

/** Any value as a small number, so that every node can work on every value. */
function number(value: unknown): number {
  if (typeof value === 'number') return value
  if (Array.isArray(value)) return value.reduce((sum: number, one) => (sum * 3 + number(one)) % 1009, value.length)
  return value === null || value === undefined ? 7 : 1
}

const plain = (name: string, fallback?: number) => ({ name, required: fallback === undefined, fallback })

const TYPES: Record<string, RefType> = {
  Source: {
    properties: [plain('seed', 1)],
    streams: [],
    fire: ({ seed }) => ({ items: [], single: { output: seed } }),
  },
  Add: {
    properties: [plain('a', 10), plain('b', 20)],
    streams: [],
    fire: ({ a, b }) => ({ items: [], single: { output: (number(a) * 2 + number(b)) % 1009 } }),
  },
  Need: {
    properties: [plain('a'), plain('b')],
    streams: [],
    fire: ({ a, b }) => ({ items: [], single: { output: (number(a) + number(b) * 5) % 1009 } }),
  },
  Branch: {
    properties: [plain('a'), plain('b', 1)],
    streams: [],
    fire: ({ a, b }) => ({ items: [], single: { [number(a) % 2 === 0 ? 'even' : 'odd']: number(a) + number(b) } }),
  },
  Expand: {
    properties: [plain('a'), plain('b', 0)],
    streams: ['item', 'third'],
    fire({ a, b }) {
      const items = Array.from({ length: number(a) % 4 }, (_, at) => {
        const item = number(a) + at * 7 + number(b)
        return item % 3 === 0 ? { item, third: at } : { item }
      })
      return { items, single: number(a) % 5 === 0 ? {} : { count: items.length } }
    },
  },
  Collect: {
    properties: [{ name: 'a', required: true, aggregate: true }, plain('b', 3)],
    streams: [],
    fire: ({ a, b }) => ({ items: [], single: { output: [number(b), ...(a as unknown[]).map(number)] } }),
  },
}

const HANDLES: Record<string, string[]> = {
  Source: ['output'],
  Add: ['output'],
  Need: ['output'],
  Branch: ['even', 'odd'],
  Expand: ['item', 'third', 'count'],
  Collect: ['output'],
}

type Manner = 'sync' | 'async' | 'slow'
const MANNERS: Manner[] = ['sync', 'async', 'slow']

async function pause(manner: Manner, weight: number): Promise<void> {
  if (manner === 'async') return
  for (let turns = weight % 3; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
}

type Fire = RefType['fire']

function generator(fire: Fire, manner: Manner, count: () => void): NodeType['run'] {
  if (manner === 'sync') {
    return function* (inputs) {
      count()
      const { items, single } = fire(inputs)
      yield* items
      return single
    }
  }
  return async function* (inputs) {
    count()
    const { items, single } = fire(inputs)
    for (const item of items) {
      await pause(manner, number(item.item))
      yield item
    }
    return single
  }
}

function plainRun(fire: Fire, manner: Manner, count: () => void): NodeType['run'] {
  if (manner === 'sync') {
    return (inputs) => {
      count()
      return fire(inputs).single
    }
  }
  return async (inputs) => {
    count()
    await pause(manner, number(inputs.a))
    return fire(inputs).single
  }
}

function aggregate(fire: Fire, manner: Manner, count: () => void): NodeType['open'] {
  return (inputs) => {
    count()
    const items: unknown[] = []
    const push = (given: unknown) => {
      items.push(given)
    }
    const end = () => fire({ ...inputs, a: items }).single
    if (manner === 'sync') return { push, end }
    return { push: async (given) => pause(manner, number(given)).then(() => push(given)), end: async () => end() }
  }
}

function nodeType(name: string, type: RefType, manner: Manner, fired: Map<string, number>): NodeType {
  const count = (node_id: string) => fired.set(node_id, (fired.get(node_id) ?? 0) + 1)
  const collects = type.properties.some((property) => property.aggregate)
  return testType(`${name}.${manner}`, {
    properties: type.properties.map(({ name: of, required, fallback, aggregate: whole }) => ({
      name: of,
      type: ANY,
      required,
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(whole ? { aggregate: true } : {}),
    })),
    outputs: HANDLES[name]!.map((handle) => ({ name: handle, type: ANY, stream: type.streams.includes(handle) })),
    ...(collects
      ? { open: (inputs, context) => aggregate(type.fire, manner, () => count(context.node_id))!(inputs, context) }
      : type.streams.length > 0
        ? { run: (inputs, context) => generator(type.fire, manner, () => count(context.node_id))!(inputs, context) }
        : { run: (inputs, context) => plainRun(type.fire, manner, () => count(context.node_id))!(inputs, context) }),
  })
}

interface Step {
  kind: keyof typeof TYPES & string
  manner: Manner
  picks: number[]
  own: number
}

interface Place {
  node: string
  handle: string | null
  scope: string[]
}

function encloses(outer: string[], inner: string[]): boolean {
  return outer.length <= inner.length && outer.every((opener, at) => opener === inner[at])
}

/** Grows a legal graph out of random steps; a step that fits nowhere is left out. */
class Builder {
  readonly nodes: RefNode[] = []
  readonly manners = new Map<string, string>()
  readonly edges: RefEdge[] = []
  readonly #places: Place[] = []

  add(step: Step): void {
    const type = TYPES[step.kind]!
    const id = `n${this.nodes.length}`
    const collects = type.properties.some((property) => property.aggregate)
    let scope: string[] = []
    const edges: RefEdge[] = []
    const connect = (input: string | null, pick: number, aggregated: boolean): boolean => {
      const fitting = this.#places.filter((place) => {
        if (place.scope.length > 3) return false
        if (input !== null && place.handle === null) return false
        if (aggregated) return place.scope.length > 0
        return collects ? encloses(place.scope, scope) : encloses(place.scope, scope) || encloses(scope, place.scope)
      })
      const place = fitting[pick % Math.max(1, fitting.length)]
      if (!place) return false
      const inside = aggregated ? place.scope.slice(0, -1) : place.scope
      if (inside.length > scope.length) scope = inside
      edges.push({ source: place.node, handle: place.handle, target: id, input })
      return true
    }
    for (const [at, property] of type.properties.entries()) {
      const pick = step.picks[at] ?? 0
      const wanted = property.required || pick % 3 > 0
      if (wanted && !connect(property.name, pick, property.aggregate === true) && property.required) return
    }
    const pick = step.picks[2] ?? 0
    if (pick % 7 === 1) connect(null, pick, false)
    this.nodes.push({ id, type, own: step.own % 2 === 0 && !collects ? { b: step.own } : {}, publishes: null })
    this.manners.set(id, `${step.kind}.${step.manner}`)
    this.edges.push(...unique(edges))
    for (const handle of [...HANDLES[step.kind]!, null]) {
      const stream = handle !== null && type.streams.includes(handle)
      this.#places.push({ node: id, handle, scope: stream ? [...scope, id] : scope })
    }
  }

  /** Publishes every output of every node. */
  publish(): void {
    const publisher: RefType = { properties: [plain('value')], streams: [], fire: () => ({ items: [], single: {} }) }
    for (const place of this.#places) {
      if (place.handle === null) continue
      const id = `${place.node}.${place.handle}`
      this.nodes.push({ id, type: publisher, own: {}, publishes: id })
      this.edges.push({ source: place.node, handle: place.handle, target: id, input: 'value' })
    }
  }
}

function unique(edges: RefEdge[]): RefEdge[] {
  const seen = new Set<string>()
  return edges.filter((edge) => {
    const key = edge.input === null ? `${edge.source}/${edge.handle}` : `=${edge.input}`
    return !seen.has(key) && seen.add(key)
  })
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(...Object.keys(TYPES), 'Expand', 'Collect', 'Branch'),
    manner: fc.constantFrom(...MANNERS),
    picks: fc.array(fc.nat(1000), { minLength: 3, maxLength: 3 }),
    own: fc.nat(30),
  }),
  { minLength: 1, maxLength: 25 },
)

function build(recipe: Step[]): Builder {
  const builder = new Builder()
  builder.add({ kind: 'Source', manner: 'sync', picks: [0, 0, 0], own: 2 })
  for (const step of recipe) builder.add(step)
  builder.publish()
  return builder
}

function registryFor(fired: Map<string, number>) {
  return withTypes(
    ...Object.entries(TYPES).flatMap(([name, type]) => MANNERS.map((manner) => nodeType(name, type, manner, fired))),
  )
}

function graphOf({ nodes, edges, manners }: Builder) {
  return graph(
    nodes.map(({ id, own, publishes }) => ({
      id,
      type: manners.get(id) ?? 'output.Output',
      data: publishes === null ? own : { name: publishes },
    })),
    edges.map(({ source, handle, target, input }) => ({
      source,
      sourceHandle: handle,
      target,
      targetHandle: input,
      edge_type: input === null ? 'control' : 'data',
    })),
  )
}

const limits = fc.record({ concurrency: fc.integer({ min: 1, max: 9 }), inboxLimit: fc.constantFrom(1, 2, 3, 64) })

const scale = Number(process.env.SVC_TEST_SCALE ?? 1)

test('random graphs give what the reference evaluator gives, each node firing once per path', async () => {
  let streamed = 0
  const property = fc.asyncProperty(steps, limits, async (recipe, limit) => {
    const builder = build(recipe)
    const expected = new Evaluator(builder.nodes, builder.edges).evaluate()
    const fired = new Map<string, number>()
    const plan = planOf(graphOf(builder), registryFor(fired))
    const observer = new Recorder()
    const signal = new AbortController().signal
    const outcome = await execute(plan, { params: {}, signal, observer, ...limit }).done
    assert.deepEqual(outcome, { status: 'completed', outputs: expected.outputs })
    for (const { id, publishes } of builder.nodes) {
      if (publishes === null) assert.equal(fired.get(id) ?? 0, expected.firings[id], `firings of ${id}`)
      const last = expected.firings[id]! > 0 ? ['running', 'completed'] : ['skipped']
      assert.deepEqual(observer.statuses(id), last, `statuses of ${id}`)
    }
    if (builder.edges.some((edge) => edge.handle === 'item')) streamed++
  })
  await fc.assert(property, { numRuns: Math.ceil(1000 * scale) })
  assert.ok(streamed > 200 * scale, `only ${streamed} graphs had streams`)
})
