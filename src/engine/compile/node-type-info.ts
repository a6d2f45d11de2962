// Facts about a node type that the compiler looks up often, prepared once per type.
import type { NodeProperty, NodeType } from '../node-api/node-type.ts'
import type { PlanNodeOutput } from './plan.ts'

export interface NodeTypeInfo {
  readonly properties: ReadonlyMap<string, NodeProperty>
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
  /** The names of the properties that take a whole stream. */
  readonly aggregates: ReadonlySet<string>
  readonly opensStream: boolean
  /** Whether one of its properties catches failures. */
  readonly hasCatchProperty: boolean
  /** The default of each property. */
  readonly defaults: Readonly<Record<string, unknown>>
}

const infoByType = new WeakMap<NodeType, NodeTypeInfo>()

function createInfo(type: NodeType): NodeTypeInfo {
  const aggregates = type.properties.filter((property) => property.aggregate).map((property) => property.name)
  if (aggregates.length > 1 && !type.streamOperator)
    throw new Error(`Node type ${type.node_type} has more than one aggregate`)
  return {
    properties: new Map(type.properties.map((property) => [property.name, property])),
    outputs: new Map(
      type.outputs.map((output) => [
        output.name,
        { type: output.type, stream: output.stream === true, stream_kind: output.stream_kind },
      ]),
    ),
    aggregates: new Set(aggregates),
    opensStream: type.outputs.some((output) => output.stream),
    hasCatchProperty: type.properties.some((property) => property.catches),
    defaults: Object.fromEntries(type.properties.map((property) => [property.name, property.default ?? null])),
  }
}

export function getNodeTypeInfo(type: NodeType): NodeTypeInfo {
  let info = infoByType.get(type)
  if (!info) {
    info = createInfo(type)
    infoByType.set(type, info)
  }
  return info
}
