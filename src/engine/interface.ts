// Fifth pass: what a graph takes and gives by name — its input and output nodes.
import { forEachStep, type Steps } from '../time-slices.ts'
import { type DraftNode, issue } from './draft.ts'
import type { Issues } from './issues.ts'
import type { PlanInput, PlanOutput } from './plan-parts.ts'
import { depthOf, edgeScope, type NodeScope } from './scopes.ts'
import { ANY } from './types.ts'

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function limit(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

export function inputOf(node: DraftNode): PlanInput {
  const { data } = node
  const stream = data.stream === true
  const value = stream ? null : (data.value ?? null)
  const min = limit(data.min)
  const max = limit(data.max)
  return {
    node_id: node.id,
    name: text(data.name),
    description: text(data.description),
    type: [...node.outputs.values()][0]?.type ?? ANY,
    required: !stream && value === null,
    default: value,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    stream,
  }
}

export function outputOf(node: DraftNode, scopes: readonly NodeScope[]): PlanOutput {
  const edge = node.incoming.find((one) => one.input === 'value')
  const source = edge?.handle == null ? undefined : edge.source.outputs.get(edge.handle)
  const depth = Math.max(depthOf(scopes[node.index]?.fires ?? null), edge ? depthOf(edgeScope(edge, scopes)) : 0)
  return {
    node_id: node.id,
    name: text(node.data.name),
    description: text(node.data.description),
    type: source?.type ?? ANY,
    stream: depth > 0,
    ...(source?.stream_kind === undefined ? {} : { stream_kind: source.stream_kind }),
  }
}

/** Reports limits of an input that no value or not its own one can keep. */
function checkLimits(node: DraftNode, issues: Issues): void {
  const { min, max, default: value } = inputOf(node)
  const report = (pin: string, text: string) =>
    issues.push(issue('out_of_range', `Property "${pin}" of node "${node.id}": ${text}.`, node.id, pin))
  if (min !== undefined && max !== undefined && min > max) report('min', `must be at most ${max}, which is its max`)
  else if (typeof value !== 'number') return
  else if (min !== undefined && value < min) report('value', `must be at least ${min}`)
  else if (max !== undefined && value > max) report('value', `must be at most ${max}`)
}

/** Reports input nodes whose limits make no sense, and input or output nodes that have no name, or the same one as another of their kind. */
export function* checkNames(nodes: readonly DraftNode[], issues: Issues): Steps<void> {
  const seen = { input: new Map<string, string>(), output: new Map<string, string>() }
  yield* forEachStep(nodes, (node) => {
    const { role } = node.type
    if (!role) return
    if (role === 'input') checkLimits(node, issues)
    const name = text(node.data.name)
    const other = seen[role].get(name)
    if (name === '') {
      // A name that isn't there at all is already reported as a missing property.
      if (node.data.name === '') {
        issues.push(issue('missing_property', `The ${role} node "${node.id}" needs a name.`, node.id, 'name'))
      }
    } else if (other !== undefined) {
      const message = `The ${role} nodes "${other}" and "${node.id}" have the same name "${name}".`
      issues.push(issue('duplicate_id', message, node.id, 'name'))
    } else seen[role].set(name, node.id)
  })
}
