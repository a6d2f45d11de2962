// Pieces of TypeScript source.
import type { Json } from '../documents/json-pointer.ts'

/** A value as a literal: single quotes, unquoted keys where they are names. */
export function toLiteral(value: Json | undefined): string {
  if (typeof value === 'string') return quoteText(value)
  if (Array.isArray(value)) return `[${value.map(toLiteral).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).map(([key, member]) => `${quotePropertyName(key)}: ${toLiteral(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

export function quoteText(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped}'`
}

/** A property name, quoted where it must be. */
export function quotePropertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoteText(name)
}

export function toPascalCase(name: string): string {
  return name.replace(/(^|[_-])([a-z])/g, (_, _dash, letter: string) => letter.toUpperCase())
}

/** A union of texts as a type; `never` for none. */
export function toUnionType(members: readonly string[]): string {
  return members.length === 0 ? 'never' : members.map(quoteText).join(' | ')
}
