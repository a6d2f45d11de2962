// Compiles a graph into a plan, or reports all of its issues. Runs the passes in order, then assembles the plan.
import { forEachSteps, mapSteps, runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { createNodeTypeLookup } from '../node-api/did-you-mean.ts'
import type { NodeRegistry, NodeType, NodeTypeLookup } from '../node-api/node-type.ts'
import { createCoercion, createTypeCheck, withBounds } from '../node-api/values/coercion.ts'
import { mayBeHeavy } from '../runtime/firings/cost.ts'
import { findNodesBeforeCatch, isCatchEdge } from './catch-paths.ts'
import { draftGraph } from './draft-edges.ts'
import type { DraftEdge, DraftNode } from './draft-nodes.ts'
import type { Graph, GraphIssue } from './graph.ts'
import { compileInput, compileOutput, validateInterface } from './graph-interface.ts'
import type { GraphIssueList, PendingExpression } from './graph-issues.ts'
import { addWarnings } from './graph-warnings.ts'
import { validateLoops } from './loop-validation.ts'
import { compileConstants, type NodeConstants } from './node-constants.ts'
import { orderNodes } from './node-order.ts'
import type { Plan, PlanInput, PlanNode, PlanOutput, PlanPort, PlanSlot, PlanTarget } from './plan.ts'
import { compileRetryPolicy } from './retry-policy.ts'
import { findStreamRegions } from './stream-regions.ts'
import { getEdgeScope, getScopeDepth, type NodeScope, resolveScopes } from './stream-scopes.ts'

export type { Plan, PlanInput, PlanOutput } from './plan.ts'

export interface CompilationResult {
  /** Null if the graph cannot be run. */
  plan: Plan | null
  issues: GraphIssue[]
  /** Expressions that are not validated yet: `validatePendingExpressions` reads them and adds their issues. */
  readonly pendingExpressions: Set<PendingExpression>
}

interface RunnableGraph extends CompilationResult {
  plan: Plan
}

/** Whether a new run may begin: no issue has severity error. Jobs accepted earlier continue if there is a plan. */
export function isRunnable(compiled: Readonly<CompilationResult>): compiled is RunnableGraph {
  return compiled.plan !== null && !compiled.issues.some(({ severity }) => severity === 'error')
}

/** The results of the passes over the whole graph, by node or edge. */
interface PassResults {
  readonly scopes: readonly NodeScope[]
  /** The slot number of each edge at its target. */
  readonly slotIndex: ReadonlyMap<DraftEdge, number>
  readonly beforeCatch: ReadonlySet<DraftNode>
  readonly types: NodeTypeLookup
}

/** Comparing two types with very many values may take milliseconds: each edge is a step. */
const EDGES_PER_STEP = 1

function compileSlots(node: DraftNode, constants: NodeConstants, scopes: readonly NodeScope[]): Steps<PlanSlot[]> {
  const compileSlot = (edge: DraftEdge, index: number): PlanSlot => {
    const property = edge.input === null ? undefined : node.info.properties.get(edge.input)
    const coerce = createCoercion(edge.sourceType, edge.targetType)
    return {
      name: edge.input,
      index,
      depth: getScopeDepth(getEdgeScope(edge, scopes)),
      edge_id: edge.id,
      source: edge.source.index,
      coerce: property ? withBounds(coerce, property) : coerce,
      type: edge.targetType,
      required: edge.input === null || constants.required.has(edge.input),
      aggregate: property?.aggregate === true,
      catches: property?.catches === true,
    }
  }
  return mapSteps(node.incoming, compileSlot, EDGES_PER_STEP)
}

function* compilePorts(node: DraftNode, { slotIndex, beforeCatch }: PassResults): Steps<PlanPort[]> {
  const targets = new Map<string | null, PlanTarget[]>()
  yield* forEachSteps(node.outgoing, (edge) => {
    const list = targets.get(edge.handle) ?? []
    targets.set(edge.handle, list)
    list.push({
      node: edge.target.index,
      slot: slotIndex.get(edge)!,
      passesFailures: isCatchEdge(edge) || beforeCatch.has(edge.target),
    })
  })
  return [...targets].map(([name, list]) => ({
    name,
    stream: name !== null && node.outputs.get(name)?.stream === true,
    targets: list,
  }))
}

/** Characters. The frames of a job repeat the name of their node, and a feed keeps them by the thousand. */
const LONGEST_DISPLAY_NAME = 1_000

function readDisplayName({ data: { name }, type }: DraftNode): string {
  return typeof name === 'string' && name !== '' && name.length <= LONGEST_DISPLAY_NAME ? name : type.title
}

/** A plain generator yields its items at once; for other functions only the result tells. */
function mayBeAsync(type: NodeType): boolean {
  return (
    type.role !== 'output' && !type.streamOperator && !type.loop && type.run?.constructor.name !== 'GeneratorFunction'
  )
}

/** Whether an edge is read outside of the join: a stream of a stream operator, or the feedback of a loop. */
function isSideEdge(edge: DraftEdge): boolean {
  return (
    edge.feedback ||
    (edge.target.type.streamOperator !== undefined && edge.target.info.aggregates.has(edge.input ?? ''))
  )
}

function* compileNode(node: DraftNode, passes: PassResults, issues: GraphIssueList): Steps<PlanNode> {
  const { scopes } = passes
  const constants = yield* compileConstants(node, passes.types, issues)
  const slots = yield* compileSlots(node, constants, scopes)
  const input = node.type.role === 'input' ? compileInput(node) : null
  const depth = getScopeDepth(scopes[node.index]?.fires ?? null)
  const sides = slots.filter((_slot, at) => isSideEdge(node.incoming[at]!))
  const joined = sides.length === 0 ? slots : slots.filter((slot) => !sides.includes(slot))
  const readDepth = depth + (joined.some((slot) => slot.aggregate) ? 1 : 0)
  return {
    index: node.index,
    observed: { node_id: node.id, node_name: readDisplayName(node), node_type: node.type.node_type },
    type: node.type,
    constants: constants.values,
    slots,
    hasOnlySingleInputs: slots.every((slot) => slot.depth === 0),
    joinedSlots: joined.map((slot) => slot.index),
    sideSlots: sides.map((slot) => slot.index),
    driverSlots: joined.filter((slot) => slot.depth === readDepth).map((slot) => slot.index),
    heldSlots: joined.filter((slot) => slot.depth < readDepth && slot.depth > 0).map((slot) => slot.index),
    ports: yield* compilePorts(node, passes),
    outputs: node.outputs,
    depth,
    readDepth,
    streamedOutputs: new Set([...node.outputs].flatMap(([name, { stream }]) => (stream || depth > 0 ? [name] : []))),
    opensStream: [...node.outputs.values()].some((output) => output.stream),
    mayBeAsync: mayBeAsync(node.type),
    mayBeHeavy: mayBeHeavy(node.type, constants.values),
    leadsToCatch: passes.beforeCatch.has(node),
    policy: compileRetryPolicy(node, issues),
    fanOut: node.type.loop ? Number.POSITIVE_INFINITY : node.outgoing.length,
    input,
    inputCheck: input && withBounds(createTypeCheck(input.type), input),
    output: node.type.role === 'output' ? compileOutput(node, scopes) : null,
  }
}

/** Validates the whole graph and, if no issue prevents it, compiles it. Linear in nodes and edges. */
export function compileGraph(graph: Graph, registry: NodeRegistry): CompilationResult {
  return runToCompletion(compileGraphSteps(graph, registry, true))
}

/** `compileGraph` in steps, for large graphs. */
export function* compileGraphSteps(graph: Graph, registry: NodeRegistry, at_once = false): Steps<CompilationResult> {
  const { nodes: drafts, issues } = yield* draftGraph(graph, registry)
  if (at_once) issues.compiledAtOnce()
  yield* validateInterface(drafts, issues)
  const ordered = yield* orderNodes(drafts, issues)
  const scopes = yield* resolveScopes(ordered, issues)
  if (ordered.length === drafts.length) yield* validateLoops(drafts, scopes, issues)
  const slotIndex = new Map<DraftEdge, number>()
  yield* forEachSteps(drafts, (node) => {
    for (const [slot, edge] of node.incoming.entries()) slotIndex.set(edge, slot)
  })
  const found = {
    scopes,
    slotIndex,
    beforeCatch: yield* findNodesBeforeCatch(drafts),
    types: createNodeTypeLookup(registry),
  }
  const nodes: PlanNode[] = []
  // One node may take milliseconds: its values have up to the size of the graph.
  for (const node of drafts) {
    yield
    nodes.push(yield* compileNode(node, found, issues))
  }
  yield* addWarnings(drafts, issues)
  const plan = issues.preventsPlan ? null : yield* assemblePlan(nodes, ordered)
  return { plan, issues: issues.list(), pendingExpressions: issues.pendingExpressions }
}

/** The plan of valid nodes. `ordered`: sources before targets. */
function* assemblePlan(nodes: readonly PlanNode[], ordered: readonly DraftNode[]): Steps<Plan> {
  const inputs: PlanInput[] = []
  const outputs: PlanOutput[] = []
  const roots: number[] = []
  const indexById = new Map<string, number>()
  const inputByName = new Map<string, PlanInput>()
  const outputByName = new Map<string, PlanOutput>()
  let streamEdges = 0
  yield* forEachSteps(nodes, (node) => {
    const { input, output } = node
    if (input) {
      inputs.push(input)
      inputByName.set(input.name, input)
    }
    if (output) {
      outputs.push(output)
      outputByName.set(output.name, output)
    }
    if (node.joinedSlots.length === 0 && !node.type.streamOperator) roots.push(node.index)
    indexById.set(node.observed.node_id, node.index)
    for (const slot of node.slots) if (slot.depth > 0) streamEdges++
  })
  const order = yield* mapSteps(ordered, (node) => node.index)
  const regions = yield* findStreamRegions(nodes, order)
  return { inputs, outputs, nodes, streamEdges, regions, roots, indexById, inputByName, outputByName }
}
