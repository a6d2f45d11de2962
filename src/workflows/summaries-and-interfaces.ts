// Reads many workflows at once for pickers and editors: summaries and interfaces.
import type {
  WorkflowInterface,
  WorkflowInterfaceError,
  WorkflowInterfacesResponse,
  WorkflowSummaryPage,
} from '../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { WorkflowListRequest } from './list-pages.ts'
import type { WorkflowService } from './service.ts'

const DEFAULT_LIMIT = 50
/** Total characters of the graphs whose interfaces one response may contain. */
const MOST_GRAPH_CHARACTERS = 32 * 1024 * 1024
/** Maximum number of workflows in one request for interfaces, as the contract defines. */
export const MOST_INTERFACES = 100

/** Returns a page of the caller's workflows, the last changed first. @throws INVALID_REQUEST for a cursor that no list gave */
export async function listWorkflowSummaries(
  workflows: WorkflowService,
  scope: OwnerScope,
  request: Pick<WorkflowListRequest, 'limit' | 'cursor' | 'cursor_at'>,
  registry_revision: number,
): Promise<WorkflowSummaryPage> {
  const { workflows: items, next } = await workflows.list(scope, { ...request, limit: request.limit ?? DEFAULT_LIMIT })
  const summaries = items.map(({ id, name, description, etag, run_mode }) => {
    return { id, name, description, revision: etag, registry_revision, run_mode }
  })
  return { workflows: summaries, next }
}

/** An interface, or why it could not be read. */
export type InterfaceResult =
  | { readonly found: WorkflowInterface; readonly graph_length: number }
  | { readonly error: WorkflowInterfaceError }

/**
 * Yields the interfaces in the requested order. Each is read when the one before was taken, because a hundred large ones do not fit in
 * memory.
 */
export async function* readInterfaces(
  workflows: WorkflowService,
  scope: OwnerScope,
  ids: readonly string[],
  reading: TimeSliceScheduler,
): AsyncGenerator<InterfaceResult, void, void> {
  const turns = reading.turnsOf(userShareKey(scope))
  for (const id of ids) {
    if (turns.over) await turns.next()
    yield await readInterface(workflows, scope, id)
  }
}

/**
 * Returns the interfaces as one value, with the errors of those that could not be read. `at` is the JSON pointer of the ids.
 * @throws INVALID_REQUEST if they are too large for one value
 */
export async function collectInterfaces(
  workflows: WorkflowService,
  scope: OwnerScope,
  { ids, at, reading }: { ids: readonly string[]; at: string; reading: TimeSliceScheduler },
): Promise<WorkflowInterfacesResponse> {
  const all: WorkflowInterfacesResponse = { interfaces: [], errors: [] }
  let length = 0
  for await (const one of readInterfaces(workflows, scope, ids, reading)) {
    if ('error' in one) all.errors.push(one.error)
    else {
      length += one.graph_length
      if (length > MOST_GRAPH_CHARACTERS && all.interfaces.length > 0) throw tooLargeError(at)
      all.interfaces.push(one.found)
    }
  }
  return all
}

function tooLargeError(path: string): ServiceError {
  const message = 'names workflows whose interfaces are too large for one frame: ask for fewer at a time'
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}

async function readInterface(
  workflows: WorkflowService,
  scope: OwnerScope,
  workflow_id: string,
): Promise<InterfaceResult> {
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
