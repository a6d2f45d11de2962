// Messages about invalid handles, types and missing values. Texts that come from the graph are shortened in them.

import { truncateValue } from '../../shared/text-truncation.ts'
import type { NameSuggestions } from '../node-api/did-you-mean.ts'
import type { NodeProperty, NodeType } from '../node-api/node-type.ts'
import { abbreviateList, formatTypeLabel } from '../node-api/values/type-label.ts'
import type { TypeMetadata } from '../node-api/values/type-metadata.ts'
import type { NodeTypeInfo } from './node-type-info.ts'
import type { PlanNodeOutput } from './plan.ts'

const LONGEST_SENTENCE = 120

/** The facts about a node that messages use: its id, its type and its handles. */
interface DescribedNode {
  readonly id: string
  readonly type: NodeType
  readonly info: NodeTypeInfo
  readonly dynamic: ReadonlyMap<string, TypeMetadata>
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
}

interface MismatchedEdge {
  readonly source: { readonly id: string }
  readonly target: { readonly id: string }
  readonly handle: string | null
  readonly input: string | null
  readonly sourceType: TypeMetadata
  readonly targetType: TypeMetadata
}

/** The message for an edge whose output does not fit its input. */
export function describeTypeMismatch({
  source,
  target,
  handle,
  input,
  sourceType,
  targetType,
}: MismatchedEdge): string {
  const output = `Output "${handle}" of node "${source.id}" is ${formatTypeLabel(sourceType)}`
  return `${output}, but input "${input}" of node "${target.id}" takes ${formatTypeLabel(targetType)}.`
}

function describeNode({ id, type }: DescribedNode): string {
  return `"${id}" (${type.node_type})`
}

function suggestOutputs(handle: string, source: DescribedNode, hints: NameSuggestions): string {
  if (source.type.role === 'output') return ' An output node gives nothing to other nodes.'
  const side = source.info.properties.has(handle) || source.dynamic.has(handle) ? ` "${handle}" is an input of it.` : ''
  if (source.outputs.size > 0) return `${side}${hints.suggest(handle, source.outputs.keys())}`
  return source.type.supports_dynamic_outputs ? `${side} Its outputs are those in its dynamic_outputs.` : side
}

/** The message for an edge that starts at an output which the node does not have. */
export function describeUnknownOutput(handle: string, source: DescribedNode, hints: NameSuggestions): string {
  const what =
    handle === ''
      ? `An edge out of node ${describeNode(source)} names no output.`
      : `Node ${describeNode(source)} has no output "${handle}".`
  return `${what}${suggestOutputs(handle, source, hints)}`
}

/** The message for an edge that ends at an input which the node does not have. */
export function describeUnknownInput(handle: string, target: DescribedNode, hints: NameSuggestions): string {
  const names = [...target.info.properties.keys(), ...target.dynamic.keys()]
  const what =
    handle === ''
      ? `An edge into node ${describeNode(target)} names no input.`
      : `Node ${describeNode(target)} has no input "${handle}".`
  const side = target.outputs.has(handle) ? ` "${handle}" is an output of it.` : ''
  return `${what}${side}${hints.suggest(handle, names)}`
}

function readFirstSentence(text: string): string {
  const end = text.search(/\.(\s|$)/)
  const sentence = end < 0 ? text : text.slice(0, end + 1)
  return sentence.length <= LONGEST_SENTENCE ? sentence : ''
}

/** The values that a property accepts, or else its type, and its purpose. */
function describeAcceptedValues({ type, values, description }: NodeProperty): string {
  const choices = values ?? (type.type === 'enum' ? type.values : [])
  const list = abbreviateList(choices, truncateValue).join(', ')
  const what = choices.length > 0 ? `one of ${list}` : type.type === 'any' ? '' : formatTypeLabel(type)
  const use = readFirstSentence(description ?? '')
  if (what === '') return use === '' ? '' : ` It takes any value: ${use}`
  return ` It takes ${what}${use === '' ? '.' : `: ${use}`}`
}

/** Whether a property belongs to the graph's interface, which is fixed before a run: no edge may lead to it. */
export function isFixedProperty(type: NodeType, property: string): boolean {
  return type.role === 'input' || (type.role === 'output' && property === 'name')
}

/** The message for a required property without an edge or a value. */
export function describeMissingInput(property: NodeProperty, node: DescribedNode): string {
  const { aggregate, feedback, name } = property
  const value = isFixedProperty(node.type, name) ? 'a value' : 'a value or an edge'
  const what = aggregate ? 'a stream' : feedback ? 'an edge' : value
  return `Input "${property.name}" of node "${node.id}" needs ${what}.${describeAcceptedValues(property)}`
}
