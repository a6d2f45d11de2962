// The commands of `/ws` that tell what there is: the same services as their HTTP twins.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import { capabilitiesOf } from '../lifecycle/capabilities.ts'
import { nodeTypeInventory } from '../nodes/inventory.ts'
import { registryRevision } from '../nodes/revision.ts'
import { workflowInterfaces, workflowSummaries } from '../workflows/summaries.ts'
import type { Peer } from './peer.ts'

type Discovery = Pick<
  WsCommandHandlers<Peer>,
  'get_capabilities' | 'list_workflow_summaries' | 'get_workflow_interfaces' | 'get_node_type_inventory'
>

export const discovery: Discovery = {
  get_capabilities: (_data, { app }) => capabilitiesOf(app),

  list_workflow_summaries: (data, { app, principal }) =>
    workflowSummaries(app.workflows, principal, { ...data, cursor_at: '/data/cursor' }, registryRevision(app.registry)),

  get_workflow_interfaces: (data, { app, principal }) =>
    workflowInterfaces(app.workflows, principal, { ids: data.ids, at: '/data/ids', reading: app.reading }),

  get_node_type_inventory: (data, { app }) => nodeTypeInventory(app.registry, data),
}
