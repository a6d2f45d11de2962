// The entries of an agent's list of tools, as the author writes them.

import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { NodeTypeLookup } from '../../engine/node-api/node-type.ts'
import type { ToolTarget } from '../../engine/node-api/services/tools.ts'
import { isLongerAsJson } from '../../engine/node-api/values/json-length.ts'
import { resolveToolTypeWithData } from './tool-node-types.ts'

export const MOST_TOOLS = 128
export const TOO_MANY_TOOLS = `There are more than ${MOST_TOOLS} tools.`
const WORKFLOW = 'workflow/'
/** In characters, roughly. Each call of a tool makes a workflow with this data. */
const LARGEST_DATA = 100_000
// A function, because the first number that is formatted for a language takes long.
const dataTooLargeMessage = () =>
  `has more than ${LARGEST_DATA.toLocaleString('en')} characters of data. Put the data into a workflow and name that as the tool`
/** The property that holds the entries. */
export const TOOLS_PROPERTY = 'tools'
/** The form of node type names. No workflow id has it. */
const NODE_TYPE_NAME = /^[a-z]\w*\.[A-Z]\w*$/
/** The form that all providers accept for names of tools. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/

export type ToolEntry = Readonly<Record<string, unknown>>

/** Finds the workflow or node type that an entry means. @throws NodeError `bad_input` */
export function parseToolTarget(given: unknown, at: number, isNode: (node_type: string) => boolean): ToolTarget {
  if (typeof given === 'string') {
    if (isNode(given) || NODE_TYPE_NAME.test(given)) return { node_type: given, data: {} }
    return { workflow_id: given.startsWith(WORKFLOW) ? given.slice(WORKFLOW.length) : given }
  }
  const entry = toToolEntry(given, at)
  const [workflow_id, node_type] = [readToolText(entry, 'workflow_id', at), readToolText(entry, 'node_type', at)]
  if (workflow_id !== null && node_type === null) return { workflow_id }
  if (node_type !== null && workflow_id === null) return { node_type, data: readToolData(entry, at) }
  throw badToolError(at, 'must have either a workflow_id or a node_type')
}

/** An entry that is a string stands for an entry without settings. */
export function toToolEntry(given: unknown, at: number): ToolEntry {
  if (typeof given === 'string') return {}
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as ToolEntry
  throw badToolError(at, 'must be a workflow id, a node type, or an object')
}

function readToolData({ data }: ToolEntry, at: number): ToolEntry {
  if (data === undefined || data === null) return {}
  if (typeof data !== 'object' || Array.isArray(data)) throw badToolError(at, 'has data that is not an object')
  if (isLongerAsJson(data, LARGEST_DATA)) throw badToolError(at, dataTooLargeMessage())
  return data as ToolEntry
}

/** The name that an entry gives its tool, or null. The name is added to `taken`. @throws NodeError `bad_input` */
export function takeToolName(entry: ToolEntry, at: number, taken: Set<string>): string | null {
  const name = readToolText(entry, 'name', at)
  if (name === null) return null
  if (!TOOL_NAME.test(name)) throw badToolError(at, 'must have a name of up to 64 letters, digits, _ and -')
  if (taken.has(name)) throw badToolError(at, `has the name "${name}", which another tool has already`)
  taken.add(name)
  return name
}

/** The target of an entry, or the error why the entry is invalid. */
export type ParsedToolEntry =
  | { readonly target: ToolTarget }
  | { readonly error: NodeError; readonly code: NodeProblem['code'] }

/** Reads entries in their order, without a check that workflows exist. */
export function* parseToolEntries(
  entries: readonly unknown[],
  types: NodeTypeLookup,
): Generator<ParsedToolEntry, void, void> {
  const taken = new Set<string>()
  for (const [at, entry] of entries.entries()) {
    let unknown = false
    try {
      const target = parseToolTarget(entry, at, (node_type) => types.get(node_type) !== undefined)
      unknown = 'node_type' in target && types.get(target.node_type) === undefined
      if ('node_type' in target) resolveToolTypeWithData(types, target.node_type, target.data)
      takeToolName(toToolEntry(entry, at), at, taken)
      yield { target }
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      const text = error.type === 'bad_input' ? error.message : `Tool ${at + 1}: ${error.message}`
      yield { error: new NodeError(text, error.type), code: unknown ? 'unknown_node' : 'type_mismatch' }
    }
  }
}

/** The first problem in an agent's own list of tools that is certain before a run. */
export function toolsProblem({ data, isConnected }: NodeFacts, types: NodeTypeLookup): NodeProblem | null {
  const entries = data[TOOLS_PROPERTY]
  if (isConnected(TOOLS_PROPERTY) || !Array.isArray(entries)) return null
  if (entries.length > MOST_TOOLS) return { property: TOOLS_PROPERTY, code: 'out_of_range', message: TOO_MANY_TOOLS }
  for (const read of parseToolEntries(entries, types))
    if ('error' in read) return { property: TOOLS_PROPERTY, code: read.code, message: read.error.message }
  return null
}

export function readToolText(entry: ToolEntry, key: string, at: number): string | null {
  const value = entry[key] ?? null
  if (value === null || (typeof value === 'string' && value !== '')) return value
  throw badToolError(at, `must have a non-empty string as its ${key}`)
}

function badToolError(at: number, text: string): NodeError {
  return new NodeError(`Tool ${at + 1} ${text}.`, 'bad_input')
}
