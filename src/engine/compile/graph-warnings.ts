// Last pass: warnings about graphs that can run but hardly do what their author meant. Finds misspelled names of properties and types,
// handles that are ignored, and nodes whose outputs are unused.

import { truncateValue } from '../../shared/text-truncation.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { NameSuggestions, suggestName } from '../node-api/did-you-mean.ts'
import type { NodeType } from '../node-api/node-type.ts'
import { isTypeName, TYPE_NAMES } from '../node-api/values/type-metadata.ts'
import { type DraftNode, FORBIDDEN_HANDLE, TYPE_METADATA_KEYS } from './draft-nodes.ts'
import type { GraphIssueCode } from './graph.ts'
import type { GraphIssueList } from './graph-issues.ts'
import { COMMON_PROPERTIES } from './retry-policy.ts'

/** Of each code so many warnings are listed; further ones are only counted. */
const MAX_WARNINGS_PER_CODE = 20

/** Limits lookups of similar names in one graph: most typos repeat. */
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

/** Finds the property that a key nearly names; results are cached per type. */
class PropertyTypos {
  readonly #known = new Map<NodeType, Map<string, string | null>>()
  readonly #hints = new NameSuggestions(MOST_LOOKUPS)

  findMeantProperty(key: string, { type, info }: DraftNode): string | null {
    const known = this.#known.get(type) ?? new Map<string, string | null>()
    this.#known.set(type, known)
    let found = known.get(key)
    if (found === undefined) {
      // The type's own properties come first: "retrys" means "retries" if the type has it, not the common "retry".
      found =
        this.#hints.findNearest(key, () => [...info.properties.keys()]) ??
        this.#hints.findNearest(key, () => COMMON_PROPERTIES)
      known.set(key, found)
    }
    return found
  }
}

function* warnAboutKeys(node: DraftNode, typos: PropertyTypos, warnings: GraphWarnings): Steps<void> {
  yield* forEachSteps(Object.keys(node.data), (key) => {
    if (node.info.properties.has(key) || node.dynamic.has(key) || COMMON_PROPERTIES.includes(key)) return
    const near = typos.findMeantProperty(key, node)
    // If the property has its value or its edge, the key probably belongs to another program.
    if (near === null || (node.data[near] ?? null) !== null || node.targetedInputs.has(near)) return
    warnings.add('unknown_property', node, key, () => {
      const what = `Node "${node.id}" (${node.type.node_type}) has no property "${key}"`
      return `${what}, so its value is not used. Did you mean "${near}"?`
    })
  })
}

/** Names of types in other languages. */
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

/** The first unknown type name in a type's metadata, or null. */
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

/** The fault of a dynamic output's type, or null. */
function describeOutputTypeFault(entry: unknown, hints: NameSuggestions): string | null {
  if (typeof entry === 'string') return `a type is written {"type": "str"}, so this entry is taken as any.`
  const name = findUnknownTypeName(entry)
  return name === null || name.length > LONGEST_NAME ? null : `"${name}" is no type.${suggestType(name, hints)}`
}

/** The fault of a dynamic input's type, or null. An entry that may be a value is reported only with a suggestion. */
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
  return hint === '' ? null : `"${name}" is no type, so the entry is taken as a value.${hint}`
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

/**
 * The declared `effect`. Without one, types that are not retry-safe, need settings or runtimes, or have no outputs count as having an effect.
 */
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

/** Marks the nodes, by index, from which a path leads to an output node or to a node with an effect. */
function* findUsefulNodes(nodes: readonly DraftNode[]): Steps<Uint8Array> {
  const useful = new Uint8Array(nodes.length)
  const found = nodes.filter(({ type }) => type.role === 'output' || mayHaveEffect(type))
  for (const { index } of found) useful[index] = 1
  // Iterating a list also visits entries that are added meanwhile.
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
  return `Nothing uses the outputs of node "${id}" (${type.node_type}), so it does not contribute to the result.`
}

function* warnAboutOutputs(nodes: readonly DraftNode[], warnings: GraphWarnings): Steps<void> {
  if (!nodes.some(({ type }) => type.role === 'output')) return
  const useful = yield* findUsefulNodes(nodes)
  yield* forEachSteps(nodes, (node) => {
    if (node.type.role === 'output' && !node.targetedInputs.has('value') && (node.data.value ?? null) === null) {
      const text = `Output "${String(node.data.name)}" (node "${node.id}") never gets a value: no edge leads to it.`
      warnings.add('unreachable_output', node, 'value', () => text)
    }
    // Of a chain of unused nodes only the last is reported, and of a loop's round only the loop.
    const last = node.type.loop !== undefined || node.outgoing.length === 0
    if (last && useful[node.index] === 0)
      warnings.add('unreachable_output', node, null, () => describeUselessNode(node))
  })
}

function warnAboutNames(node: DraftNode, warnings: GraphWarnings): void {
  const { id, type, data, dynamic, targetedInputs } = node
  const found = type.unknownName?.(data, dynamic)
  // A value that arrives along an edge is not known yet.
  if (!found || targetedInputs.has(found.property)) return
  const { property, name } = found
  const what = `"${property}" of node "${id}" (${type.node_type}) uses "${truncateValue(name)}", which is not an input of the node.`
  warnings.add('unknown_name', node, property, () => `Property ${what}${suggestName(name, dynamic.keys())}`)
}

/** Adds the warnings of a graph. Unused nodes are reported only if the graph has no errors. */
export function* addWarnings(nodes: readonly DraftNode[], issues: GraphIssueList): Steps<void> {
  const right = issues.errorCount === 0
  const warnings = new GraphWarnings(issues)
  const typos = new PropertyTypos()
  const hints = new NameSuggestions(MOST_LOOKUPS)
  for (const node of nodes) {
    yield
    yield* warnAboutKeys(node, typos, warnings)
    yield* warnAboutHandles(node, 'input', hints, warnings)
    yield* warnAboutHandles(node, 'output', hints, warnings)
    warnAboutNames(node, warnings)
  }
  if (right) yield* warnAboutOutputs(nodes, warnings)
  if (right && nodes.length === 0)
    warnings.add('empty_graph', null, null, () => 'The graph has no nodes, so it has no outputs.')
  warnings.end()
}
