// The revision of a registry: a number that changes when its node types do.
import { nodeMetadata } from '../engine/metadata.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { sha256 } from '../hashes.ts'
import { canonicalJson } from '../json.ts'

const known = new WeakMap<NodeRegistry, number>()
/** Twelve hexadecimal digits: every client reads 48 bits exactly. */
const DIGITS = 12

/** The same for registries of the same node types, whatever process they are in. */
export function registryRevision(registry: NodeRegistry): number {
  const found = known.get(registry) ?? revisionOf(registry)
  known.set(registry, found)
  return found
}

function revisionOf(registry: NodeRegistry): number {
  const types = registry
    .all()
    .map(nodeMetadata)
    .sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  return Number.parseInt(sha256(canonicalJson(types)).slice(0, DIGITS), 16)
}
