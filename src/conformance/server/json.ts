// Plain JSON trees of the suite.

export type JsonMap = Record<string, unknown>

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function mapOf(value: unknown): JsonMap {
  return isMap(value) ? value : {}
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns one member of each map of a list, as text. */
export function pluckTexts(value: unknown, key: string): string[] {
  return listOf(value).map((one) => String(mapOf(one)[key]))
}

/** Equal values have one canonical text, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member) =>
    isMap(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : member,
  )
}

export function isSameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

/** Yields every member of a tree with its path, the root first. */
export function* walkMembers(value: unknown, path = ''): Generator<{ path: string; key: string; value: unknown }> {
  yield { path, key: path.slice(path.lastIndexOf('/') + 1), value }
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) yield* walkMembers(member, `${path}/${key}`)
}
