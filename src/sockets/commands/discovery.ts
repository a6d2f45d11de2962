// The discovery commands of `/ws`, with the same services as over HTTP.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import { describeCapabilities } from '../../lifecycle/capabilities.ts'
import { readRegistryRevision } from '../../nodes/registry-revision.ts'
import { readTypeInventory } from '../../nodes/type-inventory.ts'
import { collectInterfaces, listWorkflowSummaries } from '../../workflows/summaries-and-interfaces.ts'
import type { CommandConnection } from './command-connection.ts'

type DiscoveryCommands = Pick<
  WsCommandHandlers<CommandConnection>,
  'get_capabilities' | 'list_workflow_summaries' | 'get_workflow_interfaces' | 'get_node_type_inventory'
>

export const discoveryCommandHandlers: DiscoveryCommands = {
  get_capabilities: (_data, { app }) => describeCapabilities(app.runs.registry, app),

  list_workflow_summaries: (data, { app, principal }) =>
    listWorkflowSummaries(
      app.runs.workflows,
      principal,
      { ...data, cursor_at: '/data/cursor' },
      readRegistryRevision(app.runs.registry),
    ),

  get_workflow_interfaces: (data, { app, principal }) =>
    collectInterfaces(app.runs.workflows, principal, {
      ids: data.ids,
      at: '/data/ids',
      reading: app.schedulers.reading,
    }),

  get_node_type_inventory: (data, { app }) => readTypeInventory(app.runs.registry, data),
}
