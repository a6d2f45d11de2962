// Shorthands for declarations of node types. Their meaning is in engine/node-api/node-type.ts.
import type { Conversion } from '../../engine/node-api/node-facts.ts'
import type { NodeOutput, NodeProperty } from '../../engine/node-api/node-type.ts'
import { parseType, type TypeMetadata } from '../../engine/node-api/values/type-metadata.ts'

type PropertyOptions = Omit<NodeProperty, 'name' | 'type' | 'description'>

function toTypeMetadata(type: string | TypeMetadata): TypeMetadata {
  return typeof type === 'string' ? parseType(type) : type
}

/** A property with a default; without a default it is null. */
export function optionalProperty(
  name: string,
  type: string | TypeMetadata,
  description: string,
  extra: PropertyOptions = {},
): NodeProperty {
  return { name, type: toTypeMetadata(type), description, ...extra }
}

/** A property that needs an edge or a value of its own. */
export function requiredProperty(
  name: string,
  type: string | TypeMetadata,
  description: string,
  extra: PropertyOptions = {},
): NodeProperty {
  return { name, type: toTypeMetadata(type), description, required: true, ...extra }
}

export function valueOutput(name: string, type: string | TypeMetadata): NodeOutput {
  return { name, type: toTypeMetadata(type) }
}

/** An output that opens a stream. */
export function streamOutput(name: string, type: string | TypeMetadata): NodeOutput {
  return { name, type: toTypeMetadata(type), stream: true }
}

/** A conversion for which validation proposes the node type. `to` may be `item`, the type of the list's items. */
export function typeConversion(from: string, to: string, how: string): Conversion {
  return { from: parseType(from), to: to === 'item' ? to : parseType(to), how }
}
