// All node types that come with the service, by name. `make generate` lists them: every exported array `…Nodes` in this folder.
import { builtinNodeTypes } from '../../generated/nodes.ts'
import type { NodeRegistry, NodeType } from '../engine/node-api/node-type.ts'

/** A registry of the given node types, sorted by name. Throws if two have the same name. */
export function createRegistry(types: readonly NodeType[]): NodeRegistry {
  const byName = new Map(types.map((type) => [type.node_type, type]))
  if (byName.size !== types.length) throw new Error('Two node types have the same name')
  const sorted = [...types].sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  return { get: (node_type) => byName.get(node_type), all: () => sorted }
}

export const builtinRegistry: NodeRegistry = createRegistry(builtinNodeTypes)
