// Operations that serve the documentation: the guide and the catalogue of node types.
import type { ContractHandlers } from '../../../generated/operations.ts'
import { ServiceError } from '../../errors.ts'
import { findNodeTypes } from '../../nodes/catalogue.ts'
import { findGuidePage, renderGuideIndex } from '../documentation/guide.ts'
import { renderNodeCatalogue, renderNodePage } from '../documentation/node-catalogue.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { REFERENCE_HEADERS, REVALIDATED_CACHE } from './reference-headers.ts'

type DocumentationHandlers = Pick<
  ContractHandlers<RequestContext>,
  'getGuide' | 'getGuidePage' | 'getNodeCatalogue' | 'getNodeCataloguePage'
>

export const documentationHandlers: DocumentationHandlers = {
  getGuide: async () => createPageReply(await renderGuideIndex()),

  async getGuidePage({ path }) {
    const page = await findGuidePage(path.page)
    if (page === null) throw new ServiceError('NOT_FOUND')
    return createPageReply(page)
  },

  getNodeCatalogue: (_request, { app }) => createPageReply(renderNodeCatalogue(findNodeTypes(app.runs.registry, {}))),

  getNodeCataloguePage({ path }, { app }) {
    const [node] = findNodeTypes(app.runs.registry, { node_type: path.node_type })
    if (!node) throw new ServiceError('NOT_FOUND')
    return createPageReply(renderNodePage(node, findNodeTypes(app.runs.registry, {})))
  },
}

function createPageReply(body: string) {
  return {
    status: 200,
    content_type: 'text/html',
    body,
    headers: { ...REFERENCE_HEADERS, 'Cache-Control': REVALIDATED_CACHE },
  } as const
}
