// What pickers and editors read of many workflows at once: summaries, and interfaces by the hundred.
import { setImmediate } from 'node:timers/promises'
import type { WorkflowInterfacesResponse, WorkflowSummaryPage } from '../../generated/types.ts'
import type { Scope } from '../db/scope.ts'
import { toServiceError } from '../errors.ts'
import type { ListRequest, WorkflowService } from './service.ts'

const DEFAULT_LIMIT = 50
/** How long interfaces are made in one turn of the event loop, in milliseconds. */
const TURN_MS = 5
/** The most workflows in one request for their interfaces, as the contract has it. */
export const MOST_INTERFACES = 100

/** A page of the caller's workflows, the last changed first. @throws INVALID_REQUEST for a cursor that no list gave */
export async function workflowSummaries(
  workflows: WorkflowService,
  scope: Scope,
  request: Pick<ListRequest, 'limit' | 'cursor' | 'cursor_at'>,
  registry_revision: number,
): Promise<WorkflowSummaryPage> {
  const { workflows: items, next } = await workflows.list(scope, { ...request, limit: request.limit ?? DEFAULT_LIMIT })
  const summaries = items.map(({ id, name, description, etag, run_mode }) => {
    return { id, name, description, revision: etag, registry_revision, run_mode }
  })
  return { workflows: summaries, next }
}

/** The interfaces in the order asked, and why others could not be read. Graphs that were never compiled may take long: others get their turns. */
export async function workflowInterfaces(
  workflows: WorkflowService,
  scope: Scope,
  ids: readonly string[],
): Promise<WorkflowInterfacesResponse> {
  const found: WorkflowInterfacesResponse = { interfaces: [], errors: [] }
  let deadline = performance.now() + TURN_MS
  for (const id of ids) {
    const preparing = workflows.prepare(scope, id)
    if (preparing) await preparing
    addInterface(found, workflows, scope, id)
    if (performance.now() < deadline) continue
    await setImmediate()
    deadline = performance.now() + TURN_MS
  }
  return found
}

function addInterface(
  found: WorkflowInterfacesResponse,
  workflows: WorkflowService,
  scope: Scope,
  workflow_id: string,
): void {
  try {
    found.interfaces.push(workflows.interface(scope, workflow_id))
  } catch (thrown) {
    const { code, message } = toServiceError(thrown)
    if (code === 'WORKFLOW_NOT_FOUND') found.errors.push({ workflow_id, code: 'workflow_not_found', message })
    else if (code === 'INVALID_WORKFLOW_GRAPH') found.errors.push({ workflow_id, code: 'invalid_graph', message })
    else throw thrown
  }
}
