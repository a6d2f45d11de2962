// Rows of workflows as the records that the contract describes.
import type { Workflow, WorkflowListItem, WorkflowVersion } from '../../generated/types.ts'
import type { WorkflowTable, WorkflowVersionTable } from '../db/schema.ts'
import { inputSchema, outputSchema } from './interface.ts'
import type { CompiledGraph } from './plans.ts'

export function workflowListItem(row: WorkflowTable): WorkflowListItem {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    tags: JSON.parse(row.tags) as string[],
    access: row.access,
    run_mode: row.run_mode,
    workspace_id: row.workspace_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    etag: row.etag,
  }
}

export function workflowRecord(row: WorkflowTable, compiled: CompiledGraph): Workflow {
  return {
    ...workflowListItem(row),
    graph: compiled.graph as Workflow['graph'],
    input_schema: inputSchema(compiled),
    output_schema: outputSchema(compiled),
    settings: JSON.parse(row.settings) as Record<string, unknown>,
  }
}

export function workflowVersion(row: WorkflowVersionTable): WorkflowVersion {
  return {
    workflow_id: row.workflow_id,
    version: row.revision,
    name: row.name,
    etag: row.etag,
    created_at: row.created_at,
  }
}
