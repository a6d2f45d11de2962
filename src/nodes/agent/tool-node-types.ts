// Node types as tools of agents: which of them can be one, and why another one cannot.

import { suggestName } from '../../engine/node-api/did-you-mean.ts'
import { NodeError, type NodeType, type NodeTypeLookup } from '../../engine/node-api/node-type.ts'

const WORKFLOW_CALL = 'workflow.Call'

/** @throws NodeError `unknown_tool` for one that there is not, that a call cannot feed, or that means nothing by itself */
export function resolveToolType(types: NodeTypeLookup, node_type: string): NodeType {
  const type = types.get(node_type)
  if (!type) throw unknownToolError(`There is no node type "${node_type}".${types.hint(node_type)}`)
  // A model would name any workflow of its owner.
  if (node_type === WORKFLOW_CALL)
    throw unknownToolError(`"${WORKFLOW_CALL}" cannot be a tool: name the workflow itself as workflow/<id>.`)
  const takesStreams = type.properties.some(({ aggregate, feedback, catches }) => aggregate || feedback || catches)
  if (type.role || !type.run || takesStreams)
    throw unknownToolError(`The node type "${node_type}" cannot be a tool: it has a use within a graph only.`)
  return type
}

/** The same, with the values that its author sets. @throws NodeError `unknown_tool`, also for values of properties that it does not have */
export function resolveToolTypeWithData(
  types: NodeTypeLookup,
  node_type: string,
  data: Readonly<Record<string, unknown>>,
): NodeType {
  const type = resolveToolType(types, node_type)
  const own = type.properties.map(({ name }) => name)
  const odd = Object.keys(data).find((name) => !own.includes(name))
  if (odd === undefined) return type
  throw unknownToolError(`The node type "${node_type}" has no property "${odd}".${suggestName(odd, own)}`)
}

function unknownToolError(text: string): NodeError {
  return new NodeError(text, 'unknown_tool')
}
