// Workflows and node types as tools of models: what a model is told of them, and what is called for its arguments. A node type is called as a
// workflow of one node, whose id says all of it.
import type { Scope } from '../db/scope.ts'
import { measuredSteps } from '../engine/measure.ts'
import { isRetrySafe } from '../engine/metadata.ts'
import { NodeError, type NodeProperty, type NodeRegistry, type NodeType } from '../engine/node-type.ts'
import type { Plan } from '../engine/plan.ts'
import type { ToolAccess, ToolCallee, ToolFacts, ToolWords } from '../engine/services.ts'
import { knownTypes } from '../engine/suggest.ts'
import { typeInfo } from '../engine/type-info.ts'
import { ServiceError } from '../errors.ts'
import { toolType, toolTypeWith } from '../nodes/tool-types.ts'
import { forEachStep, mapStep, type Steps } from '../time-slices.ts'
import { runnablePlan } from './invalid-graph.ts'
import { meantTool } from './meant-tool.ts'
import type { WorkflowService } from './service.ts'
import { toolId } from './tool-graph.ts'
import { argumentSchema, type Schema } from './tool-schema.ts'

const LONGEST_NAME = 64
const LONGEST_DESCRIPTION = 1_000
/** Of a node that has none but those that its graph names. */
const OUTPUT = 'output'
/** Of a call of a node type, each of which becomes an input of the workflow that is made for the call. */
const MOST_ARGUMENTS = 100
const ANY_OUTPUT = ` As a tool it has one output: \`return {${OUTPUT}: …}\`.`

type Given = Readonly<Record<string, unknown>>

/** What a model is told of a workflow. */
export interface ToolWorkflow {
  readonly name: string
  readonly description: string
  readonly inputs: Plan['inputs']
}

export interface ToolParts {
  readonly registry: NodeRegistry
  /** One that can be run. @throws NodeError `unknown_tool` */
  workflow(workflow_id: string): Promise<ToolWorkflow>
}

/** What models may call where `parts` says which workflows there are. */
export function toolAccess({ registry, workflow }: ToolParts): ToolAccess {
  const again = (words: ToolWords, connected: boolean): ToolFacts => ({
    ...words,
    call: (args) => callee(registry, words, args, connected),
  })
  return {
    workflow: async (workflow_id, inSlices) =>
      again(await inSlices(measuredSteps(workflowToolSteps(workflow_id, await workflow(workflow_id)))), false),
    node: (node_type, data, connected) => again(nodeTool(registry, node_type, data), connected),
    again,
    isNode: (node_type) => registry.get(node_type) !== undefined,
  }
}

/** The workflows of one owner, and the bundled examples. */
export function workflowsOf(
  workflows: Pick<WorkflowService, 'prepare' | 'runnable' | 'titleOf'>,
  owner: Scope,
  registry: NodeRegistry,
): ToolParts['workflow'] {
  return async (workflow_id) => {
    await workflows.prepare(owner, workflow_id)
    const { inputs } = planOf(workflows, owner, workflow_id, registry)
    return { ...workflows.titleOf(owner, workflow_id), inputs }
  }
}

function callee(
  registry: NodeRegistry,
  { target, parameters }: ToolWords,
  args: Given,
  connected: boolean,
): ToolCallee {
  if ('node_type' in target)
    return nodeCall(toolType(knownTypes(registry), target.node_type), target.data, args, connected)
  const known = parameters.properties as object
  checkNames(args, (one) => Object.hasOwn(known, one))
  // Its graph may be another one by now.
  return { workflow_id: target.workflow_id, params: { ...args }, repeatable: false }
}

function* workflowToolSteps(workflow_id: string, { name, description, inputs }: ToolWorkflow): Steps<ToolWords> {
  const properties = yield* mapStep(inputs, (input): [string, Schema] => [input.name, argumentSchema(input)])
  const required: string[] = []
  yield* forEachStep(inputs, (input) => {
    if (input.required) required.push(input.name)
  })
  return {
    name: nameOf(name, 'workflow'),
    description: described(name, description),
    parameters: objectOf(properties, required, false),
    target: { workflow_id },
  }
}

function planOf(
  workflows: Pick<WorkflowService, 'runnable'>,
  owner: Scope,
  workflow_id: string,
  registry: NodeRegistry,
): Plan {
  try {
    return runnablePlan(workflows.runnable(owner, workflow_id).compiled)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const isUnknown = error.code === 'WORKFLOW_NOT_FOUND'
    const why = isUnknown ? `The workflow does not exist.${meantTool(registry, workflow_id)}` : error.message
    throw new NodeError(`The workflow "${workflow_id}" cannot be a tool: ${why}`, 'unknown_tool')
  }
}

/** @throws NodeError `unknown_tool` */
export function nodeTool(
  registry: NodeRegistry,
  node_type: string,
  data: Readonly<Record<string, unknown>>,
): ToolWords {
  const type = toolTypeWith(knownTypes(registry), node_type, data)
  const open = openProperties(type, data)
  return {
    name: nameOf(node_type, 'node'),
    description: `${described(type.title, type.description)}${givesAny(type) ? ANY_OUTPUT : ''}`,
    parameters: objectOf(
      open.map((property) => [property.name, argumentSchema(property)]),
      open.filter(({ required }) => required).map(({ name }) => name),
      type.supports_dynamic_inputs === true,
    ),
    target: { node_type, data },
  }
}

/** Whether a graph alone says what it gives: as a tool it has one output. */
function givesAny({ outputs, supports_dynamic_outputs }: NodeType): boolean {
  return outputs.length === 0 && supports_dynamic_outputs === true
}

function openProperties({ properties }: NodeType, data: Given): readonly NodeProperty[] {
  return properties.filter(({ name }) => !Object.hasOwn(data, name))
}

/** Data that came along an edge goes on along one, as the arguments do: what a node says itself may name secrets. */
function nodeCall(type: NodeType, data: Given, args: Given, connected: boolean): ToolCallee {
  const { node_type, supports_dynamic_inputs, outputs } = type
  const open = openProperties(type, data)
  const known = new Set(open.map(({ name }) => name))
  checkNames(args, (name) => known.has(name) || (supports_dynamic_inputs === true && !Object.hasOwn(data, name)))
  // Null says that there is none, as models like to.
  const given = Object.keys(args).filter((name) => args[name] !== null)
  if (given.length > MOST_ARGUMENTS)
    throw new NodeError(`There are more than ${MOST_ARGUMENTS} arguments.`, 'bad_arguments')
  const lacking = open.find(({ name, required }) => required && !given.includes(name))
  if (lacking) throw new NodeError(`The argument "${lacking.name}" is missing.`, 'bad_arguments')
  const names = givesAny(type) ? { outputs: [], any: [OUTPUT] } : { outputs: outputs.map(({ name }) => name) }
  const params = { ...(connected ? present(data) : {}), ...Object.fromEntries(given.map((name) => [name, args[name]])) }
  // What is safe to run again by its steps knows nothing of them in another call.
  const repeatable = type.effect !== true && isRetrySafe(type, { ...typeInfo(type).defaults, ...data, ...params })
  const call = { node_type, data: connected ? {} : data, given: Object.keys(params).sort(), ...names }
  return { workflow_id: toolId(call), params, repeatable }
}

/** Null along an edge is a value; in data it stands for the default. */
function present(data: Given): Given {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
}

function checkNames(args: Readonly<Record<string, unknown>>, known: (name: string) => boolean): void {
  const odd = Object.keys(args).find((name) => !known(name))
  if (odd !== undefined) throw new NodeError(`There is no argument "${odd}".`, 'bad_arguments')
}

function objectOf(properties: readonly [string, Schema][], required: readonly string[], more: boolean): Schema {
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: more }
}

/** As providers take names of tools. */
function nameOf(text: string, fallback: string): string {
  const name = text
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return name.slice(0, LONGEST_NAME) || fallback
}

function described(title: string, description: string): string {
  const text = description === '' ? title : `${title}: ${description}`
  return text.slice(0, LONGEST_DESCRIPTION)
}
