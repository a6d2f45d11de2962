// Which metadata meet a filter. It is made ready once: what it takes to look at one entry depends on the entry alone.
import type { VectorFilter } from '../engine/services.ts'
import { identity } from '../nodes/values.ts'
import { guardFilter } from '../nodes/vector-filter.ts'

/** Says of metadata, as JSON text, whether they have each key of the filter with its value, or with one of its values. */
export type Meets = (metadata: string) => boolean

/** @throws NodeError `too_large` */
export function filterOf(filter: VectorFilter): Meets {
  const wanted = Object.entries(filter)
  if (wanted.length === 0) return () => true
  guardFilter(filter)
  const wishes = wanted.map(([key, value]) => [key, new Set(withItems(value).map(keyOf))] as const)
  return (metadata) => {
    const known = JSON.parse(metadata) as Record<string, unknown>
    return wishes.every(([key, keys]) => Object.hasOwn(known, key) && isMeant(known[key], keys))
  }
}

/** Of two lists one item in common is enough, or that they are the same. */
function isMeant(value: unknown, wishes: ReadonlySet<string>): boolean {
  return withItems(value).some((one) => wishes.has(keyOf(one)))
}

function withItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? [value, ...value] : [value]
}

/** Equal values have equal keys, and others have not. They are texts, since nobody can choose those that meet in a set. */
function keyOf(value: unknown): string {
  if (typeof value === 'string') return `"${value}`
  return typeof value === 'object' && value !== null ? identity(value) : String(value)
}
