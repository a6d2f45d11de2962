// Shorthands with which node types are written down. What they mean is in engine/node-type.ts.
import type { Conversion, NodeOutput, NodeProperty } from '../engine/node-type.ts'
import { type TypeMetadata, t } from '../engine/types.ts'

type Extra = Omit<NodeProperty, 'name' | 'type' | 'description'>

function typed(type: string | TypeMetadata): TypeMetadata {
  return typeof type === 'string' ? t(type) : type
}

/** A property with a default, or null where it says nothing. */
export function option(
  name: string,
  type: string | TypeMetadata,
  description: string,
  extra: Extra = {},
): NodeProperty {
  return { name, type: typed(type), description, ...extra }
}

/** A property that needs an edge or a value of its own. */
export function required(
  name: string,
  type: string | TypeMetadata,
  description: string,
  extra: Extra = {},
): NodeProperty {
  return { name, type: typed(type), description, required: true, ...extra }
}

export function output(name: string, type: string | TypeMetadata): NodeOutput {
  return { name, type: typed(type) }
}

/** An output that opens a stream. */
export function stream(name: string, type: string | TypeMetadata): NodeOutput {
  return { name, type: typed(type), stream: true }
}

/** What validation proposes the node type for; `to` may be `item`, the type of the list's items. */
export function conversion(from: string, to: string, how: string): Conversion {
  return { from: t(from), to: to === 'item' ? to : t(to), how }
}
