// Rows of workflows as the records that the contract describes.
import type { Workflow, WorkflowListItem, WorkflowVersion } from '../../generated/types.ts'
import type { WorkflowTable, WorkflowVersionTable } from '../db/schema.ts'
import { parseJsonInParts } from '../payloads/json-parts.ts'
import { LARGE_PAYLOAD } from '../payloads/payload-judge.ts'
import type { Steps } from '../time-slices.ts'
import { type Example, exampleHead } from './examples.ts'
import { inputSchema, inputSchemaSteps, outputSchema, outputSchemaSteps } from './interface.ts'
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

export function* recordSteps(row: WorkflowTable, compiled: CompiledGraph): Steps<Workflow> {
  return {
    ...workflowListItem(row),
    graph: compiled.graph as Workflow['graph'],
    input_schema: yield* inputSchemaSteps(compiled),
    output_schema: yield* outputSchemaSteps(compiled),
    settings: yield* settingsSteps(row),
  }
}

/** Examples come with the service: nobody has written them at some time, and everybody may read them. */
const NO_TIME = new Date(0).toISOString()

/** A bundled example as the record of a workflow. */
export function exampleWorkflow(example: Example, compiled: CompiledGraph): Workflow {
  return {
    ...exampleHead(example),
    access: 'public',
    graph: compiled.graph as Workflow['graph'],
    input_schema: inputSchema(compiled),
    output_schema: outputSchema(compiled),
    settings: {},
    workspace_id: null,
    created_at: NO_TIME,
    updated_at: NO_TIME,
    etag: compiled.etag,
  }
}

/** Earlier versions of the service stored large ones as well. */
function* settingsSteps({ settings }: WorkflowTable): Steps<Record<string, unknown>> {
  if (settings.length <= LARGE_PAYLOAD) return JSON.parse(settings) as Record<string, unknown>
  return (yield* parseJsonInParts(Buffer.from(settings))) as Record<string, unknown>
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
