// Pieces of TypeScript source.
import type { Json } from './tree.ts'

/** A value as a literal: single quotes, unquoted keys where they are names. */
export function literal(value: Json | undefined): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).map(([key, member]) => `${property(key)}: ${literal(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

export function quoted(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped}'`
}

/** A property name, quoted where it must be. */
export function property(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

export function pascal(name: string): string {
  return name.replace(/(^|[_-])([a-z])/g, (_, _dash, letter: string) => letter.toUpperCase())
}

/** A union of texts as a type; `never` for none. */
export function union(members: readonly string[]): string {
  return members.length === 0 ? 'never' : members.map(quoted).join(' | ')
}
