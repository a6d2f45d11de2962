// First half of the first pass: resolves the type and handles of each node, and reports unknown types and duplicate ids. draft-edges.ts
// resolves the edges; later passes find order, scopes and values.
import { forEachSteps, runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { NameSuggestions } from '../node-api/did-you-mean.ts'
import type { NodeRegistry, NodeType } from '../node-api/node-type.ts'
import {
  ANY_TYPE,
  isAssignable,
  isTypeName,
  readTypeMetadata,
  type TypeMetadata,
} from '../node-api/values/type-metadata.ts'
import type { Graph, GraphIssue, GraphIssueCode, GraphNode } from './graph.ts'
import type { GraphIssueList } from './graph-issues.ts'
import { getNodeTypeInfo, type NodeTypeInfo } from './node-type-info.ts'
import type { PlanNodeOutput } from './plan.ts'

export interface DraftNode {
  readonly index: number
  readonly id: string
  readonly node: GraphNode
  readonly data: Readonly<Record<string, unknown>>
  readonly type: NodeType
  readonly info: NodeTypeInfo
  /** Inputs beyond the type's properties, by name. An input that only an edge declares has type any. */
  readonly dynamic: Map<string, TypeMetadata>
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
  readonly incoming: DraftEdge[]
  readonly outgoing: DraftEdge[]
  /** Inputs that valid or invalid edges target: for an invalid edge, one issue is enough. */
  readonly targetedInputs: Set<string>
}

export interface DraftEdge {
  readonly id: string
  readonly source: DraftNode
  readonly target: DraftNode
  /** The source's output; null for the signal of its firings. */
  readonly handle: string | null
  /** The target's input; null for a control edge. */
  readonly input: string | null
  readonly sourceType: TypeMetadata
  readonly targetType: TypeMetadata
  /** Whether the edge returns the result of a loop's round to the loop. */
  readonly feedback: boolean
}

export interface GraphDraft {
  readonly nodes: DraftNode[]
  readonly issues: GraphIssueList
}

export function createIssue(
  code: GraphIssueCode,
  message: string,
  node_id: string | null,
  pin_name: string | null = null,
): GraphIssue {
  return { severity: 'error', code, message, node_id, pin_name }
}

/** Assigning this name to a plain record would change its prototype, so no handle may have it. */
export const FORBIDDEN_HANDLE = '__proto__'

export const TYPE_METADATA_KEYS: ReadonlySet<string> = new Set(['type', 'optional', 'values', 'type_args', 'type_name'])

/** Whether an entry of `dynamic_properties` declares a type, rather than being the input's value. */
export function isTypeDeclaration(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return false
  const named = 'type' in entry && typeof entry.type === 'string' && isTypeName(entry.type)
  return named && Object.keys(entry).every((key) => TYPE_METADATA_KEYS.has(key))
}

/** A step covers only a few declared types, as one type may list thousands of values. */
const TYPES_PER_STEP = 16

/** The inputs that a node declares beyond its type's properties, with their types. */
export function resolveDynamicInputs(node: GraphNode, type: NodeType, info: NodeTypeInfo): Map<string, TypeMetadata> {
  return runToCompletion(resolveDynamicInputSteps(node, type, info))
}

function* resolveDynamicInputSteps(
  node: GraphNode,
  type: NodeType,
  info: NodeTypeInfo,
): Steps<Map<string, TypeMetadata>> {
  const entries = (type.supports_dynamic_inputs && node.dynamic_properties) || {}
  const inputs = new Map<string, TypeMetadata>()
  yield* forEachSteps(
    Object.keys(entries),
    (name) => {
      const entry = entries[name]
      if (name === FORBIDDEN_HANDLE || info.properties.has(name)) return
      inputs.set(name, resolveDynamicType(type, isTypeDeclaration(entry) ? readTypeMetadata(entry) : ANY_TYPE))
    },
    TYPES_PER_STEP,
  )
  return inputs
}

/** The type of a dynamic input with this declaration; never a type that the node cannot take. */
export function resolveDynamicType(
  { dynamic_input_type: own = ANY_TYPE }: NodeType,
  declared: TypeMetadata,
): TypeMetadata {
  return declared.type !== 'any' && isAssignable(declared, own) ? declared : own
}

/** Whether an entry of `dynamic_outputs` declares a stream output. */
function declaresStream(entry: unknown, type: NodeType): boolean {
  if (!type.supports_dynamic_streams || typeof entry !== 'object' || entry === null) return false
  return 'stream' in entry && entry.stream === true
}

function* resolveOutputs(
  node: GraphNode,
  type: NodeType,
  info: NodeTypeInfo,
): Steps<ReadonlyMap<string, PlanNodeOutput>> {
  if (type.role === 'input' && node.data?.stream === true) {
    return new Map([...info.outputs].map(([name, output]) => [name, { ...output, stream: true }]))
  }
  const dynamic = type.supports_dynamic_outputs ? Object.entries(node.dynamic_outputs ?? {}) : []
  if (dynamic.length === 0) return info.outputs
  const outputs = new Map(info.outputs)
  yield* forEachSteps(
    dynamic,
    ([name, entry]) => {
      if (name === FORBIDDEN_HANDLE || outputs.has(name)) return
      outputs.set(name, { type: readTypeMetadata(entry), stream: declaresStream(entry, type) })
    },
    TYPES_PER_STEP,
  )
  return outputs
}

const NODES_PER_STEP = 64

/** The nodes of known type, and all nodes by id: null if the type is unknown. */
export function* resolveNodes(graph: Graph, registry: NodeRegistry, issues: GraphIssueList) {
  const nodes: DraftNode[] = []
  const byId = new Map<string, DraftNode | null>()
  const unknown = new Map<string, string>()
  const hints = new NameSuggestions()
  for (const [at, node] of graph.nodes.entries()) {
    if (at % NODES_PER_STEP === 0) yield
    if (byId.has(node.id)) {
      issues.push(createIssue('duplicate_id', `Two nodes have the id "${node.id}".`, node.id))
      continue
    }
    const type = registry.get(node.type)
    if (!type) {
      if (!unknown.has(node.type)) {
        unknown.set(node.type, hints.suggestType(node.type, registry.all()))
      }
      const text = `There is no node type "${node.type}".${unknown.get(node.type)}`
      issues.push(createIssue('unknown_node', text, node.id))
      byId.set(node.id, null)
      continue
    }
    const info = getNodeTypeInfo(type)
    const draft: DraftNode = {
      index: nodes.length,
      id: node.id,
      node,
      data: node.data ?? {},
      type,
      info,
      dynamic: yield* resolveDynamicInputSteps(node, type, info),
      outputs: yield* resolveOutputs(node, type, info),
      incoming: [],
      outgoing: [],
      targetedInputs: new Set(),
    }
    nodes.push(draft)
    byId.set(node.id, draft)
  }
  return { nodes, byId }
}
