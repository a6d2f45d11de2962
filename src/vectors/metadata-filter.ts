// Tests metadata against a filter. The filter is compiled once, so that the cost of a test depends on the entry alone.
import type { VectorFilter } from '../engine/node-api/services/vectors.ts'
import { toCanonicalText } from '../nodes/shared/value-operations.ts'
import { guardVectorFilter } from '../nodes/vector/filter-limits.ts'

/** Tests metadata, as JSON text: each key of the filter must have its value, or one of its values. */
export type MetadataTest = (metadata: string) => boolean

/** @throws NodeError `too_large` */
export function compileMetadataFilter(filter: VectorFilter): MetadataTest {
  const wanted = Object.entries(filter)
  if (wanted.length === 0) return () => true
  guardVectorFilter(filter)
  const wishes = wanted.map(([key, value]) => [key, new Set(valueAndItems(value).map(keyOf))] as const)
  return (metadata) => {
    const known = JSON.parse(metadata) as Record<string, unknown>
    return wishes.every(([key, keys]) => Object.hasOwn(known, key) && hasWantedValue(known[key], keys))
  }
}

/** Two lists match if they are equal or share an item. */
function hasWantedValue(value: unknown, wishes: ReadonlySet<string>): boolean {
  return valueAndItems(value).some((one) => wishes.has(keyOf(one)))
}

function valueAndItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? [value, ...value] : [value]
}

/**
 * Equal values have equal keys, and different values have different keys. The keys are texts, because a user cannot choose texts that
 * collide in a set.
 */
function keyOf(value: unknown): string {
  if (typeof value === 'string') return `"${value}`
  return typeof value === 'object' && value !== null ? toCanonicalText(value) : String(value)
}
