// What pickers and editors read of many workflows at once: summaries, and interfaces by the hundred.
import type {
  WorkflowInterface,
  WorkflowInterfaceError,
  WorkflowInterfacesResponse,
  WorkflowSummaryPage,
} from '../../generated/types.ts'
import { type Scope, userKey } from '../db/scope.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { ListRequest } from './pages.ts'
import type { WorkflowService } from './service.ts'

const DEFAULT_LIMIT = 50
/** Characters of the graphs whose interfaces are one value. */
const MOST_TOGETHER = 32 * 1024 * 1024
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

/** An interface, or why it could not be read. */
export type ReadInterface =
  | { readonly found: WorkflowInterface; readonly graph_length: number }
  | { readonly error: WorkflowInterfaceError }

/** The interfaces in the order asked, each read when the one before it is taken: a hundred large ones together are more than memory has. */
export async function* eachInterface(
  workflows: WorkflowService,
  scope: Scope,
  ids: readonly string[],
  reading: TimeSlices,
): AsyncGenerator<ReadInterface, void, void> {
  const turns = reading.turnsOf(userKey(scope))
  for (const id of ids) {
    if (turns.over) await turns.next()
    yield await readInterface(workflows, scope, id)
  }
}

/**
 * The interfaces, and why others could not be read, as one value. `at` is the pointer of the ids.
 * @throws INVALID_REQUEST where they are too large to be one value
 */
export async function workflowInterfaces(
  workflows: WorkflowService,
  scope: Scope,
  { ids, at, reading }: { ids: readonly string[]; at: string; reading: TimeSlices },
): Promise<WorkflowInterfacesResponse> {
  const all: WorkflowInterfacesResponse = { interfaces: [], errors: [] }
  let length = 0
  for await (const one of eachInterface(workflows, scope, ids, reading)) {
    if ('error' in one) all.errors.push(one.error)
    else {
      length += one.graph_length
      if (length > MOST_TOGETHER && all.interfaces.length > 0) throw tooLarge(at)
      all.interfaces.push(one.found)
    }
  }
  return all
}

function tooLarge(path: string): ServiceError {
  const message = 'names workflows whose interfaces are too large for one frame: ask for fewer at a time'
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}

async function readInterface(workflows: WorkflowService, scope: Scope, workflow_id: string): Promise<ReadInterface> {
  try {
    const { record, graph_length } = await workflows.sizedInterface(scope, workflow_id)
    return { found: record, graph_length }
  } catch (thrown) {
    const { code, message } = toServiceError(thrown)
    if (code === 'WORKFLOW_NOT_FOUND') return { error: { workflow_id, code: 'workflow_not_found', message } }
    if (code === 'INVALID_WORKFLOW_GRAPH') return { error: { workflow_id, code: 'invalid_graph', message } }
    throw thrown
  }
}
