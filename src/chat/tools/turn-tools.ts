// The tools of one turn, from the server and the client, by the names that models use.
import type { ChatTool, ToolCall } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import { estimateSize, makeMeasuredSteps } from '../../engine/node-api/values/measure.ts'
import { type Problem, ServiceError } from '../../errors.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { countFittingToolCalls, isDeeperThan, MAX_JSON_DEPTH, toolArgumentsTooLongMessage } from '../../shared/json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { ServerTool, ServerToolResolver } from './server-tools.ts'

export type ChosenTool = string | ChatTool

export interface TurnToolsParts {
  readonly box: ServerToolResolver
  readonly owner: OwnerScope
  /** The owner's redactor. */
  readonly redactor: Redactor
}

/** Of all definitions together, in characters: each model call of a turn sends them. */
const MAX_DEFINITIONS_LENGTH = 16_777_216

/** The tools that one caller chose. */
interface ResolvedTools {
  readonly definitions: readonly ChatTool[]
  readonly server: ReadonlyMap<string, ServerTool>
  readonly client: ReadonlySet<string>
}

/**
 * Resolves the chosen tools, in steps: there may be very many, and each may be large. `at` is the pointer of the list
 * in the request.
 * @throws INVALID_REQUEST for an unknown tool, a repeated name, or a name that contains a secret and so cannot be
 * shown; REQUEST_TOO_LARGE
 */
export function* resolveTurnToolsSteps(
  { box, owner, redactor }: TurnToolsParts,
  chosen: readonly ChosenTool[],
  at: string,
): Steps<TurnTools> {
  const server = new Map<string, ServerTool>()
  const client = new Set<string>()
  const definitions: ChatTool[] = []
  const problems: Problem[] = []
  /** The names for models, by the names of server tools. */
  const named = new Map<string, string>()
  let size = 0
  for (const [index, choice] of chosen.entries()) {
    yield
    const path = `${at}/${index}`
    const known = typeof choice === 'string' ? named.get(choice) : undefined
    if (known !== undefined) {
      problems.push({ path, message: describeTakenName(known) })
      continue
    }
    const tool = typeof choice === 'string' ? yield* box.toolSteps(owner, choice, path) : null
    const given = tool?.definition ?? (choice as ChatTool)
    const name = getToolName(given)
    if (tool) named.set(tool.name, name)
    const definition = yield* makeMeasuredSteps(redactor.valueSteps(given))
    size += estimateSize(definition)
    if (size > MAX_DEFINITIONS_LENGTH) throw createTooLargeError()
    if (getToolName(definition) !== name)
      problems.push({ path, message: 'the name contains a secret; choose another name' })
    if (server.has(name) || client.has(name)) problems.push({ path, message: describeTakenName(name) })
    if (tool) server.set(name, tool)
    else client.add(name)
    definitions.push(definition)
  }
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', { problems })
  return new TurnTools({ definitions, server, client })
}

function describeTakenName(name: string): string {
  return `another tool has the name "${name}"`
}

function createTooLargeError(): ServiceError {
  const message = `The tools have more than ${MAX_DEFINITIONS_LENGTH.toLocaleString('en')} characters together. Send fewer or shorter tools.`
  return new ServiceError('REQUEST_TOO_LARGE', { message })
}

export class TurnTools {
  readonly definitions: readonly ChatTool[]
  readonly #server: ReadonlyMap<string, ServerTool>
  readonly #client: ReadonlySet<string>

  constructor({ definitions, server, client }: ResolvedTools) {
    this.definitions = definitions
    this.#server = server
    this.#client = client
  }

  server(name: string): ServerTool | undefined {
    return this.#server.get(name)
  }

  isClientTool(name: string): boolean {
    return this.#client.has(name)
  }
}

export function getToolName(tool: ChatTool | ToolCall): string {
  return tool.type === 'function' ? tool.function.name : tool.custom.name
}

/** Returns the call with another id and another tool name. */
export function renameToolCall(call: ToolCall, id: string, name: string): ToolCall {
  if (call.type === 'custom') return { ...call, id, custom: { ...call.custom, name } }
  return { ...call, id, function: { ...call.function, name } }
}

/** A tool call of a model. */
export interface RequestedToolCall {
  readonly id: string
  readonly name: string
  /** Null if the arguments are unusable, for the reason in `problem`. */
  readonly args: Record<string, unknown> | null
  readonly problem: string
}

const NOT_AN_OBJECT = 'The arguments are no JSON object.'

export function parseToolCalls(calls: readonly ToolCall[]): RequestedToolCall[] {
  const fitting = countFittingToolCalls(calls.map(getArgumentsText))
  return calls.map((call, at) => {
    const fits = at < fitting
    const args = fits ? parseArguments(call) : null
    return { id: call.id, name: getToolName(call), args, problem: fits ? NOT_AN_OBJECT : toolArgumentsTooLongMessage() }
  })
}

function getArgumentsText(call: ToolCall): string {
  return call.type === 'custom' ? call.custom.input : call.function.arguments
}

function parseArguments(call: ToolCall): RequestedToolCall['args'] {
  return call.type === 'custom' ? { input: call.custom.input } : parseObject(call.function.arguments)
}

/** The levels of arguments that fit into a frame. */
const MAX_ARGUMENTS_DEPTH = MAX_JSON_DEPTH - 1

/** Models send an empty text for functions without arguments. */
function parseObject(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    return isDeeperThan(value, MAX_ARGUMENTS_DEPTH) || !canBeSent(value) ? null : (value as Record<string, unknown>)
  } catch {
    return null
  }
}

/** A frame cannot contain infinite numbers, and `__proto__` has a special meaning to some parsers. */
function canBeSent(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, member]) => name !== '__proto__' && canBeSent(member))
}

/** The result as text for the model. */
export function encodeResult(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null')
}
