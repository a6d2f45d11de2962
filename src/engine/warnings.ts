// Last pass: what keeps no graph from running but is hardly meant. Slips in the names of properties and types, handles that can't be,
// and nodes whose outputs reach nobody.

import { shortValue } from '../short.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { type DraftNode, FORBIDDEN, TYPE_KEYS } from './draft.ts'
import type { GraphIssueCode } from './graph.ts'
import type { Issues } from './issues.ts'
import type { NodeType } from './node-type.ts'
import { COMMON_PROPERTIES } from './policy.ts'
import { Hints, hint } from './suggest.ts'
import { isTypeName, TYPE_NAMES } from './types.ts'

/** So many warnings of a kind are told; of the others only how many there are. */
const MOST = 20

/** Lookups of near names in one graph: most slips are the same one again. */
const MOST_LOOKUPS = 200

class Warnings {
  readonly #issues: Issues
  readonly #counts = new Map<GraphIssueCode, number>()

  constructor(issues: Issues) {
    this.#issues = issues
  }

  add(code: GraphIssueCode, node: DraftNode | null, pin_name: string | null, message: () => string): void {
    const count = (this.#counts.get(code) ?? 0) + 1
    this.#counts.set(code, count)
    if (count <= MOST)
      this.#issues.push({ severity: 'warning', code, message: message(), node_id: node?.id ?? null, pin_name })
  }

  end(): void {
    for (const [code, count] of this.#counts) {
      if (count <= MOST) continue
      const message = `There are ${count - MOST} more warnings of this kind.`
      this.#issues.push({ severity: 'warning', code, message, node_id: null, pin_name: null })
    }
  }
}

/** Finds the property that a key nearly names; remembers what it found for each type. */
class Slips {
  readonly #known = new Map<NodeType, Map<string, string | null>>()
  readonly #hints = new Hints(MOST_LOOKUPS)

  of(key: string, { type, info }: DraftNode): string | null {
    const known = this.#known.get(type) ?? new Map<string, string | null>()
    this.#known.set(type, known)
    let found = known.get(key)
    if (found === undefined) {
      // What the type has itself is meant rather than what all have: "retrys" is "retries" where there is both that and "retry".
      found =
        this.#hints.nearest(key, () => [...info.properties.keys()]) ?? this.#hints.nearest(key, () => COMMON_PROPERTIES)
      known.set(key, found)
    }
    return found
  }
}

function* warnOfKeys(node: DraftNode, slips: Slips, warnings: Warnings): Steps<void> {
  yield* forEachStep(Object.keys(node.data), (key) => {
    if (node.info.properties.has(key) || node.dynamic.has(key) || COMMON_PROPERTIES.includes(key)) return
    const near = slips.of(key, node)
    // Where the property has its value or its edge, the other key is likely to be somebody else's.
    if (near === null || (node.data[near] ?? null) !== null || node.meant.has(near)) return
    warnings.add('unknown_property', node, key, () => {
      const what = `Node "${node.id}" (${node.type.node_type}) has no property "${key}"`
      return `${what}, so its value is not used. Did you mean "${near}"?`
    })
  })
}

/** What other languages call the types. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  string: 'str',
  text: 'str',
  integer: 'int',
  number: 'float',
  double: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
  map: 'dict',
  record: 'dict',
  table: 'dataframe',
}

function typeHint(written: string, hints: Hints): string {
  const name = written.toLowerCase()
  const other = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : hints.nearest(written, () => TYPE_NAMES)
  return other ? ` Did you mean "${other}"?` : ''
}

/** The first name in a type's metadata that is no type, or null. */
function unknownName(entry: unknown, depth = 0): string | null {
  if (typeof entry !== 'object' || entry === null || depth > 8) return null
  const { type, type_args } = entry as { type?: unknown; type_args?: unknown }
  if (typeof type !== 'string') return null
  if (type !== '' && !isTypeName(type)) return type
  for (const part of Array.isArray(type_args) ? type_args.slice(0, 8) : []) {
    const found = unknownName(part, depth + 1)
    if (found !== null) return found
  }
  return null
}

const LONGEST_NAME = 80

/** What is wrong with the type of a dynamic output, or null. */
function outputTypeText(entry: unknown, hints: Hints): string | null {
  if (typeof entry === 'string') return `a type is written {"type": "str"}, so this one is any.`
  const name = unknownName(entry)
  return name === null || name.length > LONGEST_NAME ? null : `"${name}" is no type.${typeHint(name, hints)}`
}

/** The same of a dynamic input, whose entry may also be a value that only looks like a type: a hint must be at hand. */
function inputTypeText(entry: unknown, hints: Hints): string | null {
  const name = unknownName(entry)
  if (name === null || name.length > LONGEST_NAME || !Object.keys(entry as object).every((key) => TYPE_KEYS.has(key))) {
    return null
  }
  const hint = typeHint(name, hints)
  return hint === '' ? null : `"${name}" is no type, so all of it is taken for a value.${hint}`
}

function* warnOfHandles(node: DraftNode, side: 'input' | 'output', hints: Hints, warnings: Warnings): Steps<void> {
  const { type, info } = node
  const entries = side === 'input' ? node.node.dynamic_properties : node.node.dynamic_outputs
  const supported = side === 'input' ? type.supports_dynamic_inputs : type.supports_dynamic_outputs
  yield* forEachStep(Object.keys(entries ?? {}), (name) => {
    const what = `Dynamic ${side} "${name}" of node "${node.id}" (${type.node_type})`
    const own = side === 'input' ? info.properties.has(name) : info.outputs.has(name)
    const why = own
      ? `the node type has an ${side} of that name itself`
      : !supported
        ? `the node type takes no dynamic ${side}s`
        : name === FORBIDDEN
          ? 'no handle may have that name'
          : null
    if (why !== null) {
      warnings.add('ignored_handle', node, name, () => `${what} is ignored: ${why}.`)
      return
    }
    const wrong = (side === 'input' ? inputTypeText : outputTypeText)(entries?.[name], hints)
    if (wrong !== null) warnings.add('unknown_type', node, name, () => `${what}: ${wrong}`)
  })
}

/** What a type doesn't say itself is guessed: not to be tried twice, in need of something outside, or without outputs. */
function hasEffect({ effect, retry_safe = true, required_settings, required_runtimes, outputs }: NodeType): boolean {
  const outside = (required_settings?.length ?? 0) + (required_runtimes?.length ?? 0) > 0
  return effect ?? (retry_safe !== true || outside || outputs.length === 0)
}

/** Marks the nodes, by index, from which a path leads to an output node or to one that has an effect. */
function* usefulNodes(nodes: readonly DraftNode[]): Steps<Uint8Array> {
  const useful = new Uint8Array(nodes.length)
  const found = nodes.filter(({ type }) => type.role === 'output' || hasEffect(type))
  for (const { index } of found) useful[index] = 1
  // A list hands out what is added to it while it is read.
  yield* forEachStep(found, (node) => {
    for (const { source } of node.incoming) {
      if (useful[source.index] === 0) found.push(source)
      useful[source.index] = 1
    }
  })
  return useful
}

function uselessText({ id, data, type }: DraftNode): string {
  if (type.role === 'input') return `Nothing uses the input "${String(data.name)}" (node "${id}").`
  return `Nothing uses what node "${id}" (${type.node_type}) gives, so it has no part in the outputs.`
}

function* warnOfOutputs(nodes: readonly DraftNode[], warnings: Warnings): Steps<void> {
  if (!nodes.some(({ type }) => type.role === 'output')) return
  const useful = yield* usefulNodes(nodes)
  yield* forEachStep(nodes, (node) => {
    if (node.type.role === 'output' && !node.meant.has('value') && (node.data.value ?? null) === null) {
      const text = `Output "${String(node.data.name)}" (node "${node.id}") never gets a value: no edge leads to it.`
      warnings.add('unreachable_output', node, 'value', () => text)
    }
    // Of a row of nodes that leads nowhere only the last is told, and of the round of a loop only the loop.
    const last = node.type.loop !== undefined || node.outgoing.length === 0
    if (last && useful[node.index] === 0) warnings.add('unreachable_output', node, null, () => uselessText(node))
  })
}

function warnOfNames(node: DraftNode, warnings: Warnings): void {
  const { id, type, data, dynamic, meant } = node
  const found = type.unknownName?.(data, dynamic)
  // What an edge brings in the place of the property's own value is not known yet.
  if (!found || meant.has(found.property)) return
  const { property, name } = found
  const what = `"${property}" of node "${id}" (${type.node_type}) uses "${shortValue(name)}", which is no input of it.`
  warnings.add('unknown_name', node, property, () => `Property ${what}${hint(name, dynamic.keys())}`)
}

/** So many nodes to a step. */
const SOME = 64

/** Adds the warnings of a graph. What leads nowhere is only told of a graph that is otherwise right. */
export function* warnOf(nodes: readonly DraftNode[], issues: Issues): Steps<void> {
  const right = issues.errors === 0
  const warnings = new Warnings(issues)
  const slips = new Slips()
  const hints = new Hints(MOST_LOOKUPS)
  for (const [at, node] of nodes.entries()) {
    if (at % SOME === 0) yield
    yield* warnOfKeys(node, slips, warnings)
    yield* warnOfHandles(node, 'input', hints, warnings)
    yield* warnOfHandles(node, 'output', hints, warnings)
    warnOfNames(node, warnings)
  }
  if (right) yield* warnOfOutputs(nodes, warnings)
  if (right && nodes.length === 0)
    warnings.add('empty_graph', null, null, () => 'The graph has no nodes, so it gives nothing.')
  warnings.end()
}
