// Builds the preflight's view of the nodes of a graph: their own values, their inputs, and how often they fire. It also works for graphs
// that cannot run.

import type { Plan, PlanInput } from '../../engine/compile/compiler.ts'
import { resolveDynamicInputs } from '../../engine/compile/draft-nodes.ts'
import type { GraphNode } from '../../engine/compile/graph.ts'
import { createPropertyCheck, readDynamicValue, tryCoerce } from '../../engine/compile/node-constants.ts'
import { getNodeTypeInfo } from '../../engine/compile/node-type-info.ts'
import type { NodeFacts } from '../../engine/node-api/node-facts.ts'
import type { NodeRegistry, NodeType } from '../../engine/node-api/node-type.ts'
import { type Coercion, createTypeCheck } from '../../engine/node-api/values/coercion.ts'
import { ANY_TYPE } from '../../engine/node-api/values/type-metadata.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import { countFiringsSteps, type FiringCount } from './firing-counts.ts'

export interface NodeView {
  readonly id: string
  /** The type as the graph names it, whether it exists or not. */
  readonly node_type: string
  readonly type: NodeType | undefined
  /** The node's own values and defaults, without properties that an edge feeds. */
  readonly data: Readonly<Record<string, unknown>>
  readonly connected: ReadonlySet<string>
  /** The inputs of the run that feed a property directly. */
  readonly runInputs: ReadonlyMap<string, PlanInput>
  readonly firings: FiringCount
}

/** Nodes per step. A node may have tens of thousands of values. */
const AT_ONCE = 1

const cachedViews = new WeakMap<CompiledWorkflowGraph, readonly NodeView[]>()
/** Views that are being built. All preflights of a graph share this work. */
const viewsInProgress = new WeakMap<CompiledWorkflowGraph, Steps<void>>()

/** Builds the views once for each compiled graph, and caches them as long as the graph exists. */
export function* buildNodeViewsSteps(
  compiled: CompiledWorkflowGraph,
  registry: NodeRegistry,
): Steps<readonly NodeView[]> {
  for (;;) {
    const views = cachedViews.get(compiled)
    if (views) return views
    const steps = viewsInProgress.get(compiled) ?? cacheViewsSteps(compiled, registry)
    viewsInProgress.set(compiled, steps)
    steps.next()
    yield
  }
}

function* cacheViewsSteps(compiled: CompiledWorkflowGraph, registry: NodeRegistry): Steps<void> {
  try {
    cachedViews.set(
      compiled,
      yield* compiled.plan ? planViewsSteps(compiled.plan) : draftViewsSteps(compiled, registry),
    )
  } finally {
    viewsInProgress.delete(compiled)
  }
}

/** With `given`, a property that only an input of the run feeds counts as the node's own value. */
export function nodeFactsOf(view: NodeView, given?: (input: PlanInput) => unknown): NodeFacts {
  const own = given ? coerceRunInputs(view, given) : new Map<string, unknown>()
  return {
    node_id: view.id,
    data: own.size === 0 ? view.data : { ...view.data, ...Object.fromEntries(own) },
    isConnected: (property) => view.connected.has(property) && !own.has(property),
  }
}

function coerceRunInputs(
  { type, runInputs: inputs }: NodeView,
  given: (input: PlanInput) => unknown,
): Map<string, unknown> {
  const values = new Map<string, unknown>()
  if (!type) return values
  const { properties } = getNodeTypeInfo(type)
  for (const [name, input] of inputs) {
    const [value, property] = [given(input) ?? null, properties.get(name)]
    // A value that does not fit is reported as an issue of the input.
    const result = value === null || !property ? null : tryCoerce(createPropertyCheck(property), value)
    if (result && 'value' in result) values.set(name, result.value)
  }
  return values
}

/**
 * Builds the view of a node that a model calls as a tool. The model writes the properties that the author does not set. `passed`: `data`
 * came along an edge, and then its values count as inputs of the same names.
 */
export function createToolNodeView(type: NodeType, data: Readonly<Record<string, unknown>>, passed: boolean): NodeView {
  const { node_type } = type
  const open = type.properties.filter(({ name }) => !Object.hasOwn(data, name)).map(({ name }) => name)
  const fed = passed ? Object.keys(data).filter((name) => data[name] !== null) : []
  const connected = new Set([...open, ...fed])
  const own = coerceOwnValues({ id: node_type, type: node_type, data: { ...data } }, type)
  return {
    id: node_type,
    node_type,
    type,
    data: omitConnected(own, connected),
    connected,
    runInputs: new Map(fed.map((name) => [name, toPlanInput(name)])),
    firings: 'unknown',
  }
}

function toPlanInput(name: string): PlanInput {
  return { node_id: name, name, description: '', type: ANY_TYPE, required: true, default: null, stream: false }
}

function* planViewsSteps(plan: Plan): Steps<NodeView[]> {
  const firings = yield* countFiringsSteps(plan)
  return yield* mapSteps(
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
        data: omitConnected(node.constants, connected),
        connected,
        runInputs: new Map(inputs),
        firings: firings[node.index]!,
      }
    },
    AT_ONCE,
  )
}

const NOT_CONNECTED: ReadonlySet<string> = new Set()

function* draftViewsSteps({ graph }: CompiledWorkflowGraph, registry: NodeRegistry): Steps<NodeView[]> {
  const fed = new Map<string, Set<string>>()
  yield* forEachSteps(graph.edges, ({ target, targetHandle }) => {
    fed.set(target, (fed.get(target) ?? new Set()).add(targetHandle ?? ''))
  })
  return yield* mapSteps(
    graph.nodes,
    (node): NodeView => {
      const type = registry.get(node.type)
      const connected = fed.get(node.id) ?? NOT_CONNECTED
      return {
        id: node.id,
        node_type: node.type,
        type,
        data: omitConnected(coerceOwnValues(node, type), connected),
        connected,
        runInputs: new Map(),
        firings: 'unknown',
      }
    },
    AT_ONCE,
  )
}

/** Values that do not fit their property are left out, as node types expect. */
function coerceOwnValues(node: GraphNode, type: NodeType | undefined): Record<string, unknown> {
  const data = node.data ?? {}
  if (!type) return { ...data }
  const info = getNodeTypeInfo(type)
  const values: Record<string, unknown> = { ...info.defaults }
  const take = (name: string, own: unknown, coerce: Coercion) => {
    const result = own === null ? null : tryCoerce(coerce, own)
    if (result && 'value' in result) values[name] = result.value
  }
  for (const [name, property] of info.properties) take(name, data[name] ?? null, createPropertyCheck(property))
  for (const [name, declared] of resolveDynamicInputs(node, type, info))
    take(name, readDynamicValue({ node, data }, name), createTypeCheck(declared))
  return values
}

function omitConnected(
  values: Readonly<Record<string, unknown>>,
  connected: ReadonlySet<string>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !connected.has(name)))
}
