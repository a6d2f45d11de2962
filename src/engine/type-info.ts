// What the compiler looks up about a node type again and again, prepared once per type.
import type { NodeProperty, NodeType } from './node-type.ts'
import type { PlanNodeOutput } from './plan-parts.ts'

export interface TypeInfo {
  readonly properties: ReadonlyMap<string, NodeProperty>
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
  /** The names of the properties that take a whole stream. */
  readonly aggregates: ReadonlySet<string>
  readonly streaming: boolean
  /** Whether one of its properties catches failures. */
  readonly catching: boolean
  /** What each property is where the node says nothing. */
  readonly defaults: Readonly<Record<string, unknown>>
}

const known = new WeakMap<NodeType, TypeInfo>()

function prepare(type: NodeType): TypeInfo {
  const aggregates = type.properties.filter((property) => property.aggregate).map((property) => property.name)
  if (aggregates.length > 1 && !type.weave) throw new Error(`Node type ${type.node_type} has more than one aggregate`)
  return {
    properties: new Map(type.properties.map((property) => [property.name, property])),
    outputs: new Map(
      type.outputs.map((output) => [
        output.name,
        { type: output.type, stream: output.stream === true, stream_kind: output.stream_kind },
      ]),
    ),
    aggregates: new Set(aggregates),
    streaming: type.outputs.some((output) => output.stream),
    catching: type.properties.some((property) => property.catches),
    defaults: Object.fromEntries(type.properties.map((property) => [property.name, property.default ?? null])),
  }
}

export function typeInfo(type: NodeType): TypeInfo {
  let info = known.get(type)
  if (!info) {
    info = prepare(type)
    known.set(type, info)
  }
  return info
}
