// Snapshots of ended jobs.
import type { JobSnapshot } from '../../../generated/types.ts'
import type { ScriptedEvent, ScriptedTerminalEvent } from './scripted-events.ts'

interface SnapshotBase {
  readonly job_id: string
  readonly workflow_id: string
  readonly workflow_etag: string
}

export function isTerminalEvent(item: ScriptedEvent): item is ScriptedTerminalEvent {
  return item.type === 'job_terminal'
}

export function createTerminalSnapshot(
  { status, outputs }: ScriptedTerminalEvent,
  base: SnapshotBase,
  finished_at: string,
  inputs: Readonly<Record<string, unknown>>,
): JobSnapshot {
  const error = {
    message: 'The template names "title", which has no value.',
    type: 'node_error',
    node_id: 'template',
    retryable: false,
  }
  return {
    ...base,
    status,
    queue_position: null,
    finished_at,
    result: status === 'completed' ? createResultManifest(base, finished_at, outputs, inputs) : null,
    error: status === 'failed' ? error : null,
    waiting: [],
  } as unknown as JobSnapshot
}

function createResultManifest(
  { job_id, workflow_id, workflow_etag }: SnapshotBase,
  completed_at: string,
  outputs: Readonly<Record<string, unknown>>,
  inputs: Readonly<Record<string, unknown>>,
) {
  const provenance = { workflow_id, workflow_revision: workflow_etag, inputs, providers: [], models: [], seed: null }
  return { version: 1, job_id, completed_at, outputs, assets: [], cost: null, provenance }
}
