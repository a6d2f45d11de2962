// The node types as clients search them.
import type { NodeMetadata } from '../../generated/types.ts'
import { nodeMetadata } from '../engine/metadata.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { keepText } from '../json-steps.ts'

export interface NodeFilter {
  /** This namespace and those below it. */
  namespace?: string | null | undefined
  /** Part of the name, title or description, in any case. */
  q?: string | null | undefined
  node_type?: string | null | undefined
}

/** By registry; nobody changes what is in them. */
const known = new WeakMap<NodeRegistry, NodeMetadata[]>()

/** The metadata of every node type that passes all filters, by name. Without filters it is always the same list, whose JSON text is known. */
export function findNodes(registry: NodeRegistry, { namespace, q, node_type }: NodeFilter): NodeMetadata[] {
  const all = known.get(registry) ?? allOf(registry)
  known.set(registry, all)
  if (!namespace && !node_type && !q) return all
  const text = q?.toLowerCase()
  return all
    .filter((node) => !namespace || node.namespace === namespace || node.namespace.startsWith(`${namespace}.`))
    .filter((node) => !node_type || node.node_type === node_type)
    .filter(
      (node) =>
        !text || [node.node_type, node.title, node.description].some((part) => part.toLowerCase().includes(text)),
    )
}

function allOf(registry: NodeRegistry): NodeMetadata[] {
  const all = registry
    .all()
    // The engine freezes its types; the contract's have mutable arrays.
    .map((type) => nodeMetadata(type) as NodeMetadata)
    .sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  keepText(all, JSON.stringify(all))
  return all
}

/** What a list shows of a node type. */
export function nodeSummary({ node_type, title, description, namespace }: NodeMetadata) {
  return { node_type, title, description, namespace }
}
