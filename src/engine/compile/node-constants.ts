// Fourth pass: the constant values of a node, from its data, its dynamic properties and its type's defaults.
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import { findNearest } from '../node-api/did-you-mean.ts'
import { NodeError } from '../node-api/node-error.ts'
import type { NodeProperty, NodeType, NodeTypeLookup } from '../node-api/node-type.ts'
import { type Coercion, createTypeCheck, TypeMismatchError, withBounds } from '../node-api/values/coercion.ts'
import { estimateMemorySteps } from '../node-api/values/measure.ts'
import { checkConformanceSteps, needsConformanceSteps } from '../node-api/values/type-conformance-steps.ts'
import type { TypeMetadata } from '../node-api/values/type-metadata.ts'
import { createIssue, type DraftNode, isTypeDeclaration } from './draft-nodes.ts'
import type { GraphIssue } from './graph.ts'
import type { GraphIssueList } from './graph-issues.ts'
import { describeMissingInput } from './issue-messages.ts'

export interface NodeConstants {
  /** The value of each input without an edge. */
  values: Record<string, unknown>
  /** Required inputs without a value of their own. */
  required: ReadonlySet<string>
}

/** The limit of dynamic inputs per node: each firing names all of them, which takes long with more. */
export const MAX_DYNAMIC_INPUTS = 20_000

/** The limit of outputs per node: the result of a firing is searched for all of them at once. */
export const MAX_OUTPUTS = 20_000

/** The limit of edges into unknown inputs of a node for which the intended input is searched. */
const MAX_STRAY_EDGES = 20

/** The check of a property's own value: its type and its range. */
export function createPropertyCheck(property: NodeProperty): Coercion {
  const typed = createTypeCheck(property.type)
  return withBounds(typed, property) ?? typed
}

/** Runs a check and returns a misfit instead of throwing it. */
export function tryCoerce(coerce: Coercion, value: unknown): { value: unknown } | { misfit: TypeMismatchError } {
  try {
    return { value: coerce(value) }
  } catch (error) {
    if (error instanceof TypeMismatchError) return { misfit: error }
    throw error
  }
}

/** Suggests the accepted value that was probably meant. */
function suggestChoice({ type, values }: NodeProperty, own: unknown): string {
  if (typeof own !== 'string') return ''
  const choices = (values ?? type.values).map(String)
  const near = findNearest(own, choices) ?? (own !== '' && choices.find((one) => one.startsWith(own)))
  return near ? ` Did you mean "${near}"?` : ''
}

/** The feedback of a round arrives along an edge; a constant value for it would have no effect. */
function validateFeedback(property: NodeProperty, node: DraftNode, issues: GraphIssueList): void {
  const { name, required } = property
  const own = node.data[name] ?? null
  if (required || node.targetedInputs.has(name) || own === null || own === property.default) return
  const text = `Input "${name}" of node "${node.id}" needs an edge out of the loop's own stream: it takes no constant value.`
  issues.push(createIssue('missing_property', text, node.id, name))
}

/** The names of unfed required inputs, except those that an edge into an unknown input was probably meant for. */
function findMissingInputs(node: DraftNode, names: ReadonlySet<string>): ReadonlySet<string> {
  const left = new Set(names)
  const strays = [...node.targetedInputs].filter((name) => !node.info.properties.has(name) && !node.dynamic.has(name))
  for (const stray of strays.slice(0, MAX_STRAY_EDGES)) left.delete(findNearest(stray, left) ?? '')
  return names.size > strays.length ? left : new Set()
}

/** Checks and measures a large value in steps: the check of the property and the estimate of its firings use the results. */
function* examineLargeValue(value: unknown, type: TypeMetadata): Steps<void> {
  if (typeof value !== 'object' || value === null || isSmallValue(value)) return
  if (needsConformanceSteps(value, type)) yield* checkConformanceSteps(value, type)
  yield* estimateMemorySteps(value)
}

function* compilePropertyValues(
  node: DraftNode,
  connected: ReadonlySet<string>,
  into: NodeConstants,
  issues: GraphIssueList,
): Steps<void> {
  const required = into.required as Set<string>
  const missingNames = new Set<string>()
  for (const [name, property] of node.info.properties) {
    const own = property.aggregate || property.feedback ? null : (node.data[name] ?? null)
    if (own === null) {
      if (property.feedback) validateFeedback(property, node, issues)
      if (!property.required || property.default !== undefined) continue
      required.add(name)
      if (!node.targetedInputs.has(name)) missingNames.add(name)
      continue
    }
    yield* examineLargeValue(own, property.type)
    const result = tryCoerce(createPropertyCheck(property), own)
    if ('value' in result) into.values[name] = result.value
    else if (!connected.has(name)) {
      const text = `Property "${name}" of node "${node.id}": ${result.misfit.message}.${suggestChoice(property, own)}`
      issues.push(createIssue(result.misfit.code, text, node.id, name))
    } else if (property.required && property.default === undefined) required.add(name)
  }
  for (const name of missingNames.size > 0 ? findMissingInputs(node, missingNames) : missingNames) {
    issues.push(
      createIssue('missing_property', describeMissingInput(node.info.properties.get(name)!, node), node.id, name),
    )
  }
}

/** The constant value of a dynamic input, or null. */
export function readDynamicValue(node: Pick<DraftNode, 'node' | 'data'>, name: string): unknown {
  const entry = node.node.dynamic_properties?.[name]
  if (entry !== undefined && entry !== null && !isTypeDeclaration(entry)) return entry
  return Object.hasOwn(node.data, name) ? (node.data[name] ?? null) : null
}

function* compileDynamicValues(
  node: DraftNode,
  connected: ReadonlySet<string>,
  into: NodeConstants,
  issues: GraphIssueList,
): Steps<void> {
  const required = into.required as Set<string>
  yield* forEachSteps(node.dynamic, ([name, type]) => {
    const own = readDynamicValue(node, name)
    const result = own === null ? null : tryCoerce(createTypeCheck(type), own)
    if (result && 'value' in result) {
      into.values[name] = result.value
      return
    }
    if (node.type.optional_dynamic_inputs) into.values[name] = null
    else required.add(name)
    if (result && !connected.has(name)) {
      const text = `Dynamic input "${name}" of node "${node.id}": ${result.misfit.message}.`
      issues.push(createIssue('type_mismatch', text, node.id, name))
    }
  })
}

function validateTogether(
  { id, type, targetedInputs }: DraftNode,
  { values }: NodeConstants,
  types: NodeTypeLookup,
  issues: GraphIssueList,
): void {
  const facts = { node_id: id, data: values, isConnected: (property: string) => targetedInputs.has(property) }
  const problem = type.problem?.(facts, types)
  if (problem) issues.push(createIssue(problem.code, `Node "${id}": ${problem.message}`, id, problem.property))
}

/** Reports values that must be parsed (expressions) and cannot be. Values that arrive along an edge are not known yet. */
function* validateExpressions(
  { id, targetedInputs, type }: DraftNode,
  expressions: NonNullable<NodeType['expressions']>,
  { values }: NodeConstants,
  issues: GraphIssueList,
): Steps<void> {
  for (const [property, read] of Object.entries(expressions)) {
    const own = values[property] ?? null
    if (own === null || targetedInputs.has(property)) continue
    const costly = type.costlyExpressions?.[property]
    if (costly && !issues.spendReading(costly.cost(own as never))) {
      issues.pendingExpressions.add({ node_id: id, property, validate: costly.reader(own as never, values) })
      yield
      continue
    }
    try {
      read(own as never, values)
      const reader = type.slowExpressions?.[property]?.(own as never, values) ?? null
      if (reader) issues.pendingExpressions.add({ node_id: id, property, validate: reader })
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      issues.push(createExpressionIssue(id, property, error.message))
    }
    yield
  }
}

export function createExpressionIssue(node_id: string, property: string, message: string): GraphIssue {
  return createIssue('invalid_expression', `Node "${node_id}": ${message}`, node_id, property)
}

function createTooManyInputsIssue({ id, dynamic }: DraftNode): GraphIssue {
  const text = `${describeTooMany(id, dynamic.size, 'dynamic inputs', MAX_DYNAMIC_INPUTS)} Use one input with a list or a dict instead.`
  return createIssue('too_many_inputs', text, id)
}

function createTooManyOutputsIssue({ id, outputs }: DraftNode): GraphIssue {
  const text = `${describeTooMany(id, outputs.size, 'outputs', MAX_OUTPUTS)} Use one output with a list or a dict instead.`
  return createIssue('too_many_outputs', text, id)
}

function describeTooMany(id: string, count: number, what: string, most: number): string {
  return `Node "${id}" has ${count.toLocaleString('en')} ${what}; the limit is ${most.toLocaleString('en')}.`
}

/** The constant values of a node. Values of unconnected inputs are checked; stale values under an edge are dropped. */
export function* compileConstants(
  node: DraftNode,
  types: NodeTypeLookup,
  issues: GraphIssueList,
): Steps<NodeConstants> {
  const connected = new Set<string>()
  for (const edge of node.incoming) if (edge.input !== null) connected.add(edge.input)
  const constants: NodeConstants = { values: { ...node.info.defaults }, required: new Set() }
  const before = issues.errorCount
  yield* compilePropertyValues(node, connected, constants, issues)
  if (node.outputs.size > MAX_OUTPUTS) issues.push(createTooManyOutputsIssue(node))
  if (node.dynamic.size > MAX_DYNAMIC_INPUTS) issues.push(createTooManyInputsIssue(node))
  else if (node.dynamic.size > 0) yield* compileDynamicValues(node, connected, constants, issues)
  if (issues.errorCount === before) validateTogether(node, constants, types, issues)
  if (node.type.expressions) yield* validateExpressions(node, node.type.expressions, constants, issues)
  return constants
}
