// Operations of the tag `sdk` that tell what there is: capabilities, workflows, interfaces, types. The socket has the same services.
import type { SdkHandlers } from '../../generated/operations.ts'
import { capabilitiesOf } from '../lifecycle/capabilities.ts'
import { nodeTypeInventory } from '../nodes/inventory.ts'
import { registryRevision } from '../nodes/revision.ts'
import { workflowInterfaces, workflowSummaries } from '../workflows/summaries.ts'
import type { RequestContext } from './request.ts'

type Discovery = Pick<
  SdkHandlers<RequestContext>,
  'getCapabilities' | 'listWorkflowSummaries' | 'getWorkflowInterfaces' | 'listNodeTypes'
>

export const discovery: Discovery = {
  getCapabilities(_request, { app }) {
    return { status: 200, body: capabilitiesOf(app) }
  },

  async listWorkflowSummaries({ query }, { app, principal }) {
    const revision = registryRevision(app.registry)
    return { status: 200, body: await workflowSummaries(app.workflows, principal, query, revision) }
  },

  async getWorkflowInterfaces({ body }, { app, principal }) {
    return { status: 200, body: await workflowInterfaces(app.workflows, principal, body.ids) }
  },

  listNodeTypes({ query }, { app }) {
    return { status: 200, body: nodeTypeInventory(app.registry, query) }
  },
}
