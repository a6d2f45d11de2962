// Operations of the tag `nodes`.
import type { NodesHandlers } from '../../generated/operations.ts'
import type { NodeMetadata } from '../../generated/types.ts'
import { knownText } from '../json-steps.ts'
import { findNodes, nodeSummary } from '../nodes/catalogue.ts'
import { jsonText } from './reply.ts'
import type { RequestContext } from './request.ts'

/** Lists that are always the same, as they are sent. */
const sent = new WeakMap<readonly NodeMetadata[], Buffer>()

export const nodes: NodesHandlers<RequestContext> = {
  listNodeMetadata({ query }, { app }) {
    const found = findNodes(app.registry, query)
    if (query.fields === 'summary') return { status: 200, body: found.map(nodeSummary) }
    const bytes = sent.get(found) ?? bytesOf(found)
    return bytes ? jsonText<NodeMetadata[], 200>(200, bytes) : { status: 200, body: found }
  },
}

/** Null where the JSON text of the list is not known. */
function bytesOf(list: readonly NodeMetadata[]): Buffer | null {
  const text = knownText(list)
  if (text === undefined) return null
  const bytes = Buffer.from(text)
  sent.set(list, bytes)
  return bytes
}
