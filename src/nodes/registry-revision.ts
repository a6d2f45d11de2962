// The revision of a registry: a number that changes when its node types do.
import { createNodeMetadata } from '../engine/node-api/node-metadata.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { sha256 } from '../shared/hashes.ts'
import { canonicalJson } from '../shared/json.ts'

const revisionByRegistry = new WeakMap<NodeRegistry, number>()
/** In hexadecimal digits: every client reads 48 bits exactly. */
const DIGITS = 12

/** Equal for registries with the same node types, in all processes. */
export function readRegistryRevision(registry: NodeRegistry): number {
  const found = revisionByRegistry.get(registry) ?? computeRevision(registry)
  revisionByRegistry.set(registry, found)
  return found
}

function computeRevision(registry: NodeRegistry): number {
  const types = registry
    .all()
    .map(createNodeMetadata)
    .sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  return Number.parseInt(sha256(canonicalJson(types)).slice(0, DIGITS), 16)
}
