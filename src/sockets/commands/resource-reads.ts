// The read commands of `/ws`, with the same services as over HTTP. Lists are wrapped in objects.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import { linkCredentialOf } from '../../access/principal.ts'
import { ServiceError } from '../../errors.ts'
import { findNodeTypes, summarizeNodeType } from '../../nodes/catalogue.ts'
import type { CommandConnection } from './command-connection.ts'

type ReadCommands = Pick<
  WsCommandHandlers<CommandConnection>,
  'list_workflows' | 'get_workflow' | 'get_workflow_interface' | 'list_nodes' | 'get_node' | 'list_assets' | 'get_asset'
>

export const readCommandHandlers: ReadCommands = {
  list_workflows: (data, { app, principal }) =>
    app.runs.workflows.list(principal, { ...data, cursor_at: '/data/cursor' }),

  get_workflow: async (data, { app, principal }) => (await app.runs.workflows.get(principal, data.id)).record,

  get_workflow_interface: (data, { app, principal }) => app.runs.workflows.interface(principal, data.id),

  list_nodes(data, { app }) {
    const nodes = findNodeTypes(app.runs.registry, data)
    return { nodes: data.fields === 'summary' ? nodes.map(summarizeNodeType) : nodes }
  },

  get_node(data, { app }) {
    const [node] = findNodeTypes(app.runs.registry, { node_type: data.node_type })
    if (!node) throw new ServiceError('NOT_FOUND', { message: `There is no node type "${data.node_type}".` })
    return node
  },

  list_assets: (data, { app, principal }) => app.assets.service.list(principal, { ...data, cursor_at: '/data/cursor' }),

  get_asset: ({ id, expires_in }, { app, principal }) =>
    app.assets.service.get(
      principal,
      id,
      expires_in ? { expires_in, credential: linkCredentialOf(principal, app.platform.now()) } : null,
    ),
}
