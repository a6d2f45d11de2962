// Operations of the tag `nodes`.
import type { NodesHandlers } from '../../../generated/operations.ts'
import type { NodeMetadata } from '../../../generated/types.ts'
import { findNodeTypes, summarizeNodeType } from '../../nodes/catalogue.ts'
import { cachedJsonText } from '../../shared/incremental-json.ts'
import { createJsonTextReply } from '../pipeline/reply.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

/** The encoded JSON of lists that never change. */
const encodedLists = new WeakMap<readonly NodeMetadata[], Buffer>()

export const nodesHandlers: NodesHandlers<RequestContext> = {
  listNodeMetadata({ query }, { app }) {
    const found = findNodeTypes(app.runs.registry, query)
    if (query.fields === 'summary') return { status: 200, body: found.map(summarizeNodeType) }
    const bytes = encodedLists.get(found) ?? encodeKnownList(found)
    return bytes ? createJsonTextReply<NodeMetadata[], 200>(200, bytes) : { status: 200, body: found }
  },
}

/** Null if the JSON text of the list is not cached. */
function encodeKnownList(list: readonly NodeMetadata[]): Buffer | null {
  const text = cachedJsonText(list)
  if (text === undefined) return null
  const bytes = Buffer.from(text)
  encodedLists.set(list, bytes)
  return bytes
}
