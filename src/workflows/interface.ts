// What a workflow takes and gives, derived from its graph.
import type { WorkflowInterface, WorkflowSchema, WorkflowSchemaProperty } from '../../generated/types.ts'
import type { GraphNode } from '../engine/graph.ts'
import type { PlanInput, PlanOutput } from '../engine/plan.ts'
import { ANY, type TypeMetadata } from '../engine/types.ts'
import { finish, forEachStep, mapStep, type Steps } from '../time-slices.ts'
import { invalidGraph } from './invalid-graph.ts'
import type { CompiledGraph } from './plans.ts'

/**
 * The interface of a graph. One that cannot run has diagnostics of severity `error` and the inputs and outputs that its nodes name.
 * @throws INVALID_WORKFLOW_GRAPH where two inputs or two outputs share a name
 */
export function* interfaceSteps(workflow_id: string, compiled: CompiledGraph): Steps<WorkflowInterface> {
  const { inputs, outputs } = yield* pinSteps(compiled)
  for (const names of [inputs, outputs]) {
    const different = new Set<string>()
    yield* forEachStep<{ name: string }>(names, ({ name }) => different.add(name))
    if (different.size < names.length) throw invalidGraph(compiled.issues)
  }
  return {
    version: 1,
    workflow_id,
    etag: compiled.etag,
    source: 'server',
    inputs: yield* mapStep(inputs, (input) => {
      return { ...input, type: mutable(input.type), default: (input.default ?? null) as never }
    }),
    outputs: yield* mapStep(outputs, (output) => ({ ...output, type: mutable(output.type) })),
    diagnostics: compiled.issues,
  }
}

/** The inputs as a JSON schema of one object. */
export function inputSchema(compiled: CompiledGraph): WorkflowSchema {
  return finish(inputSchemaSteps(compiled))
}

export function* inputSchemaSteps(compiled: CompiledGraph): Steps<WorkflowSchema> {
  const { inputs } = yield* pinSteps(compiled)
  const required: string[] = []
  yield* forEachStep(inputs, (input) => {
    if (input.required) required.push(input.name)
  })
  return { type: 'object', properties: yield* propertySteps(inputs, inputProperty), required }
}

/** The outputs as a JSON schema of one object. A stream is an array. */
export function outputSchema(compiled: CompiledGraph): WorkflowSchema {
  return finish(outputSchemaSteps(compiled))
}

export function* outputSchemaSteps(compiled: CompiledGraph): Steps<WorkflowSchema> {
  const { outputs } = yield* pinSteps(compiled)
  const property = (output: PlanOutput): WorkflowSchemaProperty => ({
    ...(output.stream ? { type: 'array' } : schemaType(output.type)),
    ...(output.description ? { description: output.description } : {}),
  })
  return {
    type: 'object',
    properties: yield* propertySteps(outputs, property),
    required: yield* mapStep(outputs, ({ name }) => name),
  }
}

type Properties = WorkflowSchema['properties']

function* propertySteps<Pin extends { readonly name: string }>(
  pins: readonly Pin[],
  property: (pin: Pin) => WorkflowSchemaProperty,
): Steps<Properties> {
  const properties: Properties = {}
  yield* forEachStep(pins, (pin) => {
    const value = property(pin)
    // To assign to this name alone would mean something else.
    if (pin.name === '__proto__') Object.defineProperty(properties, pin.name, { ...OWN, value })
    else properties[pin.name] = value
  })
  return properties
}

const OWN = { enumerable: true, configurable: true, writable: true }

interface Pins {
  inputs: readonly PlanInput[]
  outputs: readonly PlanOutput[]
}

function* pinSteps({ plan, graph }: CompiledGraph): Steps<Pins> {
  if (plan) return plan
  const pins: { inputs: PlanInput[]; outputs: PlanOutput[] } = { inputs: [], outputs: [] }
  yield* forEachStep(graph.nodes, (node) => {
    if (typeof node.data?.name !== 'string') return
    if (node.type.startsWith('input.')) pins.inputs.push(draftInput(node))
    else if (node.type.startsWith('output.')) pins.outputs.push({ ...pinOf(node), stream: false })
  })
  return pins
}

function draftInput(node: GraphNode): PlanInput {
  return {
    ...pinOf(node),
    required: !('value' in (node.data ?? {})),
    default: node.data?.value ?? null,
    stream: node.data?.stream === true,
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
