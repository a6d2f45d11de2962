// Runs over HTTP: turns the request into a submission, and the job into a run result.
import type { JobError, ResultManifest, RunRequest, RunResult } from '../../../generated/types.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { ActiveJob } from '../../jobs/active-job.ts'
import { withMissingOutputs } from '../../jobs/outputs/result-manifest.ts'
import type { UnkeyedSubmission } from '../../jobs/service.ts'
import { toPublicStatus } from '../../jobs/state-machine.ts'
import { stringifyWithCachedMembers } from '../../shared/incremental-json.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'
import { createJsonTextReply } from '../pipeline/reply.ts'

/** Runs of a workflow over HTTP may overlap. Otherwise they are ordinary jobs. */
export function createHttpSubmission(workflow_id: string, body: RunRequest): UnkeyedSubmission {
  return {
    workflow_id,
    graph: null,
    params: body.params ?? {},
    params_at: '/body/params',
    job_id: null,
    name: null,
    concurrent: true,
    timeout_seconds: body.timeout_seconds ?? null,
    options: { persistence: null, event_detail: null, asset_persistence: null },
    hasFollower: false,
    // A client that waits for the run cannot send it values; a background run can get them over the socket.
    acceptsStreamInput: body.background === true,
  }
}

/** The state of a background run when it is accepted. */
export function createAcceptedRun({ row, status }: ActiveJob): RunResult {
  const { id: job_id, workflow_id } = row
  const waiting = status === 'queued' ? 'queued' : 'accepted'
  return { job_id, workflow_id, status: waiting, outputs: {}, error: null, message_count: 0, background: true }
}

/** The response with the result of a job that has ended, or that waits for a person or an event. `row` is its last state. */
export function createRunReply(job: ActiveJob, row: JobTable) {
  const values = job.row === row ? job.outputs.values : null
  if (values) {
    const result = createRunResult(job, row, values)
    const text = job.outputs.isLarge ? stringifyWithCachedMembers(result) : stringifyWithBase64(result)
    return createJsonTextReply<RunResult, 200>(200, text)
  }
  const outputs = row.result === null ? null : (JSON.parse(row.result) as ResultManifest).outputs
  return { status: 200, body: createRunResult(job, row, outputs) } as const
}

function createRunResult(job: ActiveJob, row: JobTable, outputs: Readonly<Record<string, unknown>> | null): RunResult {
  return {
    job_id: row.id,
    workflow_id: row.workflow_id,
    status: toPublicStatus(row.status) as RunResult['status'],
    outputs: outputs === null ? {} : (withMissingOutputs(job.plan, outputs) as RunResult['outputs']),
    error: parseRunError(row.error),
    message_count: job.message_count,
    background: false,
  }
}

function parseRunError(stored: string | null): RunResult['error'] {
  if (stored === null) return null
  const { message, type, node_id } = JSON.parse(stored) as JobError
  return { message, type, ...(node_id === null ? {} : { node_id }) }
}
