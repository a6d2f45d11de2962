// Operations of the tag `sdk` for discovery: capabilities, workflows, interfaces, types. The socket uses the same services.
import type { SdkHandlers } from '../../../../generated/operations.ts'
import type { WorkflowInterfaceError, WorkflowInterfacesResponse } from '../../../../generated/types.ts'
import { describeCapabilities } from '../../../lifecycle/capabilities.ts'
import { estimateContainerBytes } from '../../../net/response-buffers.ts'
import { readRegistryRevision } from '../../../nodes/registry-revision.ts'
import { readTypeInventory } from '../../../nodes/type-inventory.ts'
import { isSmallValue } from '../../../shared/value-size.ts'
import { listWorkflowSummaries, readInterfaces } from '../../../workflows/summaries-and-interfaces.ts'
import { createJsonTextReply, encodeJsonChunks } from '../../pipeline/reply.ts'
import type { RequestContext } from '../../pipeline/request-context.ts'
import { awaitFirstChunk, mergeChunks, TEXT_CHUNK_LENGTH } from '../../pipeline/text-stream.ts'

type SdkDiscoveryHandlers = Pick<
  SdkHandlers<RequestContext>,
  'getCapabilities' | 'listWorkflowSummaries' | 'getWorkflowInterfaces' | 'listNodeTypes'
>

export const sdkDiscoveryHandlers: SdkDiscoveryHandlers = {
  getCapabilities(_request, { app }) {
    return { status: 200, body: describeCapabilities(app.runs.registry, app) }
  },

  async listWorkflowSummaries({ query }, { app, principal }) {
    const revision = readRegistryRevision(app.runs.registry)
    return { status: 200, body: await listWorkflowSummaries(app.runs.workflows, principal, query, revision) }
  },

  async getWorkflowInterfaces({ body }, context) {
    const text = mergeChunks(streamInterfaces(context, body.ids), TEXT_CHUNK_LENGTH)
    return createJsonTextReply<WorkflowInterfacesResponse, 200>(200, await awaitFirstChunk(text))
  },

  listNodeTypes({ query }, { app }) {
    return { status: 200, body: readTypeInventory(app.runs.registry, query) }
  },
}

/** A `WorkflowInterfacesResponse` as text, in parts: only one interface at a time is in memory. */
async function* streamInterfaces(context: RequestContext, ids: readonly string[]): AsyncGenerator<string, void, void> {
  const { app, principal } = context
  const errors: WorkflowInterfaceError[] = []
  let separator = '{"interfaces":['
  for await (const one of readInterfaces(app.runs.workflows, principal, ids, app.schedulers.reading)) {
    if ('error' in one) errors.push(one.error)
    else {
      yield separator
      yield* isSmallValue(one.found) ? [JSON.stringify(one.found)] : encodeHeldValue(one.found, context)
      separator = ','
    }
  }
  if (separator !== ',') yield separator
  yield `],"errors":${JSON.stringify(errors)}}`
}

async function* encodeHeldValue(value: object, context: RequestContext): AsyncGenerator<string, void, void> {
  const { app, caller } = context
  const release = context.reader.hold(
    await estimateContainerBytes(value, app.schedulers.slices, caller, context.reader),
  )
  try {
    yield* encodeJsonChunks(() => value, app.schedulers.slices, caller)
  } finally {
    release()
  }
}
