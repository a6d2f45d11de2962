// Which tools a model may call, and whether it must: OpenAI's form of it, read for vendors with forms of their own.
import type { CompletionRequest } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'
import { createUnsupportedError, truncateToolName } from './unsupported-error.ts'

export interface FunctionTool {
  readonly name: string
  readonly description: string | null
  /** A JSON schema of its arguments; null: it takes none. */
  readonly schema: Readonly<Record<string, unknown>> | null
  /** Whether its arguments must match the schema. */
  readonly strict: boolean
}

export interface ToolPlan {
  /** Those that may be called. */
  readonly tools: readonly FunctionTool[]
  readonly choice: 'auto' | 'none' | 'required' | { readonly name: string }
  /** Whether several may be called at once. */
  readonly parallel: boolean
}

type ToolChoice = Exclude<NonNullable<CompletionRequest['tool_choice']>, string>
type AllowedTools = Extract<ToolChoice, { type: 'allowed_tools' }>['allowed_tools']

/** @throws ProviderError `unsupported` for tools that are no functions, `rejected` for a choice of one that is not there */
export function createToolPlan(
  { tools, tool_choice, parallel_tool_calls }: CompletionRequest,
  provider: string,
): ToolPlan {
  const all = (tools ?? []).map((tool, at) => parseTool(tool, `tools[${at}]`, provider))
  const plan = { tools: all, parallel: parallel_tool_calls ?? true }
  if (tool_choice == null) return { ...plan, choice: 'auto' }
  if (typeof tool_choice === 'string') return { ...plan, choice: tool_choice }
  if (tool_choice.type === 'custom') throw createUnsupportedError(provider, 'tool_choice', 'has no tools but functions')
  if (tool_choice.type === 'allowed_tools') return { ...plan, ...selectAllowedTools(all, tool_choice.allowed_tools) }
  return { ...plan, choice: { name: requireKnownTool(all, tool_choice.function.name) } }
}

function parseTool(
  tool: NonNullable<CompletionRequest['tools']>[number],
  place: string,
  provider: string,
): FunctionTool {
  if (tool.type !== 'function') throw createUnsupportedError(provider, place, 'has no tools but functions')
  const { name, description, parameters, strict } = tool.function
  return { name, description: description ?? null, schema: parameters ?? null, strict: strict ?? false }
}

/** A model that is told of no other tools calls no other ones. */
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
