// Which metadata meet a filter. It is made ready once: what it takes to look at one entry depends on the entry alone.
import type { VectorFilter } from '../engine/node-api/node-services.ts'
import { toCanonicalText } from '../nodes/shared/value-operations.ts'
import { guardVectorFilter } from '../nodes/vector/filter-limits.ts'

/** Says of metadata, as JSON text, whether they have each key of the filter with its value, or with one of its values. */
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

/** Of two lists one item in common is enough, or that they are the same. */
function hasWantedValue(value: unknown, wishes: ReadonlySet<string>): boolean {
  return valueAndItems(value).some((one) => wishes.has(keyOf(one)))
}

function valueAndItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? [value, ...value] : [value]
}

/** Equal values have equal keys, and others have not. They are texts, since nobody can choose those that meet in a set. */
function keyOf(value: unknown): string {
  if (typeof value === 'string') return `"${value}`
  return typeof value === 'object' && value !== null ? toCanonicalText(value) : String(value)
}
