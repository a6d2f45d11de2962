// The types that flow between nodes, with their uses.
import type { NodeTypeInventory } from '../../generated/types.ts'
import type { NodeRegistry, NodeType } from '../engine/node-api/node-type.ts'
import { formatType, type TypeMetadata } from '../engine/node-api/values/type-metadata.ts'
import { readRegistryRevision } from './registry-revision.ts'

type InventoryType = NodeTypeInventory['types'][number]
type TypeUse = InventoryType['examples'][number]

export interface TypeInventoryRequest {
  readonly cursor?: number | null | undefined
  readonly limit?: number | null | undefined
}

const DEFAULT_LIMIT = 50
const MOST_VALUES = 100
const MOST_EXAMPLES = 5

const inventoryByRegistry = new WeakMap<NodeRegistry, readonly InventoryType[]>()

/** One page of the types, by signature. A cursor behind the last type gives an empty page. */
export function readTypeInventory(registry: NodeRegistry, request: TypeInventoryRequest): NodeTypeInventory {
  const types = inventoryByRegistry.get(registry) ?? buildInventory(registry)
  inventoryByRegistry.set(registry, types)
  const cursor = request.cursor ?? 0
  const end = cursor + (request.limit ?? DEFAULT_LIMIT)
  return {
    version: 1,
    registry_revision: readRegistryRevision(registry),
    registry_ready: true,
    node_count: registry.all().length,
    type_count: types.length,
    cursor,
    next_cursor: end < types.length ? end : null,
    types: types.slice(cursor, end),
    unavailable_packs: [],
  }
}

interface TypeUses {
  readonly type: TypeMetadata
  readonly uses: TypeUse[]
}

function buildInventory(registry: NodeRegistry): readonly InventoryType[] {
  const found = new Map<string, TypeUses>()
  for (const node of [...registry.all()].sort((a, b) => (a.node_type < b.node_type ? -1 : 1))) {
    for (const { type, use } of listUses(node)) {
      const signature = formatSignature(type)
      const entry = found.get(signature) ?? { type, uses: [] }
      entry.uses.push(use)
      found.set(signature, entry)
    }
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([signature, { type, uses }]) => toInventoryType(signature, type, uses))
}

function listUses({ node_type, properties, outputs }: NodeType): { type: TypeMetadata; use: TypeUse }[] {
  return [
    ...properties.map(({ name, type }) => ({ type, use: { node_type, pin: name, direction: 'input' as const } })),
    ...outputs.map(({ name, type }) => ({ type, use: { node_type, pin: name, direction: 'output' as const } })),
  ]
}

/** Named records or enumerations of the same shape are different types. */
function formatSignature(type: TypeMetadata): string {
  return type.type_name === null ? formatType(type) : `${formatType(type)} ${type.type_name}`
}

function toInventoryType(signature: string, type: TypeMetadata, uses: readonly TypeUse[]): InventoryType {
  const count = (direction: TypeUse['direction']) => uses.filter((use) => use.direction === direction).length
  return {
    signature,
    type: type.type,
    type_name: type.type_name,
    optional: type.optional,
    type_args: type.type_args as InventoryType['type_args'],
    values: type.values.slice(0, MOST_VALUES),
    values_truncated: type.values.length > MOST_VALUES,
    input_uses: count('input'),
    output_uses: count('output'),
    node_count: new Set(uses.map(({ node_type }) => node_type)).size,
    examples: uses.slice(0, MOST_EXAMPLES),
  }
}
