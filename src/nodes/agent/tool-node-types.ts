// Decides which node types can be tools of agents, and why others cannot.

import { suggestName } from '../../engine/node-api/did-you-mean.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType, NodeTypeLookup } from '../../engine/node-api/node-type.ts'

const WORKFLOW_CALL = 'workflow.Call'

/** @throws NodeError `unknown_tool` if the type does not exist, if a call cannot feed it, or if it is useless alone */
export function resolveToolType(types: NodeTypeLookup, node_type: string): NodeType {
  const type = types.get(node_type)
  if (!type) throw unknownToolError(`There is no node type "${node_type}".${types.hint(node_type)}`)
  // Otherwise a model could call any workflow of the owner.
  if (node_type === WORKFLOW_CALL)
    throw unknownToolError(`"${WORKFLOW_CALL}" cannot be a tool: name the workflow itself as workflow/<id>.`)
  const takesStreams = type.properties.some(({ aggregate, feedback, catches }) => aggregate || feedback || catches)
  if (type.role || !type.run || takesStreams)
    throw unknownToolError(`The node type "${node_type}" cannot be a tool: it works only within a graph.`)
  return type
}

/**
 * Like `resolveToolType`, with the values that the author sets. @throws NodeError `unknown_tool`, also for values of unknown properties
 */
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
