// What a workflow takes and gives, derived from its graph.
import type { WorkflowInterface, WorkflowSchema, WorkflowSchemaProperty } from '../../generated/types.ts'
import type { GraphNode } from '../engine/graph.ts'
import type { PlanInput, PlanOutput } from '../engine/plan.ts'
import { ANY, type TypeMetadata } from '../engine/types.ts'
import { invalidGraph } from './invalid-graph.ts'
import type { CompiledGraph } from './plans.ts'

/**
 * The interface of a graph. One that cannot run has diagnostics of severity `error` and the inputs and outputs that its nodes name.
 * @throws INVALID_WORKFLOW_GRAPH where two inputs or two outputs share a name
 */
export function workflowInterface(workflow_id: string, compiled: CompiledGraph): WorkflowInterface {
  const { inputs, outputs } = pins(compiled)
  for (const names of [inputs, outputs]) {
    if (new Set(names.map((pin) => pin.name)).size < names.length) throw invalidGraph(compiled.issues)
  }
  return {
    version: 1,
    workflow_id,
    etag: compiled.etag,
    source: 'server',
    inputs: inputs.map((input) => ({ ...input, type: mutable(input.type), default: (input.default ?? null) as never })),
    outputs: outputs.map((output) => ({ ...output, type: mutable(output.type) })),
    diagnostics: compiled.issues,
  }
}

/** The inputs as a JSON schema of one object. */
export function inputSchema(compiled: CompiledGraph): WorkflowSchema {
  const { inputs } = pins(compiled)
  return {
    type: 'object',
    properties: Object.fromEntries(inputs.map((input) => [input.name, inputProperty(input)])),
    required: inputs.filter((input) => input.required).map((input) => input.name),
  }
}

/** The outputs as a JSON schema of one object. A stream is an array. */
export function outputSchema(compiled: CompiledGraph): WorkflowSchema {
  const { outputs } = pins(compiled)
  const property = (output: PlanOutput): WorkflowSchemaProperty => ({
    ...(output.stream ? { type: 'array' } : schemaType(output.type)),
    ...(output.description ? { description: output.description } : {}),
  })
  return {
    type: 'object',
    properties: Object.fromEntries(outputs.map((output) => [output.name, property(output)])),
    required: outputs.map((output) => output.name),
  }
}

interface Pins {
  inputs: readonly PlanInput[]
  outputs: readonly PlanOutput[]
}

function pins(compiled: CompiledGraph): Pins {
  if (compiled.plan) return compiled.plan
  const named = (prefix: string) =>
    compiled.graph.nodes.filter((node) => node.type.startsWith(prefix) && typeof node.data?.name === 'string')
  return {
    inputs: named('input.').map((node) => ({
      ...pinOf(node),
      required: !('value' in (node.data ?? {})),
      default: node.data?.value ?? null,
      stream: node.data?.stream === true,
    })),
    outputs: named('output.').map((node) => ({ ...pinOf(node), stream: false })),
  }
}

function pinOf(node: GraphNode) {
  const description = node.data?.description
  return {
    node_id: node.id,
    name: node.data?.name as string,
    description: typeof description === 'string' ? description : '',
    type: ANY,
  }
}

const SCHEMA_TYPES: Readonly<Record<string, WorkflowSchemaProperty['type']>> = {
  str: 'string',
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  list: 'array',
  dict: 'object',
  enum: 'string',
  image: 'object',
  audio: 'object',
  video: 'object',
  document: 'object',
  dataframe: 'object',
  model: 'object',
}

function schemaType(type: TypeMetadata): { type?: WorkflowSchemaProperty['type'] } {
  const found = SCHEMA_TYPES[type.type]
  return found ? { type: found } : {}
}

function inputProperty(input: PlanInput): WorkflowSchemaProperty {
  return {
    ...(input.stream ? { type: 'array' } : schemaType(input.type)),
    ...(input.description ? { description: input.description } : {}),
    ...(input.required || input.stream ? {} : { default: (input.default ?? null) as never }),
    ...(input.min === undefined ? {} : { minimum: input.min }),
    ...(input.max === undefined ? {} : { maximum: input.max }),
  }
}

// The generated type has mutable arrays; the engine freezes its own.
function mutable(type: TypeMetadata): WorkflowInterface['inputs'][number]['type'] {
  return type as never
}
