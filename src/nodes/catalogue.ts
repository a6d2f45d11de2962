// The node types as clients search them.
import type { NodeMetadata } from '../../generated/types.ts'
import { nodeMetadata } from '../engine/metadata.ts'
import type { NodeRegistry } from '../engine/node-type.ts'

export interface NodeFilter {
  /** This namespace and those below it. */
  namespace?: string | null | undefined
  /** Part of the name, title or description, in any case. */
  q?: string | null | undefined
  node_type?: string | null | undefined
}

/** The metadata of every node type that passes all filters, by name. */
export function findNodes(registry: NodeRegistry, { namespace, q, node_type }: NodeFilter): NodeMetadata[] {
  const text = q?.toLowerCase()
  return (
    registry
      .all()
      // The engine freezes its types; the contract's have mutable arrays.
      .map((type) => nodeMetadata(type) as NodeMetadata)
      .filter((node) => !namespace || node.namespace === namespace || node.namespace.startsWith(`${namespace}.`))
      .filter((node) => !node_type || node.node_type === node_type)
      .filter(
        (node) =>
          !text || [node.node_type, node.title, node.description].some((part) => part.toLowerCase().includes(text)),
      )
      .sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  )
}

/** What a list shows of a node type. */
export function nodeSummary({ node_type, title, description, namespace }: NodeMetadata) {
  return { node_type, title, description, namespace }
}
