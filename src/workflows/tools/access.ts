// Offers workflows and node types to models as tools: it describes them and resolves calls. A node type is called as a workflow of one
// node, whose id contains the whole call.
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { getNodeTypeInfo } from '../../engine/compile/node-type-info.ts'
import { createNodeTypeLookup } from '../../engine/node-api/did-you-mean.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { isRetrySafe } from '../../engine/node-api/node-metadata.ts'
import type { NodeProperty, NodeRegistry, NodeType } from '../../engine/node-api/node-type.ts'
import type { ResolvedTool, ToolAccess, ToolDescription, ToolInvocation } from '../../engine/node-api/services/tools.ts'
import { makeMeasuredSteps } from '../../engine/node-api/values/measure.ts'
import { ServiceError } from '../../errors.ts'
import { resolveToolType, resolveToolTypeWithData } from '../../nodes/agent/tool-node-types.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'
import { didYouMeanTool } from '../did-you-mean.ts'
import { requireRunnablePlan } from '../invalid-graph-error.ts'
import type { WorkflowService } from '../service.ts'
import { type ToolJsonSchema, toArgumentSchema } from './argument-schema.ts'
import { formatNodeCallId } from './node-call-graph.ts'

const LONGEST_NAME = 64
const LONGEST_DESCRIPTION = 1_000
/** The output of a node type whose outputs only its graph defines. */
const OUTPUT_NAME = 'output'
/** Maximum arguments of a call of a node type. Each becomes an input of the workflow for the call. */
const MOST_ARGUMENTS = 100
const ANY_OUTPUT_HINT = ` As a tool it has one output: \`return {${OUTPUT_NAME}: …}\`.`

type ToolArguments = Readonly<Record<string, unknown>>

/** The parts of a workflow that a model sees. */
export interface ToolWorkflow {
  readonly name: string
  readonly description: string
  readonly inputs: Plan['inputs']
}

export interface ToolAccessParts {
  readonly registry: NodeRegistry
  /** Returns a workflow that can run. @throws NodeError `unknown_tool` */
  workflow(workflow_id: string): Promise<ToolWorkflow>
}

/** Returns the access to tools; `parts` finds the workflows. */
export function createToolAccess({ registry, workflow }: ToolAccessParts): ToolAccess {
  const again = (words: ToolDescription, connected: boolean): ResolvedTool => ({
    ...words,
    resolveCall: (args) => resolveCallee(registry, words, args, connected),
  })
  return {
    workflow: async (workflow_id, inSlices) =>
      again(
        await inSlices(makeMeasuredSteps(describeWorkflowToolSteps(workflow_id, await workflow(workflow_id)))),
        false,
      ),
    node: (node_type, data, connected) => again(describeNodeTool(registry, node_type, data), connected),
    restore: again,
    isNode: (node_type) => registry.get(node_type) !== undefined,
  }
}

/** Returns the lookup of one owner's workflows and the bundled examples. */
export function createWorkflowLookup(
  workflows: Pick<WorkflowService, 'prepare' | 'runnable' | 'titleOf'>,
  owner: OwnerScope,
  registry: NodeRegistry,
): ToolAccessParts['workflow'] {
  return async (workflow_id) => {
    await workflows.prepare(owner, workflow_id)
    const { inputs } = requirePlan(workflows, owner, workflow_id, registry)
    return { ...workflows.titleOf(owner, workflow_id), inputs }
  }
}

function resolveCallee(
  registry: NodeRegistry,
  { target, parameters }: ToolDescription,
  args: ToolArguments,
  connected: boolean,
): ToolInvocation {
  if ('node_type' in target)
    return resolveNodeCall(
      resolveToolType(createNodeTypeLookup(registry), target.node_type),
      target.data,
      args,
      connected,
    )
  const known = parameters.properties as object
  validateArgumentNames(args, (one) => Object.hasOwn(known, one))
  // The graph may have changed since.
  return { workflow_id: target.workflow_id, params: { ...args }, repeatable: false }
}

function* describeWorkflowToolSteps(
  workflow_id: string,
  { name, description, inputs }: ToolWorkflow,
): Steps<ToolDescription> {
  const properties = yield* mapSteps(inputs, (input): [string, ToolJsonSchema] => [input.name, toArgumentSchema(input)])
  const required: string[] = []
  yield* forEachSteps(inputs, (input) => {
    if (input.required) required.push(input.name)
  })
  return {
    name: toToolName(name, 'workflow'),
    description: formatDescription(name, description),
    parameters: objectSchema(properties, required, false),
    target: { workflow_id },
  }
}

function requirePlan(
  workflows: Pick<WorkflowService, 'runnable'>,
  owner: OwnerScope,
  workflow_id: string,
  registry: NodeRegistry,
): Plan {
  try {
    return requireRunnablePlan(workflows.runnable(owner, workflow_id).compiled)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const isUnknown = error.code === 'WORKFLOW_NOT_FOUND'
    const why = isUnknown ? `The workflow does not exist.${didYouMeanTool(registry, workflow_id)}` : error.message
    throw new NodeError(`The workflow "${workflow_id}" cannot be a tool: ${why}`, 'unknown_tool')
  }
}

/** @throws NodeError `unknown_tool` */
export function describeNodeTool(
  registry: NodeRegistry,
  node_type: string,
  data: Readonly<Record<string, unknown>>,
): ToolDescription {
  const type = resolveToolTypeWithData(createNodeTypeLookup(registry), node_type, data)
  const open = listOpenProperties(type, data)
  return {
    name: toToolName(node_type, 'node'),
    description: `${formatDescription(type.title, type.description)}${hasAnyOutput(type) ? ANY_OUTPUT_HINT : ''}`,
    parameters: objectSchema(
      open.map((property) => [property.name, toArgumentSchema(property)]),
      open.filter(({ required }) => required).map(({ name }) => name),
      type.supports_dynamic_inputs === true,
    ),
    target: { node_type, data },
  }
}

/** Whether only the graph defines the outputs. As a tool such a type has one output. */
function hasAnyOutput({ outputs, supports_dynamic_outputs }: NodeType): boolean {
  return outputs.length === 0 && supports_dynamic_outputs === true
}

function listOpenProperties({ properties }: NodeType, data: ToolArguments): readonly NodeProperty[] {
  return properties.filter(({ name }) => !Object.hasOwn(data, name))
}

/** `data` that came along an edge is passed along an edge, like the arguments. Only a node's own values may name secrets. */
function resolveNodeCall(type: NodeType, data: ToolArguments, args: ToolArguments, connected: boolean): ToolInvocation {
  const { node_type, supports_dynamic_inputs, outputs } = type
  const open = listOpenProperties(type, data)
  const known = new Set(open.map(({ name }) => name))
  validateArgumentNames(
    args,
    (name) => known.has(name) || (supports_dynamic_inputs === true && !Object.hasOwn(data, name)),
  )
  // Models like to send null for an absent argument.
  const given = Object.keys(args).filter((name) => args[name] !== null)
  if (given.length > MOST_ARGUMENTS)
    throw new NodeError(`There are more than ${MOST_ARGUMENTS} arguments.`, 'bad_arguments')
  const lacking = open.find(({ name, required }) => required && !given.includes(name))
  if (lacking) throw new NodeError(`The argument "${lacking.name}" is missing.`, 'bad_arguments')
  const names = hasAnyOutput(type) ? { outputs: [], any: [OUTPUT_NAME] } : { outputs: outputs.map(({ name }) => name) }
  const params = {
    ...(connected ? omitNulls(data) : {}),
    ...Object.fromEntries(given.map((name) => [name, args[name]])),
  }
  // A node that resumes from its own steps is not safe to repeat in another call, which does not have these steps.
  const repeatable =
    type.effect !== true && isRetrySafe(type, { ...getNodeTypeInfo(type).defaults, ...data, ...params })
  const call = { node_type, data: connected ? {} : data, given: Object.keys(params).sort(), ...names }
  return { workflow_id: formatNodeCallId(call), params, repeatable }
}

/** Null along an edge is a value; in `data` it means the default. */
function omitNulls(data: ToolArguments): ToolArguments {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
}

function validateArgumentNames(args: Readonly<Record<string, unknown>>, known: (name: string) => boolean): void {
  const odd = Object.keys(args).find((name) => !known(name))
  if (odd !== undefined) throw new NodeError(`There is no argument "${odd}".`, 'bad_arguments')
}

function objectSchema(
  properties: readonly [string, ToolJsonSchema][],
  required: readonly string[],
  more: boolean,
): ToolJsonSchema {
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: more }
}

/** Returns a name that providers accept for a tool. */
function toToolName(text: string, fallback: string): string {
  const name = text
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return name.slice(0, LONGEST_NAME) || fallback
}

function formatDescription(title: string, description: string): string {
  const text = description === '' ? title : `${title}: ${description}`
  return text.slice(0, LONGEST_DESCRIPTION)
}
