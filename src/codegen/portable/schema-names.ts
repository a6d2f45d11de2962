// Names for inline schemas, derived from their position. Generators name types by them.
import { type Json, type JsonMap, mapOf, readSchemaName, textOf } from '../documents/json-pointer.ts'

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'Text',
  number: 'Number',
  integer: 'Integer',
  boolean: 'Boolean',
  array: 'List',
  object: 'Object',
}

/** Turns `run_mode` into `RunMode`. */
export function toTypeName(text: string): string {
  const words = text.match(/[A-Za-z0-9]+/g) ?? []
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** Returns the name of an outermost schema: its own, or that of its operation, parameter or reply. */
export function findSchemaName(document: JsonMap, path: readonly string[]): string {
  if (path[0] === 'components' && path[1] === 'schemas') return path[2]!
  let node: Json = document
  const words: string[] = []
  for (const [at, key] of path.slice(0, -1).entries()) {
    node = (node as JsonMap)[key]!
    const { operationId, name } = mapOf(node)
    if (typeof operationId === 'string') words.splice(0, words.length, operationId)
    else if (path[at - 1] === 'parameters' && typeof name === 'string') words.push(name)
    else if (key === 'requestBody') words.push('request')
    else if (path[at - 1] === 'responses' || path[at - 1] === 'headers' || path[at - 1] === 'messages') words.push(key)
  }
  return words.map(toTypeName).join('')
}

/** Returns the part that distinguishes a variant of a union: the constant of a property, or its type. */
export function createVariantName(variant: JsonMap, at: number): string {
  const properties = Object.values(mapOf(variant.properties)).map(mapOf)
  const constant = properties.find((one) => typeof one.const === 'string')
  if (constant) return toTypeName(textOf(constant.const))
  const name = TYPE_NAMES[textOf(variant.type)] ?? `Variant${at + 1}`
  const items = mapOf(variant.items)
  const itemName = readSchemaName(items) ?? (items.type === undefined ? null : createVariantName(items, at))
  return itemName === null ? name : `${name}Of${itemName}`
}
