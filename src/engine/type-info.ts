// What the compiler looks up about a node type again and again, prepared once per type.
import type { NodeProperty, NodeType } from './node-type.ts'
import type { PlanNodeOutput } from './plan-parts.ts'

export interface TypeInfo {
  readonly properties: ReadonlyMap<string, NodeProperty>
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
  /** The name of the property that takes a whole stream, or null. */
  readonly aggregate: string | null
  readonly streaming: boolean
  /** What each property is where the node says nothing. */
  readonly defaults: Readonly<Record<string, unknown>>
}

const known = new WeakMap<NodeType, TypeInfo>()

function prepare(type: NodeType): TypeInfo {
  const aggregates = type.properties.filter((property) => property.aggregate)
  if (aggregates.length > 1) throw new Error(`Node type ${type.node_type} has more than one aggregate`)
  return {
    properties: new Map(type.properties.map((property) => [property.name, property])),
    outputs: new Map(
      type.outputs.map((output) => [
        output.name,
        { type: output.type, stream: output.stream === true, stream_kind: output.stream_kind },
      ]),
    ),
    aggregate: aggregates[0]?.name ?? null,
    streaming: type.outputs.some((output) => output.stream),
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
