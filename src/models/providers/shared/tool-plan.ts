// Reads from OpenAI's form which tools a model may or must call, for vendors with forms of their own.
import type { CompletionRequest } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'
import { createUnsupportedError, truncateToolName } from './unsupported-error.ts'

export interface FunctionTool {
  readonly name: string
  readonly description: string | null
  /** The JSON schema of the arguments; null: the tool takes none. */
  readonly schema: Readonly<Record<string, unknown>> | null
  /** Whether the arguments must match the schema. */
  readonly strict: boolean
}

export interface ToolPlan {
  /** The tools that the model may call. */
  readonly tools: readonly FunctionTool[]
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string }
  /** Whether the model may make several calls at once. */
  readonly parallel: boolean
}

type ToolChoice = Exclude<NonNullable<CompletionRequest['tool_choice']>, string>
type AllowedTools = Extract<ToolChoice, { type: 'allowed_tools' }>['allowed_tools']

/** @throws ProviderError `unsupported` for tools that are no functions, `rejected` for the choice of a missing tool */
export function createToolPlan(
  { tools, tool_choice, parallel_tool_calls }: CompletionRequest,
  provider: string,
): ToolPlan {
  const all = (tools ?? []).map((tool, at) => parseTool(tool, `tools[${at}]`, provider))
  const plan = { tools: all, parallel: parallel_tool_calls ?? true }
  if (tool_choice == null) return { ...plan, choice: 'auto' }
  if (typeof tool_choice === 'string') return { ...plan, choice: tool_choice }
  if (tool_choice.type === 'custom')
    throw createUnsupportedError(provider, 'tool_choice', 'takes only tools of the type "function"')
  if (tool_choice.type === 'allowed_tools') return { ...plan, ...selectAllowedTools(all, tool_choice.allowed_tools) }
  return { ...plan, choice: { name: requireKnownTool(all, tool_choice.function.name) } }
}

function parseTool(
  tool: NonNullable<CompletionRequest['tools']>[number],
  place: string,
  provider: string,
): FunctionTool {
  if (tool.type !== 'function') throw createUnsupportedError(provider, place, 'takes only tools of the type "function"')
  const { name, description, parameters, strict } = tool.function
  return { name, description: description ?? null, schema: parameters ?? null, strict: strict ?? false }
}

/** Only the allowed tools are sent: a model calls no tool that it does not know. */
function selectAllowedTools(
  all: readonly FunctionTool[],
  { mode, tools }: AllowedTools,
): Pick<ToolPlan, 'tools' | 'choice'> {
  const names = new Set(tools.map((one) => requireKnownTool(all, readFunctionName(one))))
  return { tools: all.filter(({ name }) => names.has(name)), choice: mode }
}

function readFunctionName({ function: named }: Readonly<Record<string, unknown>>): string {
  const name = typeof named === 'object' && named !== null && 'name' in named ? named.name : null
  return typeof name === 'string' ? name : ''
}

function requireKnownTool(all: readonly FunctionTool[], name: string): string {
  if (all.some((tool) => tool.name === name)) return name
  const text = `There is no tool "${truncateToolName(name)}" among the tools of this request.`
  throw new ProviderError('rejected', text, { param: 'tool_choice' })
}
