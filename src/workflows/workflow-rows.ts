// Turns requests that create or change a workflow into the rows that are stored: the workflow's own, and that of its version.
import type { CreateWorkflowRequest, UpdateWorkflowRequest } from '../../generated/types.ts'
import type { WorkflowTable, WorkflowVersionTable } from '../db/tables/workflows.ts'
import { ServiceError } from '../errors.ts'
import { stringifyUpTo } from '../shared/incremental-json.ts'
import type { CompiledWorkflowGraph } from './plan-cache.ts'

/** Bytes of JSON text, as the contract defines. */
export const MOST_SETTINGS = 262_144

/** @throws INVALID_REQUEST if the settings are too long */
export function formatSettings({ settings }: CreateWorkflowRequest | UpdateWorkflowRequest): string {
  const text = stringifyUpTo(settings ?? {}, MOST_SETTINGS)
  if (text !== null) return text
  const problem = { path: '/body/settings', message: `must have at most ${MOST_SETTINGS} bytes as JSON` }
  throw new ServiceError('INVALID_REQUEST', { problems: [problem], message: `${problem.path}: ${problem.message}` })
}

export function toEditableColumns(
  request: CreateWorkflowRequest | UpdateWorkflowRequest,
  settings: string,
  compiled: CompiledWorkflowGraph,
) {
  return {
    name: request.name,
    description: request.description ?? '',
    tags: JSON.stringify(request.tags ?? []),
    access: request.access ?? 'private',
    graph_sha256: compiled.sha256,
    settings,
    run_mode: request.run_mode ?? 'workflow',
    etag: compiled.etag,
  }
}

export function toVersionRow(row: WorkflowTable): WorkflowVersionTable {
  return {
    workflow_id: row.id,
    revision: row.revision,
    name: row.name,
    description: row.description,
    graph_sha256: row.graph_sha256,
    etag: row.etag,
    created_at: row.updated_at,
  }
}
