// The search of clients in the node types.
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

/** The cache by registry. Registries never change. */
const metadataByRegistry = new WeakMap<NodeRegistry, NodeMetadata[]>()

/**
 * The metadata of every node type that passes all filters, by name. Without filters the result is always the same list, whose JSON text is
 * cached.
 */
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
    // The types of the engine are frozen; those of the contract have mutable arrays.
    .map((type) => createNodeMetadata(type) as NodeMetadata)
    .sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  cacheJsonText(all, JSON.stringify(all))
  return all
}

/** The fields of a node type that a list shows. */
export function summarizeNodeType({ node_type, title, description, namespace }: NodeMetadata) {
  return { node_type, title, description, namespace }
}
