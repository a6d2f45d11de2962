// Makes frames of `/ws` from stored jobs and events, for clients that missed the live frames.
import type { JobError, ResultManifest } from '../../../generated/types.ts'
import type { RunServices } from '../../context.ts'
import { ownerScopeKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/schema.ts'
import { formatFrameType } from '../../engine/node-api/values/type-label.ts'
import type { EventBody, EventFrame } from '../../events/types.ts'
import { computeJobDuration } from '../../jobs/history/terminal-event.ts'
import { toOutputLists } from '../../jobs/outputs/result-manifest.ts'
import { readJobResult } from '../../jobs/snapshot.ts'
import { isTerminal, toSocketStatus } from '../../jobs/state-machine.ts'
import type { ResponseReader } from '../../net/response-buffers.ts'

/** The present state of a job as a `job_update`; for a job that has ended, its last event. */
export function createJobUpdate(
  row: JobTable,
  result: ResultManifest | null,
  runs: RunServices,
  queue_position?: number,
): EventFrame {
  const { id: job_id, workflow_id } = row
  const error = row.error === null ? null : (JSON.parse(row.error) as JobError).message
  return {
    type: 'job_update',
    status: toSocketStatus(row.status),
    job_id,
    workflow_id,
    ...(queue_position ? { queue_position } : {}),
    ...(error === null ? {} : { error }),
    ...(result === null ? {} : { result: { outputs: toOutputLists(runs.jobs.planOf(row), result.outputs) } }),
    ...(isTerminal(row.status) ? { sequence: row.last_sequence, duration: computeJobDuration(row) } : {}),
  } as EventFrame
}

/** As `createJobUpdate`, for a job that may have a large result or graph. */
export async function loadJobUpdate(
  row: JobTable,
  runs: RunServices,
  { queue_position, reader }: { readonly queue_position?: number; readonly reader?: ResponseReader } = {},
): Promise<EventFrame> {
  const result = await readJobResult(runs, row, reader)
  if (result !== null) await runs.jobs.preparePlan(row)
  return createJobUpdate(row, result, runs, queue_position)
}

/** A stored event as a frame; null for an event that sockets do not show. */
export function createEventFrame(
  row: JobTable,
  event: EventBody,
  sequence: number,
  runs: RunServices,
): EventFrame | null {
  const frame = toSocketFrame(row, event, runs)
  return frame && { ...frame, sequence }
}

function toSocketFrame(row: JobTable, event: EventBody, runs: RunServices): EventFrame | null {
  const { id: job_id, workflow_id } = row
  const ids = { job_id, workflow_id }
  switch (event.type) {
    case 'job_status':
      if (event.status !== 'queued' && event.status !== 'running' && event.status !== 'suspended') return null
      return {
        type: 'job_update',
        status: event.status,
        ...ids,
        ...(event.queue_position === null ? {} : { queue_position: event.queue_position }),
      } as EventFrame
    case 'node_status':
      if (event.status === 'pending') return null
      return {
        type: 'node_update',
        ...ids,
        node_id: event.node_id,
        node_name: nodeNameOf(row, event.node_id, runs),
        node_type: event.node_type,
        status: event.status === 'failed' ? 'error' : event.status,
        ...(event.error === undefined ? {} : { error: event.error }),
        result: null,
      } as EventFrame
    case 'output_update':
      return createOutputFrame(row, event.output_name, 'value' in event ? event.value : event.asset, 'append', runs)
    case 'job_terminal': {
      // The event's snapshot is the row's last state.
      const { result, error, finished_at, started_at } = event.snapshot
      const error_json = error ? JSON.stringify(error) : null
      return createJobUpdate({ ...row, status: event.status, error: error_json, finished_at, started_at }, result, runs)
    }
  }
}

function nodeNameOf(row: JobTable, node_id: string, runs: RunServices): string {
  const plan = runs.jobs.planOf(row)
  const name = plan.nodes[plan.indexById.get(node_id) ?? -1]?.observed.node_name
  return name === undefined ? node_id : runs.redactor.forOwner(ownerScopeKey(row)).text(name)
}

/** A value of an output as a frame. */
export function createOutputFrame(
  row: JobTable,
  output_name: string,
  value: unknown,
  disposition: 'append' | 'replace',
  runs: RunServices,
): EventFrame {
  const output = runs.jobs.planOf(row).outputByName.get(output_name)
  const node_id = output?.node_id ?? output_name
  return {
    type: 'output_update',
    job_id: row.id,
    workflow_id: row.workflow_id,
    node_id,
    node_name: nodeNameOf(row, node_id, runs),
    output_name,
    output_type: output ? formatFrameType(output.type) : 'any',
    value,
    disposition,
  } as EventFrame
}
