// Fourth pass: the values that a node brings itself — its data, its dynamic properties, its type's defaults.
import { forEachStep, type Steps } from '../time-slices.ts'
import { type DraftNode, declaresType, issue } from './draft.ts'
import type { GraphIssue } from './graph.ts'
import type { Issues } from './issues.ts'
import { NodeError } from './node-error.ts'
import type { KnownTypes, NodeProperty, NodeType } from './node-type.ts'
import { nearest } from './suggest.ts'
import { missing } from './texts.ts'
import { bounded, type Coerce, check, Mismatch } from './values.ts'

export interface Constants {
  /** What each input is where no edge gives a value. */
  values: Record<string, unknown>
  /** Inputs without a value of their own that must not do without one. */
  required: ReadonlySet<string>
}

/** How many dynamic inputs a node may have: each firing names all of them, and takes long to do so where there are more. */
export const MOST_DYNAMIC_INPUTS = 20_000

/** How many outputs a node may have: what a firing gives is looked through for all of them at once. */
export const MOST_OUTPUTS = 20_000

/** So many edges into unknown inputs of a node are looked at. */
const MOST_STRAYS = 20

/** The check of a property's own value: its type and its limits. */
export function propertyCheck(property: NodeProperty): Coerce {
  const typed = check(property.type)
  return bounded(typed, property) ?? typed
}

/** Runs a check; gives what doesn't fit instead of throwing it. */
export function attempt(coerce: Coerce, value: unknown): { value: unknown } | { misfit: Mismatch } {
  try {
    return { value: coerce(value) }
  } catch (error) {
    if (error instanceof Mismatch) return { misfit: error }
    throw error
  }
}

/** Which of the values that a property takes was meant. */
function choiceHint({ type, values }: NodeProperty, own: unknown): string {
  if (typeof own !== 'string') return ''
  const choices = (values ?? type.values).map(String)
  const near = nearest(own, choices) ?? (own !== '' && choices.find((one) => one.startsWith(own)))
  return near ? ` Did you mean "${near}"?` : ''
}

/** What a round gives back comes along an edge; a value in its place would lead nowhere. */
function judgeFeedback(property: NodeProperty, node: DraftNode, issues: Issues): void {
  const { name, required } = property
  const own = node.data[name] ?? null
  if (required || node.meant.has(name) || own === null || own === property.default) return
  const text = `Input "${name}" of node "${node.id}" needs an edge out of the loop's own stream: it takes no value of its own.`
  issues.push(issue('missing_property', text, node.id, name))
}

/** The names of the required inputs that nothing feeds, but for those that an edge into an unknown input was likely meant for. */
function lacking(node: DraftNode, names: ReadonlySet<string>): ReadonlySet<string> {
  const left = new Set(names)
  const strays = [...node.meant].filter((name) => !node.info.properties.has(name) && !node.dynamic.has(name))
  for (const stray of strays.slice(0, MOST_STRAYS)) left.delete(nearest(stray, left) ?? '')
  return names.size > strays.length ? left : new Set()
}

function propertyValues(node: DraftNode, connected: ReadonlySet<string>, into: Constants, issues: Issues): void {
  const required = into.required as Set<string>
  const bare = new Set<string>()
  for (const [name, property] of node.info.properties) {
    const own = property.aggregate || property.feedback ? null : (node.data[name] ?? null)
    if (own === null) {
      if (property.feedback) judgeFeedback(property, node, issues)
      if (!property.required || property.default !== undefined) continue
      required.add(name)
      if (!node.meant.has(name)) bare.add(name)
      continue
    }
    const result = attempt(propertyCheck(property), own)
    if ('value' in result) into.values[name] = result.value
    else if (!connected.has(name)) {
      const text = `Property "${name}" of node "${node.id}": ${result.misfit.message}.${choiceHint(property, own)}`
      issues.push(issue(result.misfit.code, text, node.id, name))
    } else if (property.required && property.default === undefined) required.add(name)
  }
  for (const name of bare.size > 0 ? lacking(node, bare) : bare) {
    issues.push(issue('missing_property', missing(node.info.properties.get(name)!, node), node.id, name))
  }
}

/** The value that a node itself gives to one of its dynamic inputs, or null. */
export function dynamicValue(node: Pick<DraftNode, 'node' | 'data'>, name: string): unknown {
  const entry = node.node.dynamic_properties?.[name]
  if (entry !== undefined && entry !== null && !declaresType(entry)) return entry
  return Object.hasOwn(node.data, name) ? (node.data[name] ?? null) : null
}

function* dynamicValues(node: DraftNode, connected: ReadonlySet<string>, into: Constants, issues: Issues): Steps<void> {
  const required = into.required as Set<string>
  yield* forEachStep(node.dynamic, ([name, type]) => {
    const own = dynamicValue(node, name)
    const result = own === null ? null : attempt(check(type), own)
    if (result && 'value' in result) {
      into.values[name] = result.value
      return
    }
    if (node.type.optional_dynamic_inputs) into.values[name] = null
    else required.add(name)
    if (result && !connected.has(name)) {
      const text = `Dynamic input "${name}" of node "${node.id}": ${result.misfit.message}.`
      issues.push(issue('type_mismatch', text, node.id, name))
    }
  })
}

function judgeTogether({ id, type, meant }: DraftNode, { values }: Constants, types: KnownTypes, issues: Issues): void {
  const facts = { node_id: id, data: values, isConnected: (property: string) => meant.has(property) }
  const problem = type.problem?.(facts, types)
  if (problem) issues.push(issue(problem.code, `Node "${id}": ${problem.message}`, id, problem.property))
}

/** Values that are written in a language and cannot be read. What comes along an edge nobody knows yet. */
function* judgeExpressions(
  { id, meant, type }: DraftNode,
  expressions: NonNullable<NodeType['expressions']>,
  { values }: Constants,
  issues: Issues,
): Steps<void> {
  for (const [property, read] of Object.entries(expressions)) {
    const own = values[property] ?? null
    if (own === null || meant.has(property)) continue
    const costly = type.costlyExpressions?.[property]
    if (costly && !issues.spendReading(costly.cost(own as never))) {
      issues.pending.add({ node_id: id, property, read: costly.reader(own as never, values) })
      yield
      continue
    }
    try {
      read(own as never, values)
      const reader = type.slowExpressions?.[property]?.(own as never, values) ?? null
      if (reader) issues.pending.add({ node_id: id, property, read: reader })
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      issues.push(expressionIssue(id, property, error.message))
    }
    yield
  }
}

export function expressionIssue(node_id: string, property: string, message: string): GraphIssue {
  return issue('invalid_expression', `Node "${node_id}": ${message}`, node_id, property)
}

function tooManyInputs({ id, dynamic }: DraftNode): GraphIssue {
  const text = `${tooMany(id, dynamic.size, 'dynamic inputs', MOST_DYNAMIC_INPUTS)} Give it a list or a dict of values.`
  return issue('too_many_inputs', text, id)
}

function tooManyOutputs({ id, outputs }: DraftNode): GraphIssue {
  const text = `${tooMany(id, outputs.size, 'outputs', MOST_OUTPUTS)} Let it give a list or a dict of values.`
  return issue('too_many_outputs', text, id)
}

function tooMany(id: string, count: number, what: string, most: number): string {
  return `Node "${id}" has ${count.toLocaleString('en')} ${what}; ${most.toLocaleString('en')} are the most.`
}

/** A node's own values. Those of unconnected inputs are checked; stale ones under an edge are left out. */
export function* constantsOf(node: DraftNode, types: KnownTypes, issues: Issues): Steps<Constants> {
  const connected = new Set<string>()
  for (const edge of node.incoming) if (edge.input !== null) connected.add(edge.input)
  const constants: Constants = { values: { ...node.info.defaults }, required: new Set() }
  const before = issues.errors
  propertyValues(node, connected, constants, issues)
  if (node.outputs.size > MOST_OUTPUTS) issues.push(tooManyOutputs(node))
  if (node.dynamic.size > MOST_DYNAMIC_INPUTS) issues.push(tooManyInputs(node))
  else if (node.dynamic.size > 0) yield* dynamicValues(node, connected, constants, issues)
  if (issues.errors === before) judgeTogether(node, constants, types, issues)
  if (node.type.expressions) yield* judgeExpressions(node, node.type.expressions, constants, issues)
  return constants
}
