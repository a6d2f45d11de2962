// The nodes of a graph as a preflight looks at them: their own values, what feeds them, how often they fire. Also of graphs that cannot run.
import { attempt, dynamicValue, propertyCheck } from '../engine/constants.ts'
import { dynamicInputs } from '../engine/draft.ts'
import type { GraphNode } from '../engine/graph.ts'
import type { NodeFacts, NodeRegistry, NodeType } from '../engine/node-type.ts'
import type { Plan, PlanInput } from '../engine/plan.ts'
import { typeInfo } from '../engine/type-info.ts'
import { ANY } from '../engine/types.ts'
import { type Coerce, check } from '../engine/values.ts'
import { forEachStep, mapStep, type Steps } from '../time-slices.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import { type Firings, firingSteps } from './preflight-firings.ts'

export interface NodeView {
  readonly id: string
  /** As the graph says it, whether there is one or not. */
  readonly node_type: string
  readonly type: NodeType | undefined
  /** Its own values and defaults, without those of inputs that an edge feeds. */
  readonly data: Readonly<Record<string, unknown>>
  readonly connected: ReadonlySet<string>
  /** The inputs of the run whose value comes straight to a property. */
  readonly given: ReadonlyMap<string, PlanInput>
  readonly firings: Firings
}

/** Each node is a step: it may have tens of thousands of values. */
const AT_ONCE = 1

const known = new WeakMap<CompiledGraph, readonly NodeView[]>()
/** Those that are being made: all preflights of a graph go on with the same in their turns. */
const making = new WeakMap<CompiledGraph, Steps<void>>()

/** Looked up once for each compiled graph: they are kept as long as it is. */
export function* nodeViewSteps(compiled: CompiledGraph, registry: NodeRegistry): Steps<readonly NodeView[]> {
  for (;;) {
    const views = known.get(compiled)
    if (views) return views
    const steps = making.get(compiled) ?? keptSteps(compiled, registry)
    making.set(compiled, steps)
    steps.next()
    yield
  }
}

function* keptSteps(compiled: CompiledGraph, registry: NodeRegistry): Steps<void> {
  try {
    known.set(compiled, yield* compiled.plan ? planned(compiled.plan) : drafted(compiled, registry))
  } finally {
    making.delete(compiled)
  }
}

/** `given`: where the value of a property comes from an input of the run alone, it counts as the node's own. */
export function factsOf(view: NodeView, given?: (input: PlanInput) => unknown): NodeFacts {
  const own = given ? givenValues(view, given) : new Map<string, unknown>()
  return {
    node_id: view.id,
    data: own.size === 0 ? view.data : { ...view.data, ...Object.fromEntries(own) },
    isConnected: (property) => view.connected.has(property) && !own.has(property),
  }
}

function givenValues({ type, given: inputs }: NodeView, given: (input: PlanInput) => unknown): Map<string, unknown> {
  const values = new Map<string, unknown>()
  if (!type) return values
  const { properties } = typeInfo(type)
  for (const [name, input] of inputs) {
    const [value, property] = [given(input) ?? null, properties.get(name)]
    // What does not fit is told as an issue of the input.
    const result = value === null || !property ? null : attempt(propertyCheck(property), value)
    if (result && 'value' in result) values.set(name, result.value)
  }
  return values
}

/**
 * A node that a model calls as a tool: what its author does not set, the model writes. `passed`: whether `data` came along an edge; then its
 * values are those of inputs by the same names.
 */
export function toolView(type: NodeType, data: Readonly<Record<string, unknown>>, passed: boolean): NodeView {
  const { node_type } = type
  const open = type.properties.filter(({ name }) => !Object.hasOwn(data, name)).map(({ name }) => name)
  const fed = passed ? Object.keys(data).filter((name) => data[name] !== null) : []
  const connected = new Set([...open, ...fed])
  const own = ownValues({ id: node_type, type: node_type, data: { ...data } }, type)
  return {
    id: node_type,
    node_type,
    type,
    data: unfed(own, connected),
    connected,
    given: new Map(fed.map((name) => [name, passedInput(name)])),
    firings: 'unknown',
  }
}

function passedInput(name: string): PlanInput {
  return { node_id: name, name, description: '', type: ANY, required: true, default: null, stream: false }
}

function* planned(plan: Plan): Steps<NodeView[]> {
  const firings = yield* firingSteps(plan)
  return yield* mapStep(
    plan.nodes,
    (node): NodeView => {
      const slots = node.slots.flatMap((slot) => (slot.name === null ? [] : [{ ...slot, name: slot.name }]))
      const connected = new Set(slots.map(({ name }) => name))
      const inputs = slots.flatMap(({ name, source }) => {
        const { input } = plan.nodes[source]!
        return input && !input.stream ? [[name, input] as const] : []
      })
      return {
        id: node.observed.node_id,
        node_type: node.type.node_type,
        type: node.type,
        data: unfed(node.constants, connected),
        connected,
        given: new Map(inputs),
        firings: firings[node.index]!,
      }
    },
    AT_ONCE,
  )
}

const NOT_FED: ReadonlySet<string> = new Set()

function* drafted({ graph }: CompiledGraph, registry: NodeRegistry): Steps<NodeView[]> {
  const fed = new Map<string, Set<string>>()
  yield* forEachStep(graph.edges, ({ target, targetHandle }) => {
    fed.set(target, (fed.get(target) ?? new Set()).add(targetHandle ?? ''))
  })
  return yield* mapStep(
    graph.nodes,
    (node): NodeView => {
      const type = registry.get(node.type)
      const connected = fed.get(node.id) ?? NOT_FED
      return {
        id: node.id,
        node_type: node.type,
        type,
        data: unfed(ownValues(node, type), connected),
        connected,
        given: new Map(),
        firings: 'unknown',
      }
    },
    AT_ONCE,
  )
}

/** Values that do not fit their property are left out: node types rely on it. */
function ownValues(node: GraphNode, type: NodeType | undefined): Record<string, unknown> {
  const data = node.data ?? {}
  if (!type) return { ...data }
  const info = typeInfo(type)
  const values: Record<string, unknown> = { ...info.defaults }
  const take = (name: string, own: unknown, coerce: Coerce) => {
    const result = own === null ? null : attempt(coerce, own)
    if (result && 'value' in result) values[name] = result.value
  }
  for (const [name, property] of info.properties) take(name, data[name] ?? null, propertyCheck(property))
  for (const [name, declared] of dynamicInputs(node, type, info))
    take(name, dynamicValue({ node, data }, name), check(declared))
  return values
}

function unfed(values: Readonly<Record<string, unknown>>, connected: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !connected.has(name)))
}
