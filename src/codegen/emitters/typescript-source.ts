// Helpers that write TypeScript source.
import type { Json } from '../documents/json-pointer.ts'

/** Writes a value as a literal, with single quotes and unquoted keys where they are identifiers. */
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

/** Quotes a property name where it has to be quoted. */
export function quotePropertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoteText(name)
}

export function toPascalCase(name: string): string {
  return name.replace(/(^|[_-])([a-z])/g, (_, _dash, letter: string) => letter.toUpperCase())
}

/** Writes texts as a union type; `never` for none. */
export function toUnionType(members: readonly string[]): string {
  return members.length === 0 ? 'never' : members.map(quoteText).join(' | ')
}
