// The tools of an agent: reads them from the property, describes them to the model, and calls them with the arguments that the model wrote.

import type { FiringStep, NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError, NodeInterruptedError } from '../../engine/node-api/node-error.ts'
import {
  type ResolvedTool,
  SINGLE_NODE_PREFIX,
  type ToolDescription,
  type ToolTarget,
} from '../../engine/node-api/services/tools.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import {
  MOST_TOOLS,
  parseToolTarget,
  readToolText,
  TOO_MANY_TOOLS,
  TOOLS_PROPERTY,
  takeToolName,
  toToolEntry,
} from './tool-entries.ts'

/** In characters, for the argument schemas of all tools together. They are sent with each turn, and remembered. */
const LONGEST_TOOL_PARAMETERS = 16_000_000
const TOOLS_TOO_LARGE = `The tools have more than ${LONGEST_TOOL_PARAMETERS.toLocaleString('en')} characters together. Give the agent fewer.`

/** A tool whose `name` is the one that the model sees. */
export type AgentTool = ResolvedTool

/** A call as the model wrote it. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text, exactly as received. */
  readonly arguments: string
}

/** The outcome of a call. Exactly one of the two fields is set. */
export interface AgentToolResult {
  /** The text that is sent to the model. */
  readonly result: string | null
  readonly error: string | null
}

/** The outcome of an interrupted call that must not be repeated. */
export const LOST_CALL_RESULT: AgentToolResult = {
  result: null,
  error:
    'The call was interrupted, and nobody knows whether it took effect. It was not made again. Find out what came of it before you call it again.',
}

/**
 * Reads the tools once, when the firing begins: later changes of workflows alter neither names nor what is called. @throws NodeError
 * `bad_input`, `unknown_tool`
 */
export async function loadAgentTools(
  entries: readonly unknown[],
  context: NodeContext,
): Promise<ReadonlyMap<string, AgentTool>> {
  if (entries.length === 0) return new Map()
  const access = context.services.tools
  // The plan tells whether the property is connected; the remembered tools do not.
  const connected = context.isConnected(TOOLS_PROPERTY)
  using step = await context.step('tools')
  if (step.previousResult)
    return new Map(
      (step.previousResult.value as ToolDescription[]).map((words) => [words.name, access.restore(words, connected)]),
    )
  const tools = await lookUpTools(entries, context, connected)
  await step.end([...tools.values()].map(({ resolveCall: _, ...words }) => words))
  return tools
}

async function lookUpTools(
  entries: readonly unknown[],
  context: NodeContext,
  connected: boolean,
): Promise<ReadonlyMap<string, AgentTool>> {
  if (entries.length > MOST_TOOLS) throw new NodeError(TOO_MANY_TOOLS, 'bad_input')
  const access = context.services.tools
  const taken = new Set<string>()
  // Names that the author gives take precedence over generated names.
  const given = entries.map((entry, at) => takeToolName(toToolEntry(entry, at), at, taken))
  const tools = new Map<string, AgentTool>()
  let size = 0
  for (const [at, entry] of entries.entries()) {
    const own = toToolEntry(entry, at)
    const facts = await loadToolFacts(parseToolTarget(entry, at, access.isNode), context, connected)
    size += estimateSize(facts.parameters)
    if (size > LONGEST_TOOL_PARAMETERS) throw new NodeError(TOOLS_TOO_LARGE, 'too_large')
    const name = given[at] ?? takeFreeName(facts.name, taken)
    tools.set(name, { ...facts, name, description: readToolText(own, 'description', at) ?? facts.description })
  }
  return tools
}

async function loadToolFacts(target: ToolTarget, context: NodeContext, connected: boolean): Promise<ResolvedTool> {
  const access = context.services.tools
  if ('node_type' in target) return access.node(target.node_type, target.data, connected)
  return access.workflow(target.workflow_id, (steps) => context.inSlices(steps))
}

/** Also marks the name as taken. */
function takeFreeName(made: string, taken: Set<string>): string {
  let name = made
  for (let count = 2; taken.has(name); count++) name = `${made.slice(0, 58)}_${count}`
  taken.add(name)
  return name
}

/** The arguments of a call as an object, or why they are invalid. */
export type ParsedArguments = { readonly given: Readonly<Record<string, unknown>> } | { readonly error: string }

/** Parses in one go. `countFittingToolCalls` limits which calls may be parsed. */
export function parseToolArguments(call: ToolCall): ParsedArguments {
  let given: unknown
  try {
    given = JSON.parse(call.arguments === '' ? '{}' : call.arguments)
  } catch {
    return { error: 'The arguments are no JSON.' }
  }
  if (typeof given === 'object' && given !== null && !Array.isArray(given))
    return { given: given as Record<string, unknown> }
  return { error: 'The arguments are no JSON object.' }
}

export interface ToolCallBounds {
  readonly args: ParsedArguments
  readonly maxResultCharacters: number
  redact(text: string): string
  readonly signal: AbortSignal
  /** Records the start of a call that must not be repeated. */
  recordBegin(): Promise<void>
}

/** Runs a call inside its step. The model is told of errors; only the end of the agent itself is thrown. */
export async function executeToolCall(
  tools: ReadonlyMap<string, AgentTool>,
  call: ToolCall,
  step: FiringStep,
  { args, maxResultCharacters, redact, signal, recordBegin }: ToolCallBounds,
): Promise<AgentToolResult> {
  try {
    const tool = tools.get(call.name)
    if (!tool) throw new NodeError(`There is no tool "${call.name}". There are: ${[...tools.keys()].join(', ')}.`)
    if ('error' in args) throw new NodeError(args.error, 'bad_arguments')
    const { workflow_id, params, repeatable } = tool.resolveCall(args.given)
    if (!repeatable) await recordBegin()
    const outputs = await hideWorkflowId(workflow_id, step.callWorkflow(workflow_id, params, signal))
    const values = Object.values(outputs)
    return {
      result: shortenResult(values.length === 1 ? values[0] : outputs, maxResultCharacters, redact),
      error: null,
    }
  } catch (error) {
    if (signal.aborted) throw error
    if (error instanceof NodeInterruptedError) return LOST_CALL_RESULT
    if (!(error instanceof NodeError) || error.type === 'cancelled') throw error
    return { result: null, error: shortenResult(error.message, maxResultCharacters, redact) }
  }
}

/** A node that is called directly has a generated workflow id, which would only confuse the reader of its errors. */
async function hideWorkflowId<T>(workflow_id: string, call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (
      !(error instanceof NodeError) ||
      error instanceof NodeInterruptedError ||
      !workflow_id.startsWith(SINGLE_NODE_PREFIX)
    )
      throw error
    const text = error.message.replace(`Workflow "${workflow_id}" failed at node "tool": `, '')
    throw new NodeError(text.replaceAll(workflow_id, 'the tool'), error.type, { cause: error.cause })
  }
}

/** Characters that are redacted beyond the shown text: a secret cut in two would not be found, and no secret is longer. */
const REDACTION_LOOKAHEAD = 262_144

/** A value as the text that a model reads. Of a long value, little more is processed than is shown. */
function shortenResult(value: unknown, longest: number, redact: (text: string) => string): string {
  const most = longest + REDACTION_LOOKAHEAD
  const whole = typeof value === 'string' ? value.slice(0, most + 1) : serializeBeginning(value, most + 1)
  if (whole.length <= longest) return whole
  const isCut = whole.length > most
  const text = redact(whole)
  if (!isCut && text.length <= longest) return text
  const shown = text.slice(0, isCut ? Math.min(longest, Math.max(0, text.length - REDACTION_LOOKAHEAD)) : longest)
  const all = isCut ? `more than ${most}` : text.length
  return `${shown}… (shortened: the first ${shown.length} of ${all} characters)`
}

/** The beginning of a value's JSON text: all of it, or little more than `most` characters. Bytes appear as their count. */
function serializeBeginning(value: unknown, most: number): string {
  let left = most
  const begun = (one: unknown): unknown => {
    if (one instanceof Uint8Array) return begun(`(${one.length} bytes)`)
    if (typeof one !== 'object' || one === null) {
      const text = typeof one === 'string' ? one.slice(0, left) : one
      left -= typeof text === 'string' ? text.length + 2 : 1
      return text
    }
    left -= 2
    const members: [string, unknown][] = []
    for (const name in one) {
      if (left <= 0) break
      left -= Array.isArray(one) ? 0 : name.length + 3
      members.push([name, begun((one as Record<string, unknown>)[name])])
    }
    return Array.isArray(one) ? members.map(([, member]) => member) : Object.fromEntries(members)
  }
  return JSON.stringify(begun(value)) ?? 'null'
}
