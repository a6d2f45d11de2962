// Turns rows of workflows into the records that the contract describes.
import type { Workflow, WorkflowListItem, WorkflowVersion } from '../../generated/types.ts'
import type { WorkflowTable, WorkflowVersionTable } from '../db/tables/workflows.ts'
import { parseJsonSteps } from '../payloads/incremental-json-parser.ts'
import { LARGE_PAYLOAD_BYTES } from '../payloads/payload-validator.ts'
import type { Steps } from '../shared/time-slices.ts'
import { type BundledExample, toExampleHead } from './examples.ts'
import { deriveInputSchema, deriveInputSchemaSteps, deriveOutputSchema, deriveOutputSchemaSteps } from './interface.ts'
import type { CompiledWorkflowGraph } from './plan-cache.ts'

export function toWorkflowListItem(row: WorkflowTable): WorkflowListItem {
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

/** A row for readers who are not its owner. */
export function withoutWorkspace(row: WorkflowTable): WorkflowTable {
  return { ...row, workspace_id: null }
}

export function* toWorkflowSteps(row: WorkflowTable, compiled: CompiledWorkflowGraph): Steps<Workflow> {
  return {
    ...toWorkflowListItem(row),
    graph: compiled.graph as Workflow['graph'],
    input_schema: yield* deriveInputSchemaSteps(compiled),
    output_schema: yield* deriveOutputSchemaSteps(compiled),
    settings: yield* parseSettingsSteps(row),
  }
}

/** The time of examples, which come with the service and have no author. */
const EXAMPLE_TIME = new Date(0).toISOString()

/** Returns a bundled example as the record of a workflow. */
export function toExampleWorkflow(example: BundledExample, compiled: CompiledWorkflowGraph): Workflow {
  return {
    ...toExampleHead(example),
    access: 'public',
    graph: compiled.graph as Workflow['graph'],
    input_schema: deriveInputSchema(compiled),
    output_schema: deriveOutputSchema(compiled),
    settings: {},
    workspace_id: null,
    created_at: EXAMPLE_TIME,
    updated_at: EXAMPLE_TIME,
    etag: compiled.etag,
  }
}

/** Earlier versions of the service also stored large settings. */
function* parseSettingsSteps({ settings }: WorkflowTable): Steps<Record<string, unknown>> {
  if (settings.length <= LARGE_PAYLOAD_BYTES) return JSON.parse(settings) as Record<string, unknown>
  return (yield* parseJsonSteps(Buffer.from(settings))) as Record<string, unknown>
}

export function toWorkflowVersion(row: WorkflowVersionTable): WorkflowVersion {
  return {
    workflow_id: row.workflow_id,
    version: row.revision,
    name: row.name,
    etag: row.etag,
    created_at: row.created_at,
  }
}
