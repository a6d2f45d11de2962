// Operations of the tag `nodes`.
import type { NodesHandlers } from '../../generated/operations.ts'
import { findNodes, nodeSummary } from '../nodes/catalogue.ts'
import type { RequestContext } from './request.ts'

export const nodes: NodesHandlers<RequestContext> = {
  listNodeMetadata({ query }, { app }) {
    const found = findNodes(app.registry, query)
    return { status: 200, body: query.fields === 'summary' ? found.map(nodeSummary) : found }
  },
}
