// The tools of one turn: those of the server and those of the client, as models know them by name.
import type { ChatTool, ToolCall } from '../../generated/types.ts'
import type { Scope } from '../db/scope.ts'
import { measuredSteps, sizeOf } from '../engine/measure.ts'
import { type Problem, ServiceError } from '../errors.ts'
import { argumentsTooLong, deeperThan, fittingCalls, MAX_DEPTH } from '../json.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Steps } from '../time-slices.ts'
import type { ServerTool, ToolBox } from './tool-box.ts'

export type ChosenTool = string | ChatTool

export interface ToolsOf {
  readonly box: ToolBox
  readonly owner: Scope
  /** The owner's. */
  readonly redactor: Redactor
}

/** Of all definitions together, in characters: they are sent with each question of a turn. */
const LARGEST_TOOLS = 16_777_216

/** As one caller chose them. */
interface Known {
  readonly definitions: readonly ChatTool[]
  readonly server: ReadonlyMap<string, ServerTool>
  readonly client: ReadonlySet<string>
}

/**
 * The tools that were chosen, in steps: there may be very many, and each may be large. `at` is the pointer of the list in the request.
 * @throws INVALID_REQUEST for a tool that there is not, two of one name, or one whose name holds a secret: it could not be told to anybody;
 * REQUEST_TOO_LARGE
 */
export function* toolSteps({ box, owner, redactor }: ToolsOf, chosen: readonly ChosenTool[], at: string): Steps<Tools> {
  const server = new Map<string, ServerTool>()
  const client = new Set<string>()
  const definitions: ChatTool[] = []
  const problems: Problem[] = []
  /** What models call those that were named. */
  const named = new Map<string, string>()
  let size = 0
  for (const [index, choice] of chosen.entries()) {
    yield
    const path = `${at}/${index}`
    const known = typeof choice === 'string' ? named.get(choice) : undefined
    if (known !== undefined) {
      problems.push({ path, message: taken(known) })
      continue
    }
    const tool = typeof choice === 'string' ? yield* box.toolSteps(owner, choice, path) : null
    const given = tool?.definition ?? (choice as ChatTool)
    const name = nameOf(given)
    if (tool) named.set(tool.name, name)
    const definition = yield* measuredSteps(redactor.valueSteps(given))
    size += sizeOf(definition)
    if (size > LARGEST_TOOLS) throw tooLarge()
    if (nameOf(definition) !== name) problems.push({ path, message: 'the name holds what is known as a secret' })
    if (server.has(name) || client.has(name)) problems.push({ path, message: taken(name) })
    if (tool) server.set(name, tool)
    else client.add(name)
    definitions.push(definition)
  }
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', { problems })
  return new Tools({ definitions, server, client })
}

function taken(name: string): string {
  return `another tool has the name "${name}"`
}

function tooLarge(): ServiceError {
  const message = `The tools have more than ${LARGEST_TOOLS.toLocaleString('en')} characters together.`
  return new ServiceError('REQUEST_TOO_LARGE', { message })
}

export class Tools {
  readonly definitions: readonly ChatTool[]
  readonly #server: ReadonlyMap<string, ServerTool>
  readonly #client: ReadonlySet<string>

  constructor({ definitions, server, client }: Known) {
    this.definitions = definitions
    this.#server = server
    this.#client = client
  }

  server(name: string): ServerTool | undefined {
    return this.#server.get(name)
  }

  isClients(name: string): boolean {
    return this.#client.has(name)
  }
}

export function nameOf(tool: ChatTool | ToolCall): string {
  return tool.type === 'function' ? tool.function.name : tool.custom.name
}

/** The call under another id, and with another name of its tool. */
export function renamed(call: ToolCall, id: string, name: string): ToolCall {
  if (call.type === 'custom') return { ...call, id, custom: { ...call.custom, name } }
  return { ...call, id, function: { ...call.function, name } }
}

/** What a model asks for. */
export interface Asked {
  readonly id: string
  readonly name: string
  /** Null where there are none that can be used, for the reason that `lack` tells. */
  readonly args: Record<string, unknown> | null
  readonly lack: string
}

const NO_OBJECT = 'The arguments are no JSON object.'

/** What the calls of one message ask for. */
export function askedOf(calls: readonly ToolCall[]): Asked[] {
  const fitting = fittingCalls(calls.map(writtenOf))
  return calls.map((call, at) => {
    const fits = at < fitting
    const args = fits ? argumentsOf(call) : null
    return { id: call.id, name: nameOf(call), args, lack: fits ? NO_OBJECT : argumentsTooLong() }
  })
}

function writtenOf(call: ToolCall): string {
  return call.type === 'custom' ? call.custom.input : call.function.arguments
}

function argumentsOf(call: ToolCall): Asked['args'] {
  return call.type === 'custom' ? { input: call.custom.input } : objectOf(call.function.arguments)
}

/** How many levels of arguments a frame has room for. */
const DEEPEST = MAX_DEPTH - 1

/** Models write nothing for a function that takes nothing. */
function objectOf(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    return deeperThan(value, DEEPEST) || !canBeTold(value) ? null : (value as Record<string, unknown>)
  } catch {
    return null
  }
}

/** Numbers that have no end, and names that mean something else to who reads them, have no place in a frame. */
function canBeTold(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, member]) => name !== '__proto__' && canBeTold(member))
}

/** As the model reads it. */
export function contentOf(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null')
}
