// Turns a graph into a plan, or says everything that is wrong with it: the passes in their order, then assembly.
import { finish, forEachStep, mapStep, type Steps } from '../time-slices.ts'
import { catches, nodesBeforeCatch } from './catching.ts'
import { type Constants, constantsOf } from './constants.ts'
import type { DraftEdge, DraftNode } from './draft.ts'
import { draftGraph } from './edges.ts'
import type { Graph, GraphIssue } from './graph.ts'
import { mayBeHeavy } from './heavy.ts'
import { checkNames, inputOf, outputOf } from './interface.ts'
import type { Issues, PendingExpression } from './issues.ts'
import { checkLoops } from './loops.ts'
import type { KnownTypes, NodeRegistry, NodeType } from './node-type.ts'
import { orderNodes } from './order.ts'
import type { Plan, PlanInput, PlanNode, PlanOutput, PlanPort, PlanSlot, PlanTarget } from './plan-parts.ts'
import { policyOf } from './policy.ts'
import { regionsOf } from './regions.ts'
import { depthOf, edgeScope, type NodeScope, scopeNodes } from './scopes.ts'
import { knownTypes } from './suggest.ts'
import { bounded, check, coercion } from './values.ts'
import { warnOf } from './warnings.ts'

export type { Plan, PlanInput, PlanOutput } from './plan-parts.ts'

export interface Compiled {
  /** Null where there is nothing that could be run. */
  plan: Plan | null
  issues: GraphIssue[]
  /** Expressions that are not read yet: `readPendingExpressions` reads them and adds to the issues. */
  readonly pending: Set<PendingExpression>
}

interface Runnable extends Compiled {
  plan: Plan
}

/** Whether a new run may begin: no issue has severity error. Accepted ones go on where there is a plan. */
export function isRunnable(compiled: Readonly<Compiled>): compiled is Runnable {
  return compiled.plan !== null && !compiled.issues.some(({ severity }) => severity === 'error')
}

/** What the passes over a whole graph found, by node or edge. */
interface Found {
  readonly scopes: readonly NodeScope[]
  /** The slot number of each edge at its target. */
  readonly slotIndex: ReadonlyMap<DraftEdge, number>
  readonly beforeCatch: ReadonlySet<DraftNode>
  readonly types: KnownTypes
}

/** Two types of very many values may take milliseconds to compare: each edge is a step. */
const EACH = 1

function slotsOf(node: DraftNode, constants: Constants, scopes: readonly NodeScope[]): Steps<PlanSlot[]> {
  const slotOf = (edge: DraftEdge, index: number): PlanSlot => {
    const property = edge.input === null ? undefined : node.info.properties.get(edge.input)
    const coerce = coercion(edge.sourceType, edge.targetType)
    return {
      name: edge.input,
      index,
      depth: depthOf(edgeScope(edge, scopes)),
      edge_id: edge.id,
      source: edge.source.index,
      coerce: property ? bounded(coerce, property) : coerce,
      type: edge.targetType,
      required: edge.input === null || constants.required.has(edge.input),
      aggregate: property?.aggregate === true,
      catches: property?.catches === true,
    }
  }
  return mapStep(node.incoming, slotOf, EACH)
}

function* portsOf(node: DraftNode, { slotIndex, beforeCatch }: Found): Steps<PlanPort[]> {
  const targets = new Map<string | null, PlanTarget[]>()
  yield* forEachStep(node.outgoing, (edge) => {
    const list = targets.get(edge.handle) ?? []
    targets.set(edge.handle, list)
    list.push({
      node: edge.target.index,
      slot: slotIndex.get(edge)!,
      heeds: catches(edge) || beforeCatch.has(edge.target),
    })
  })
  return [...targets].map(([name, list]) => ({
    name,
    stream: name !== null && node.outputs.get(name)?.stream === true,
    targets: list,
  }))
}

function nameOf(node: DraftNode): string {
  return typeof node.data.name === 'string' && node.data.name !== '' ? node.data.name : node.type.title
}

/** A plain generator gives its items at once; of everything else only the result says whether it does. */
function mayWait(type: NodeType): boolean {
  return type.role !== 'output' && !type.weave && !type.loop && type.run?.constructor.name !== 'GeneratorFunction'
}

/** Whether an edge is read apart from the join: a stream of a weave, or what comes back to a loop. */
function isSide(edge: DraftEdge): boolean {
  return edge.feedback || (edge.target.type.weave !== undefined && edge.target.info.aggregates.has(edge.input ?? ''))
}

function* planNode(node: DraftNode, found: Found, issues: Issues): Steps<PlanNode> {
  const { scopes } = found
  const constants = yield* constantsOf(node, found.types, issues)
  const slots = yield* slotsOf(node, constants, scopes)
  const input = node.type.role === 'input' ? inputOf(node) : null
  const depth = depthOf(scopes[node.index]?.fires ?? null)
  const sides = slots.filter((_slot, at) => isSide(node.incoming[at]!))
  const joined = sides.length === 0 ? slots : slots.filter((slot) => !sides.includes(slot))
  const readDepth = depth + (joined.some((slot) => slot.aggregate) ? 1 : 0)
  return {
    index: node.index,
    observed: { node_id: node.id, node_name: nameOf(node), node_type: node.type.node_type },
    type: node.type,
    constants: constants.values,
    slots,
    flat: slots.every((slot) => slot.depth === 0),
    joined: joined.map((slot) => slot.index),
    sides: sides.map((slot) => slot.index),
    drivers: joined.filter((slot) => slot.depth === readDepth).map((slot) => slot.index),
    held: joined.filter((slot) => slot.depth < readDepth && slot.depth > 0).map((slot) => slot.index),
    ports: yield* portsOf(node, found),
    outputs: node.outputs,
    depth,
    readDepth,
    streamed: new Set([...node.outputs].flatMap(([name, { stream }]) => (stream || depth > 0 ? [name] : []))),
    streaming: [...node.outputs.values()].some((output) => output.stream),
    mayWait: mayWait(node.type),
    mayBeHeavy: mayBeHeavy(node.type, constants.values),
    leadsToCatch: found.beforeCatch.has(node),
    policy: policyOf(node, issues),
    fanOut: node.type.loop ? Number.POSITIVE_INFINITY : node.outgoing.length,
    input,
    inputCheck: input && bounded(check(input.type), input),
    output: node.type.role === 'output' ? outputOf(node, scopes) : null,
  }
}

/** Checks the whole graph and, where it can be laid out, compiles it. Linear in nodes and edges. */
export function compileGraph(graph: Graph, registry: NodeRegistry): Compiled {
  return finish(compileSteps(graph, registry, true))
}

/** So many nodes to a step. */
const SOME = 64

/** The same in steps, for graphs that are large. */
export function* compileSteps(graph: Graph, registry: NodeRegistry, at_once = false): Steps<Compiled> {
  const { nodes: drafts, issues } = yield* draftGraph(graph, registry)
  if (at_once) issues.compiledAtOnce()
  yield* checkNames(drafts, issues)
  const ordered = yield* orderNodes(drafts, issues)
  const scopes = yield* scopeNodes(ordered, issues)
  if (ordered.length === drafts.length) yield* checkLoops(drafts, scopes, issues)
  const slotIndex = new Map<DraftEdge, number>()
  yield* forEachStep(drafts, (node) => {
    for (const [slot, edge] of node.incoming.entries()) slotIndex.set(edge, slot)
  })
  const found = { scopes, slotIndex, beforeCatch: yield* nodesBeforeCatch(drafts), types: knownTypes(registry) }
  const nodes: PlanNode[] = []
  for (const [at, node] of drafts.entries()) {
    if (at % SOME === 0) yield
    nodes.push(yield* planNode(node, found, issues))
  }
  yield* warnOf(drafts, issues)
  const plan = issues.leaveNoPlan ? null : yield* assembled(nodes, ordered)
  return { plan, issues: issues.list(), pending: issues.pending }
}

/** The plan of nodes that are right. `ordered`: sources before targets. */
function* assembled(nodes: readonly PlanNode[], ordered: readonly DraftNode[]): Steps<Plan> {
  const inputs: PlanInput[] = []
  const outputs: PlanOutput[] = []
  const roots: number[] = []
  const indexById = new Map<string, number>()
  const inputByName = new Map<string, PlanInput>()
  const outputByName = new Map<string, PlanOutput>()
  let streamEdges = 0
  yield* forEachStep(nodes, (node) => {
    const { input, output } = node
    if (input) {
      inputs.push(input)
      inputByName.set(input.name, input)
    }
    if (output) {
      outputs.push(output)
      outputByName.set(output.name, output)
    }
    if (node.joined.length === 0 && !node.type.weave) roots.push(node.index)
    indexById.set(node.observed.node_id, node.index)
    for (const slot of node.slots) if (slot.depth > 0) streamEdges++
  })
  const order = yield* mapStep(ordered, (node) => node.index)
  const regions = yield* regionsOf(nodes, order)
  return { inputs, outputs, nodes, streamEdges, regions, roots, indexById, inputByName, outputByName }
}
