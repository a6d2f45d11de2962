// Derives the inputs and outputs of a workflow from its graph.
import type { WorkflowInterface, WorkflowSchema, WorkflowSchemaProperty } from '../../generated/types.ts'
import type { PlanInput, PlanOutput } from '../engine/compile/compiler.ts'
import type { GraphNode } from '../engine/compile/graph.ts'
import { ANY_TYPE, type TypeMetadata } from '../engine/node-api/values/type-metadata.ts'
import { forEachSteps, mapSteps, runToCompletion, type Steps } from '../shared/time-slices.ts'
import { invalidGraphError } from './invalid-graph-error.ts'
import type { CompiledWorkflowGraph } from './plan-cache.ts'

/**
 * Derives the interface of a graph. For a graph that cannot run it has diagnostics of severity `error`, and the inputs and outputs that the
 * nodes name.
 * @throws INVALID_WORKFLOW_GRAPH if two inputs or two outputs share a name
 */
export function* deriveInterfaceSteps(workflow_id: string, compiled: CompiledWorkflowGraph): Steps<WorkflowInterface> {
  const { inputs, outputs } = yield* collectPinsSteps(compiled)
  for (const names of [inputs, outputs]) {
    const different = new Set<string>()
    yield* forEachSteps<{ name: string }>(names, ({ name }) => different.add(name))
    if (different.size < names.length) throw invalidGraphError(compiled.issues)
  }
  return {
    version: 1,
    workflow_id,
    etag: compiled.etag,
    source: 'server',
    inputs: yield* mapSteps(inputs, (input) => {
      return { ...input, type: asMutableType(input.type), default: (input.default ?? null) as never }
    }),
    outputs: yield* mapSteps(outputs, (output) => ({ ...output, type: asMutableType(output.type) })),
    diagnostics: compiled.issues,
  }
}

/** Returns the inputs as a JSON schema of one object. */
export function deriveInputSchema(compiled: CompiledWorkflowGraph): WorkflowSchema {
  return runToCompletion(deriveInputSchemaSteps(compiled))
}

export function* deriveInputSchemaSteps(compiled: CompiledWorkflowGraph): Steps<WorkflowSchema> {
  const { inputs } = yield* collectPinsSteps(compiled)
  const required: string[] = []
  yield* forEachSteps(inputs, (input) => {
    if (input.required) required.push(input.name)
  })
  return { type: 'object', properties: yield* buildPropertiesSteps(inputs, toInputProperty), required }
}

/** Returns the outputs as a JSON schema of one object. A stream is an array. */
export function deriveOutputSchema(compiled: CompiledWorkflowGraph): WorkflowSchema {
  return runToCompletion(deriveOutputSchemaSteps(compiled))
}

export function* deriveOutputSchemaSteps(compiled: CompiledWorkflowGraph): Steps<WorkflowSchema> {
  const { outputs } = yield* collectPinsSteps(compiled)
  const property = (output: PlanOutput): WorkflowSchemaProperty => ({
    ...(output.stream ? { type: 'array' } : toSchemaType(output.type)),
    ...(output.description ? { description: output.description } : {}),
  })
  return {
    type: 'object',
    properties: yield* buildPropertiesSteps(outputs, property),
    required: yield* mapSteps(outputs, ({ name }) => name),
  }
}

type Properties = WorkflowSchema['properties']

function* buildPropertiesSteps<Pin extends { readonly name: string }>(
  pins: readonly Pin[],
  property: (pin: Pin) => WorkflowSchemaProperty,
): Steps<Properties> {
  const properties: Properties = {}
  yield* forEachSteps(pins, (pin) => {
    const value = property(pin)
    // A plain assignment to this name would set the prototype.
    if (pin.name === '__proto__') Object.defineProperty(properties, pin.name, { ...OWN_PROPERTY, value })
    else properties[pin.name] = value
  })
  return properties
}

const OWN_PROPERTY = { enumerable: true, configurable: true, writable: true }

interface Pins {
  inputs: readonly PlanInput[]
  outputs: readonly PlanOutput[]
}

function* collectPinsSteps({ plan, graph }: CompiledWorkflowGraph): Steps<Pins> {
  if (plan) return plan
  const pins: { inputs: PlanInput[]; outputs: PlanOutput[] } = { inputs: [], outputs: [] }
  yield* forEachSteps(graph.nodes, (node) => {
    if (typeof node.data?.name !== 'string') return
    if (node.type.startsWith('input.')) pins.inputs.push(toDraftInput(node))
    else if (node.type.startsWith('output.')) pins.outputs.push({ ...toPin(node), stream: false })
  })
  return pins
}

function toDraftInput(node: GraphNode): PlanInput {
  return {
    ...toPin(node),
    required: !('value' in (node.data ?? {})),
    default: node.data?.value ?? null,
    stream: node.data?.stream === true,
  }
}

function toPin(node: GraphNode) {
  const description = node.data?.description
  return {
    node_id: node.id,
    name: node.data?.name as string,
    description: typeof description === 'string' ? description : '',
    type: ANY_TYPE,
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

function toSchemaType(type: TypeMetadata): { type?: WorkflowSchemaProperty['type'] } {
  const found = SCHEMA_TYPES[type.type]
  return found ? { type: found } : {}
}

function toInputProperty(input: PlanInput): WorkflowSchemaProperty {
  return {
    ...(input.stream ? { type: 'array' } : toSchemaType(input.type)),
    ...(input.description ? { description: input.description } : {}),
    ...(input.required || input.stream ? {} : { default: (input.default ?? null) as never }),
    ...(input.min === undefined ? {} : { minimum: input.min }),
    ...(input.max === undefined ? {} : { maximum: input.max }),
  }
}

// The generated type has mutable arrays; the engine freezes its own.
function asMutableType(type: TypeMetadata): WorkflowInterface['inputs'][number]['type'] {
  return type as never
}
