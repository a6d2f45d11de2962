// The node types as clients search them.
import type { NodeMetadata } from '../../generated/types.ts'
import { createNodeMetadata } from '../engine/node-api/node-metadata.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { cacheJsonText } from '../shared/incremental-json.ts'

export interface NodeTypeFilter {
  /** This namespace and those below it. */
  namespace?: string | null | undefined
  /** Part of the name, title or description, in any case. */
  q?: string | null | undefined
  node_type?: string | null | undefined
}

/** By registry; nobody changes what is in them. */
const metadataByRegistry = new WeakMap<NodeRegistry, NodeMetadata[]>()

/** The metadata of every node type that passes all filters, by name. Without filters it is always the same list, whose JSON text is known. */
export function findNodeTypes(registry: NodeRegistry, { namespace, q, node_type }: NodeTypeFilter): NodeMetadata[] {
  const all = metadataByRegistry.get(registry) ?? readAllMetadata(registry)
  metadataByRegistry.set(registry, all)
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

function readAllMetadata(registry: NodeRegistry): NodeMetadata[] {
  const all = registry
    .all()
    // The engine freezes its types; the contract's have mutable arrays.
    .map((type) => createNodeMetadata(type) as NodeMetadata)
    .sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  cacheJsonText(all, JSON.stringify(all))
  return all
}

/** What a list shows of a node type. */
export function summarizeNodeType({ node_type, title, description, namespace }: NodeMetadata) {
  return { node_type, title, description, namespace }
}
