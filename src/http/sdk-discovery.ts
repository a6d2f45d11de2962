// Operations of the tag `sdk` that tell what there is: capabilities, workflows, interfaces, types. The socket has the same services.
import type { SdkHandlers } from '../../generated/operations.ts'
import type { WorkflowInterfaceError, WorkflowInterfacesResponse } from '../../generated/types.ts'
import type { AppContext } from '../context.ts'
import { type Scope, userKey } from '../db/scope.ts'
import { capabilitiesOf } from '../lifecycle/capabilities.ts'
import { isLight } from '../light-parts.ts'
import { nodeTypeInventory } from '../nodes/inventory.ts'
import { registryRevision } from '../nodes/revision.ts'
import { eachInterface, workflowSummaries } from '../workflows/summaries.ts'
import { begun, ENCODED_AT_ONCE, gathered, inCuts } from './cuts.ts'
import { jsonParts, jsonText } from './reply.ts'
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
    const text = gathered(interfacesText(app, principal, body.ids), ENCODED_AT_ONCE)
    return jsonText<WorkflowInterfacesResponse, 200>(200, inCuts(await begun(text), ENCODED_AT_ONCE))
  },

  listNodeTypes({ query }, { app }) {
    return { status: 200, body: nodeTypeInventory(app.registry, query) }
  },
}

/** A `WorkflowInterfacesResponse` as text, in parts: of the interfaces one at a time is in memory. */
async function* interfacesText(
  { workflows, slices }: AppContext,
  scope: Scope,
  ids: readonly string[],
): AsyncGenerator<string, void, void> {
  const errors: WorkflowInterfaceError[] = []
  let before = '{"interfaces":['
  for await (const one of eachInterface(workflows, scope, ids)) {
    if ('error' in one) errors.push(one.error)
    else {
      yield before
      yield* isLight(one.found) ? [JSON.stringify(one.found)] : jsonParts(one.found, slices, userKey(scope))
      before = ','
    }
  }
  if (before !== ',') yield before
  yield `],"errors":${JSON.stringify(errors)}}`
}
