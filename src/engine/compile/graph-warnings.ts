// Last pass: what keeps no graph from running but is hardly meant. Slips in the names of properties and types, handles that can't be,
// and nodes whose outputs reach nobody.

import { truncateValue } from '../../shared/text-truncation.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { NameSuggestions, suggestName } from '../node-api/did-you-mean.ts'
import type { NodeType } from '../node-api/node-type.ts'
import { isTypeName, TYPE_NAMES } from '../node-api/values/type-metadata.ts'
import { type DraftNode, FORBIDDEN_HANDLE, TYPE_METADATA_KEYS } from './draft-nodes.ts'
import type { GraphIssueCode } from './graph.ts'
import type { GraphIssueList } from './graph-issues.ts'
import { COMMON_PROPERTIES } from './retry-policy.ts'

/** So many warnings of a kind are told; of the others only how many there are. */
const MAX_WARNINGS_PER_CODE = 20

/** Lookups of near names in one graph: most slips are the same one again. */
const MOST_LOOKUPS = 200

class GraphWarnings {
  readonly #issues: GraphIssueList
  readonly #counts = new Map<GraphIssueCode, number>()

  constructor(issues: GraphIssueList) {
    this.#issues = issues
  }

  add(code: GraphIssueCode, node: DraftNode | null, pin_name: string | null, message: () => string): void {
    const count = (this.#counts.get(code) ?? 0) + 1
    this.#counts.set(code, count)
    if (count <= MAX_WARNINGS_PER_CODE)
      this.#issues.push({ severity: 'warning', code, message: message(), node_id: node?.id ?? null, pin_name })
  }

  end(): void {
    for (const [code, count] of this.#counts) {
      if (count <= MAX_WARNINGS_PER_CODE) continue
      const message = `There are ${count - MAX_WARNINGS_PER_CODE} more warnings of this kind.`
      this.#issues.push({ severity: 'warning', code, message, node_id: null, pin_name: null })
    }
  }
}

/** Finds the property that a key nearly names; remembers what it found for each type. */
class PropertyTypos {
  readonly #known = new Map<NodeType, Map<string, string | null>>()
  readonly #hints = new NameSuggestions(MOST_LOOKUPS)

  findMeantProperty(key: string, { type, info }: DraftNode): string | null {
    const known = this.#known.get(type) ?? new Map<string, string | null>()
    this.#known.set(type, known)
    let found = known.get(key)
    if (found === undefined) {
      // What the type has itself is meant rather than what all have: "retrys" is "retries" where there is both that and "retry".
      found =
        this.#hints.findNearest(key, () => [...info.properties.keys()]) ??
        this.#hints.findNearest(key, () => COMMON_PROPERTIES)
      known.set(key, found)
    }
    return found
  }
}

function* warnAboutKeys(node: DraftNode, slips: PropertyTypos, warnings: GraphWarnings): Steps<void> {
  yield* forEachSteps(Object.keys(node.data), (key) => {
    if (node.info.properties.has(key) || node.dynamic.has(key) || COMMON_PROPERTIES.includes(key)) return
    const near = slips.findMeantProperty(key, node)
    // Where the property has its value or its edge, the other key is likely to be somebody else's.
    if (near === null || (node.data[near] ?? null) !== null || node.targetedInputs.has(near)) return
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

function suggestType(written: string, hints: NameSuggestions): string {
  const name = written.toLowerCase()
  const other = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : hints.findNearest(written, () => TYPE_NAMES)
  return other ? ` Did you mean "${other}"?` : ''
}

/** The first name in a type's metadata that is no type, or null. */
function findUnknownTypeName(entry: unknown, depth = 0): string | null {
  if (typeof entry !== 'object' || entry === null || depth > 8) return null
  const { type, type_args } = entry as { type?: unknown; type_args?: unknown }
  if (typeof type !== 'string') return null
  if (type !== '' && !isTypeName(type)) return type
  for (const part of Array.isArray(type_args) ? type_args.slice(0, 8) : []) {
    const found = findUnknownTypeName(part, depth + 1)
    if (found !== null) return found
  }
  return null
}

const LONGEST_NAME = 80

/** What is wrong with the type of a dynamic output, or null. */
function describeOutputTypeFault(entry: unknown, hints: NameSuggestions): string | null {
  if (typeof entry === 'string') return `a type is written {"type": "str"}, so this one is any.`
  const name = findUnknownTypeName(entry)
  return name === null || name.length > LONGEST_NAME ? null : `"${name}" is no type.${suggestType(name, hints)}`
}

/** The same of a dynamic input, whose entry may also be a value that only looks like a type: a hint must be at hand. */
function describeInputTypeFault(entry: unknown, hints: NameSuggestions): string | null {
  const name = findUnknownTypeName(entry)
  if (
    name === null ||
    name.length > LONGEST_NAME ||
    !Object.keys(entry as object).every((key) => TYPE_METADATA_KEYS.has(key))
  ) {
    return null
  }
  const hint = suggestType(name, hints)
  return hint === '' ? null : `"${name}" is no type, so all of it is taken for a value.${hint}`
}

function* warnAboutHandles(
  node: DraftNode,
  side: 'input' | 'output',
  hints: NameSuggestions,
  warnings: GraphWarnings,
): Steps<void> {
  const { type, info } = node
  const entries = side === 'input' ? node.node.dynamic_properties : node.node.dynamic_outputs
  const supported = side === 'input' ? type.supports_dynamic_inputs : type.supports_dynamic_outputs
  yield* forEachSteps(Object.keys(entries ?? {}), (name) => {
    const what = `Dynamic ${side} "${name}" of node "${node.id}" (${type.node_type})`
    const own = side === 'input' ? info.properties.has(name) : info.outputs.has(name)
    const why = own
      ? `the node type has an ${side} of that name itself`
      : !supported
        ? `the node type takes no dynamic ${side}s`
        : name === FORBIDDEN_HANDLE
          ? 'no handle may have that name'
          : null
    if (why !== null) {
      warnings.add('ignored_handle', node, name, () => `${what} is ignored: ${why}.`)
      return
    }
    const wrong = (side === 'input' ? describeInputTypeFault : describeOutputTypeFault)(entries?.[name], hints)
    if (wrong !== null) warnings.add('unknown_type', node, name, () => `${what}: ${wrong}`)
  })
}

/** What a type doesn't say itself is guessed: not to be tried twice, in need of something outside, or without outputs. */
function mayHaveEffect({
  effect,
  retry_safe = true,
  required_settings,
  required_runtimes,
  outputs,
}: NodeType): boolean {
  const outside = (required_settings?.length ?? 0) + (required_runtimes?.length ?? 0) > 0
  return effect ?? (retry_safe !== true || outside || outputs.length === 0)
}

/** Marks the nodes, by index, from which a path leads to an output node or to one that has an effect. */
function* findUsefulNodes(nodes: readonly DraftNode[]): Steps<Uint8Array> {
  const useful = new Uint8Array(nodes.length)
  const found = nodes.filter(({ type }) => type.role === 'output' || mayHaveEffect(type))
  for (const { index } of found) useful[index] = 1
  // A list hands out what is added to it while it is read.
  yield* forEachSteps(found, (node) => {
    for (const { source } of node.incoming) {
      if (useful[source.index] === 0) found.push(source)
      useful[source.index] = 1
    }
  })
  return useful
}

function describeUselessNode({ id, data, type }: DraftNode): string {
  if (type.role === 'input') return `Nothing uses the input "${String(data.name)}" (node "${id}").`
  return `Nothing uses what node "${id}" (${type.node_type}) gives, so it has no part in the outputs.`
}

function* warnAboutOutputs(nodes: readonly DraftNode[], warnings: GraphWarnings): Steps<void> {
  if (!nodes.some(({ type }) => type.role === 'output')) return
  const useful = yield* findUsefulNodes(nodes)
  yield* forEachSteps(nodes, (node) => {
    if (node.type.role === 'output' && !node.targetedInputs.has('value') && (node.data.value ?? null) === null) {
      const text = `Output "${String(node.data.name)}" (node "${node.id}") never gets a value: no edge leads to it.`
      warnings.add('unreachable_output', node, 'value', () => text)
    }
    // Of a row of nodes that leads nowhere only the last is told, and of the round of a loop only the loop.
    const last = node.type.loop !== undefined || node.outgoing.length === 0
    if (last && useful[node.index] === 0)
      warnings.add('unreachable_output', node, null, () => describeUselessNode(node))
  })
}

function warnAboutNames(node: DraftNode, warnings: GraphWarnings): void {
  const { id, type, data, dynamic, targetedInputs: meant } = node
  const found = type.unknownName?.(data, dynamic)
  // What an edge brings in the place of the property's own value is not known yet.
  if (!found || meant.has(found.property)) return
  const { property, name } = found
  const what = `"${property}" of node "${id}" (${type.node_type}) uses "${truncateValue(name)}", which is no input of it.`
  warnings.add('unknown_name', node, property, () => `Property ${what}${suggestName(name, dynamic.keys())}`)
}

/** So many nodes to a step. */
const NODES_PER_STEP = 64

/** Adds the warnings of a graph. What leads nowhere is only told of a graph that is otherwise right. */
export function* addWarnings(nodes: readonly DraftNode[], issues: GraphIssueList): Steps<void> {
  const right = issues.errorCount === 0
  const warnings = new GraphWarnings(issues)
  const slips = new PropertyTypos()
  const hints = new NameSuggestions(MOST_LOOKUPS)
  for (const [at, node] of nodes.entries()) {
    if (at % NODES_PER_STEP === 0) yield
    yield* warnAboutKeys(node, slips, warnings)
    yield* warnAboutHandles(node, 'input', hints, warnings)
    yield* warnAboutHandles(node, 'output', hints, warnings)
    warnAboutNames(node, warnings)
  }
  if (right) yield* warnAboutOutputs(nodes, warnings)
  if (right && nodes.length === 0)
    warnings.add('empty_graph', null, null, () => 'The graph has no nodes, so it gives nothing.')
  warnings.end()
}
