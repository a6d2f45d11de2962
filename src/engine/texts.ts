// The sentences in which validation says what is wrong with handles, types and missing values. Whatever a graph brings with it is
// cut short in them.

import { shortValue } from '../short.ts'
import type { NodeProperty, NodeType } from './node-type.ts'
import type { PlanNodeOutput } from './plan-parts.ts'
import type { Hints } from './suggest.ts'
import type { TypeInfo } from './type-info.ts'
import { few, typeLabel } from './type-label.ts'
import type { TypeMetadata } from './types.ts'

const LONGEST_SENTENCE = 120

/** What is said of a node: its id, its type and its pins. */
interface Named {
  readonly id: string
  readonly type: NodeType
  readonly info: TypeInfo
  readonly dynamic: ReadonlyMap<string, TypeMetadata>
  readonly outputs: ReadonlyMap<string, PlanNodeOutput>
}

interface Misfit {
  readonly source: { readonly id: string }
  readonly target: { readonly id: string }
  readonly handle: string | null
  readonly input: string | null
  readonly sourceType: TypeMetadata
  readonly targetType: TypeMetadata
}

/** Of an edge whose output doesn't fit its input. */
export function mismatch({ source, target, handle, input, sourceType, targetType }: Misfit): string {
  const output = `Output "${handle}" of node "${source.id}" is ${typeLabel(sourceType)}`
  return `${output}, but input "${input}" of node "${target.id}" takes ${typeLabel(targetType)}.`
}

function named({ id, type }: Named): string {
  return `"${id}" (${type.node_type})`
}

function outputsHint(handle: string, source: Named, hints: Hints): string {
  if (source.type.role === 'output') return ' An output node gives nothing to other nodes.'
  const side = source.info.properties.has(handle) || source.dynamic.has(handle) ? ` "${handle}" is an input of it.` : ''
  if (source.outputs.size > 0) return `${side}${hints.for(handle, source.outputs.keys())}`
  return source.type.supports_dynamic_outputs ? `${side} Its outputs are those in its dynamic_outputs.` : side
}

/** Of an edge that starts at an output which the node doesn't have. */
export function noOutput(handle: string, source: Named, hints: Hints): string {
  const what =
    handle === ''
      ? `An edge out of node ${named(source)} names no output.`
      : `Node ${named(source)} has no output "${handle}".`
  return `${what}${outputsHint(handle, source, hints)}`
}

/** Of an edge that ends at an input which the node doesn't have. */
export function noInput(handle: string, target: Named, hints: Hints): string {
  const names = [...target.info.properties.keys(), ...target.dynamic.keys()]
  const what =
    handle === ''
      ? `An edge into node ${named(target)} names no input.`
      : `Node ${named(target)} has no input "${handle}".`
  const side = target.outputs.has(handle) ? ` "${handle}" is an output of it.` : ''
  return `${what}${side}${hints.for(handle, names)}`
}

function firstSentence(text: string): string {
  const end = text.search(/\.(\s|$)/)
  const sentence = end < 0 ? text : text.slice(0, end + 1)
  return sentence.length <= LONGEST_SENTENCE ? sentence : ''
}

/** What a property takes: its values where they are few, else its type, and what it is for. */
function taken({ type, values, description }: NodeProperty): string {
  const choices = values ?? (type.type === 'enum' ? type.values : [])
  const list = few(choices, shortValue).join(', ')
  const what = choices.length > 0 ? `one of ${list}` : type.type === 'any' ? '' : typeLabel(type)
  const use = firstSentence(description ?? '')
  if (what === '') return use === '' ? '' : ` It takes any value: ${use}`
  return ` It takes ${what}${use === '' ? '.' : `: ${use}`}`
}

/** Whether a property belongs to the graph's interface, which is fixed before a run: no edge leads to it. */
export function isFixed(type: NodeType, property: string): boolean {
  return type.role === 'input' || (type.role === 'output' && property === 'name')
}

/** Of a required property that has neither an edge nor a value. */
export function missing(property: NodeProperty, node: Named): string {
  const { aggregate, feedback, name } = property
  const value = isFixed(node.type, name) ? 'a value' : 'a value or an edge'
  const what = aggregate ? 'a stream' : feedback ? 'an edge' : value
  return `Input "${property.name}" of node "${node.id}" needs ${what}.${taken(property)}`
}
