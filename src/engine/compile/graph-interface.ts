// Fifth pass: the named inputs and outputs of a graph, from its input and output nodes.
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { ANY_TYPE } from '../node-api/values/type-metadata.ts'
import { createIssue, type DraftNode } from './draft-nodes.ts'
import type { GraphIssueList } from './graph-issues.ts'
import type { PlanInput, PlanOutput } from './plan.ts'
import { getEdgeScope, getScopeDepth, type NodeScope } from './stream-scopes.ts'

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function numberOrUndefined(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

export function compileInput(node: DraftNode): PlanInput {
  const { data } = node
  const stream = data.stream === true
  const value = stream ? null : (data.value ?? null)
  const min = numberOrUndefined(data.min)
  const max = numberOrUndefined(data.max)
  return {
    node_id: node.id,
    name: textOrEmpty(data.name),
    description: textOrEmpty(data.description),
    type: [...node.outputs.values()][0]?.type ?? ANY_TYPE,
    required: !stream && value === null,
    default: value,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    stream,
  }
}

export function compileOutput(node: DraftNode, scopes: readonly NodeScope[]): PlanOutput {
  const edge = node.incoming.find((one) => one.input === 'value')
  const source = edge?.handle == null ? undefined : edge.source.outputs.get(edge.handle)
  const depth = Math.max(
    getScopeDepth(scopes[node.index]?.fires ?? null),
    edge ? getScopeDepth(getEdgeScope(edge, scopes)) : 0,
  )
  return {
    node_id: node.id,
    name: textOrEmpty(node.data.name),
    description: textOrEmpty(node.data.description),
    type: source?.type ?? ANY_TYPE,
    stream: depth > 0,
    ...(source?.stream_kind === undefined ? {} : { stream_kind: source.stream_kind }),
  }
}

/** Reports limits of an input that no value can meet, or that its own value breaks. */
function validateLimits(node: DraftNode, issues: GraphIssueList): void {
  const { min, max, default: value } = compileInput(node)
  const report = (pin: string, text: string) =>
    issues.push(createIssue('out_of_range', `Property "${pin}" of node "${node.id}": ${text}.`, node.id, pin))
  if (min !== undefined && max !== undefined && min > max) report('min', `must be at most ${max}, which is its max`)
  else if (typeof value !== 'number') return
  else if (min !== undefined && value < min) report('value', `must be at least ${min}`)
  else if (max !== undefined && value > max) report('value', `must be at most ${max}`)
}

/** Reports input nodes with invalid limits, and input or output nodes whose name is empty or taken by another node of their kind. */
export function* validateInterface(nodes: readonly DraftNode[], issues: GraphIssueList): Steps<void> {
  const seen = { input: new Map<string, string>(), output: new Map<string, string>() }
  yield* forEachSteps(nodes, (node) => {
    const { role } = node.type
    if (!role) return
    if (role === 'input') validateLimits(node, issues)
    const name = textOrEmpty(node.data.name)
    const other = seen[role].get(name)
    if (name === '') {
      // A missing name is already reported as a missing property.
      if (node.data.name === '') {
        issues.push(createIssue('missing_property', `The ${role} node "${node.id}" needs a name.`, node.id, 'name'))
      }
    } else if (other !== undefined) {
      const message = `The ${role} nodes "${other}" and "${node.id}" have the same name "${name}".`
      issues.push(createIssue('duplicate_id', message, node.id, 'name'))
    } else seen[role].set(name, node.id)
  })
}
