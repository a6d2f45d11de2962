// Operations of the tag `sdk` that tell what there is: capabilities, workflows, interfaces, types. The socket has the same services.
import type { SdkHandlers } from '../../generated/operations.ts'
import type { WorkflowInterfaceError, WorkflowInterfacesResponse } from '../../generated/types.ts'
import { weigh } from '../held-answers.ts'
import { capabilitiesOf } from '../lifecycle/capabilities.ts'
import { isLight } from '../light-parts.ts'
import { nodeTypeInventory } from '../nodes/inventory.ts'
import { registryRevision } from '../nodes/revision.ts'
import { eachInterface, workflowSummaries } from '../workflows/summaries.ts'
import { jsonParts, jsonText } from './reply.ts'
import type { RequestContext } from './request.ts'
import { begun, ENCODED_AT_ONCE, gathered } from './text-parts.ts'

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

  async getWorkflowInterfaces({ body }, context) {
    const text = gathered(interfacesText(context, body.ids), ENCODED_AT_ONCE)
    return jsonText<WorkflowInterfacesResponse, 200>(200, await begun(text))
  },

  listNodeTypes({ query }, { app }) {
    return { status: 200, body: nodeTypeInventory(app.registry, query) }
  },
}

/** A `WorkflowInterfacesResponse` as text, in parts: of the interfaces one at a time is in memory. */
async function* interfacesText(context: RequestContext, ids: readonly string[]): AsyncGenerator<string, void, void> {
  const { app, principal } = context
  const errors: WorkflowInterfaceError[] = []
  let before = '{"interfaces":['
  for await (const one of eachInterface(app.workflows, principal, ids, app.reading)) {
    if ('error' in one) errors.push(one.error)
    else {
      yield before
      yield* isLight(one.found) ? [JSON.stringify(one.found)] : heldParts(one.found, context)
      before = ','
    }
  }
  if (before !== ',') yield before
  yield `],"errors":${JSON.stringify(errors)}}`
}

async function* heldParts(value: object, context: RequestContext): AsyncGenerator<string, void, void> {
  const { app, caller } = context
  const release = context.reader.hold(await weigh(value, app.slices, caller, context.reader))
  try {
    yield* jsonParts(() => value, app.slices, caller)
  } finally {
    release()
  }
}
