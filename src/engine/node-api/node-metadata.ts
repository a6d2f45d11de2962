// The public description of a node type, as `GET /api/nodes/metadata` serves it.
import type { InputValues } from './firing-forms.ts'
import type { NodeProperty, NodeType } from './node-type.ts'
import type { TypeMetadata } from './values/type-metadata.ts'

export interface PropertyMetadata {
  name: string
  type: TypeMetadata
  default: unknown
  title: string
  description: string
  min?: number
  max?: number
  values?: readonly (string | number)[]
  required: boolean
}

export interface OutputMetadata {
  name: string
  type: TypeMetadata
  stream: boolean
}

export interface NodeMetadata {
  node_type: string
  title: string
  description: string
  namespace: string
  properties: PropertyMetadata[]
  outputs: OutputMetadata[]
  is_streaming_output: boolean
  supports_dynamic_inputs: boolean
  supports_dynamic_outputs: boolean
  retry_safe: boolean
  required_settings: string[]
  required_runtimes: string[]
}

/** `if_true` → `If true`. */
function titleFromName(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function createPropertyMetadata(property: NodeProperty): PropertyMetadata {
  return {
    name: property.name,
    type: property.type,
    default: property.default ?? null,
    title: property.title ?? titleFromName(property.name),
    description: property.description ?? '',
    ...(property.min === undefined ? {} : { min: property.min }),
    ...(property.max === undefined ? {} : { max: property.max }),
    ...(property.values === undefined ? {} : { values: property.values }),
    required: property.required === true,
  }
}

/** Whether a firing with these inputs may run again after an interruption. */
export function isRetrySafe(type: NodeType, inputs: InputValues): boolean {
  return typeof type.retry_safe === 'function' ? type.retry_safe(inputs) : type.retry_safe !== false
}

function listDefaults(type: NodeType): InputValues {
  return Object.fromEntries(type.properties.map((property) => [property.name, property.default ?? null]))
}

export function createNodeMetadata(type: NodeType): NodeMetadata {
  return {
    node_type: type.node_type,
    title: type.title,
    description: type.description,
    namespace: type.node_type.slice(0, type.node_type.lastIndexOf('.')),
    properties: type.properties.map(createPropertyMetadata),
    outputs: type.outputs.map(({ name, type, stream }) => ({ name, type, stream: stream === true })),
    is_streaming_output: type.outputs.some((output) => output.stream),
    supports_dynamic_inputs: type.supports_dynamic_inputs === true,
    supports_dynamic_outputs: type.supports_dynamic_outputs === true,
    retry_safe: isRetrySafe(type, listDefaults(type)),
    required_settings: [...(type.required_settings ?? [])],
    required_runtimes: [...(type.required_runtimes ?? [])],
  }
}
