// Submits jobs by the lifecycle profile: at most one job for each key, admitted by a preflight, for the workflow that the client has seen.
// The contract defines the order of the checks: the key, the workflow, its etag, its graph, the preflight, the queue.
import type {
  CancelJobResponse,
  PreflightRequest,
  PreflightSummary,
  SubmitJobRequest,
  SubmitJobResponse,
} from '../../generated/types.ts'
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import type { ActiveJob } from '../jobs/active-job.ts'
import { readJobSnapshot } from '../jobs/queries.ts'
import type { JobHandle, JobService, JobSubmission } from '../jobs/service.ts'
import { createOutcomeUnknownError } from '../jobs/submission/outcome-unknown-error.ts'
import type { Log } from '../log.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import { requireRunnablePlan } from '../workflows/invalid-graph-error.ts'
import type { WorkflowService } from '../workflows/service.ts'
import { preflightFailedError } from './preflight/failed-error.ts'
import { redactPreflight } from './preflight/summary-redaction.ts'
import { truncatePreflight } from './preflight/summary-truncation.ts'
import { hashSubmission, type NormalizedSubmission, normalizeSubmission } from './submission-hash.ts'

export interface JobSubmissionParts {
  readonly jobs: JobService
  readonly workflows: WorkflowService
  readonly preflight: {
    /** @throws WORKFLOW_NOT_FOUND, SERVICE_UNAVAILABLE */
    check(owner: OwnerScope, request: PreflightRequest, signal: AbortSignal): Promise<PreflightSummary>
  }
  readonly redactor: Redactor
  readonly slices: Pick<TimeSliceScheduler, 'run'>
  readonly log: Log
}

/** `at` is the JSON pointer of the request, for the paths of problems. `signal` aborts when the client no longer waits. */
export interface SubmissionContext {
  readonly at: string
  readonly signal: AbortSignal
}

/** No workflow has this id. Looking it up takes as many steps as any other id, and finds none. */
const NO_WORKFLOW_ID = ''

/**
 * Returns the job of a submission, once the job is stored with its key and its preflight. It is a new job, or that of an equivalent earlier
 * request under the same key.
 * @throws IDEMPOTENCY_CONFLICT, WORKFLOW_NOT_FOUND, WORKFLOW_REVISION_CONFLICT, INVALID_WORKFLOW_GRAPH, PREFLIGHT_FAILED, QUEUE_FULL,
 * SERVICE_UNAVAILABLE, with the id of the job if the job is stored, or may be
 */
export async function submitJob(
  parts: JobSubmissionParts,
  owner: OwnerScope,
  request: SubmitJobRequest,
  context: SubmissionContext,
): Promise<SubmitJobResponse> {
  const { client_request_id } = request
  try {
    const { duplicate, ...handle } = await admitJob(parts, owner, normalizeSubmission(owner, request), context)
    // A job must be stored before it is acknowledged.
    if (handle.active) await waitUntilStored(handle.active, context.signal)
    const { row } = handle
    const snapshot = parts.jobs.snapshot(handle)
    const { job_id, status, queue_position, preflight } = snapshot
    parts.log.info({ client_request_id, job_id, duplicate }, 'a job was submitted')
    return {
      client_request_id,
      job_id,
      status: status === 'queued' ? 'queued' : 'accepted',
      queue_position,
      duplicate,
      accepted_at: row.created_at,
      preflight: preflight!,
    }
  } catch (thrown) {
    parts.log.info({ client_request_id, code: toServiceError(thrown).code }, 'a submission was refused')
    throw thrown
  }
}

/** Waits until a job is stored, or the client leaves. @throws SERVICE_UNAVAILABLE */
async function waitUntilStored(job: ActiveJob, signal: AbortSignal): Promise<void> {
  const late = Promise.withResolvers<never>()
  const leave = () => late.reject(createOutcomeUnknownError(job.row.id))
  signal.addEventListener('abort', leave)
  try {
    await Promise.race([job.accepted(), late.promise])
  } catch (thrown) {
    throw toRetryableError(thrown)
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/**
 * Turns OUTCOME_UNKNOWN into an error that allows a retry. Under its key a submission is safe to send again, whether its job is stored or
 * not.
 */
function toRetryableError(thrown: unknown): unknown {
  const { code, job_id, cause } = toServiceError(thrown)
  if (code !== 'OUTCOME_UNKNOWN' || job_id === null) return thrown
  const headers = { Location: `/api/sdk/v1/jobs/${encodeURIComponent(job_id)}` }
  return new ServiceError('SERVICE_UNAVAILABLE', { job_id, headers, cause })
}

type AdmittedJob = JobHandle & { readonly duplicate: boolean }

async function admitJob(
  parts: JobSubmissionParts,
  owner: OwnerScope,
  submission: NormalizedSubmission,
  context: SubmissionContext,
): Promise<AdmittedJob> {
  let hash: string | Promise<string> | null = null
  const hashed = () => {
    hash ??= hashSubmission(parts.slices, owner, submission)
    return hash
  }
  const { earlierSubmissions } = parts.jobs
  const { idempotency_key } = submission
  const earlier = async () =>
    earlierSubmissions.hasKey(owner, idempotency_key)
      ? earlierSubmissions.findByKey(owner, idempotency_key, await hashed())
      : null
  const known = await earlier()
  if (known) return { ...known, duplicate: true }
  try {
    await parts.workflows.prepare(owner, submission.workflow_id)
    validateWorkflow(parts, owner, submission)
    const summary = await requirePassedPreflight(parts, owner, submission, context)
    const shown = redactPreflight(truncatePreflight(summary), parts.redactor.forOwner(ownerScopeKey(owner)))
    const preflight = JSON.stringify(shown)
    const request_sha256 = await hashed()
    throwIfAborted(context)
    const admission = { request_sha256, workflow_etag: submission.workflow_etag, preflight }
    // If two submissions arrive at once, `submit` of the later one finds the job of the earlier one.
    return parts.jobs.submit(owner, { ...toJobSubmission(submission, context), admission })
  } catch (thrown) {
    // Another attempt may have succeeded meanwhile, whatever stopped this one.
    const winner = await earlier()
    if (winner) return { ...winner, duplicate: true }
    throw thrown
  }
}

/** @throws WORKFLOW_NOT_FOUND, WORKFLOW_REVISION_CONFLICT, INVALID_WORKFLOW_GRAPH */
function validateWorkflow(
  { workflows }: JobSubmissionParts,
  owner: OwnerScope,
  submission: NormalizedSubmission,
): void {
  const { workflow_id, workspace_id, workflow_etag } = submission
  const elsewhere = workspace_id !== owner.workspace_id
  const { compiled } = workflows.runnable(owner, elsewhere ? NO_WORKFLOW_ID : workflow_id)
  if (compiled.etag !== workflow_etag) throw new ServiceError('WORKFLOW_REVISION_CONFLICT')
  requireRunnablePlan(compiled)
}

/** Returns the summary of a preflight that lets the job run. @throws PREFLIGHT_FAILED; SERVICE_UNAVAILABLE if the client no longer waits */
async function requirePassedPreflight(
  { preflight }: JobSubmissionParts,
  owner: OwnerScope,
  submission: NormalizedSubmission,
  context: SubmissionContext,
): Promise<PreflightSummary> {
  const { workflow_id, workspace_id, workflow_etag, inputs, options } = submission
  const execution_target = { kind: 'local', concurrent: options.concurrent } as const
  const asked = { workflow_id, workspace_id, workflow_etag, inputs, interface_version: 1, level: 'execution' } as const
  const summary = await preflight.check(owner, { ...asked, execution_target }, context.signal)
  throwIfAborted(context)
  if (!summary.runnable) throw preflightFailedError(summary, context.at)
  return summary
}

/** @throws SERVICE_UNAVAILABLE if the client no longer waits */
function throwIfAborted({ signal }: SubmissionContext): void {
  if (signal.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
}

function toJobSubmission(
  { idempotency_key, workflow_id, inputs, options }: NormalizedSubmission,
  { at }: SubmissionContext,
): JobSubmission {
  return {
    workflow_id,
    graph: null,
    params: inputs,
    params_at: `${at}/inputs`,
    job_id: null,
    idempotency_key,
    name: null,
    concurrent: options.concurrent,
    timeout_seconds: null,
    options: {
      persistence: 'job',
      event_detail: 'full',
      asset_persistence: options.require_terminal_result ? 'temporary' : 'auto',
    },
    hasFollower: false,
    acceptsStreamInput: false,
  }
}

/** Describes the result of a request to cancel a job. It is final only if the snapshot says so. */
export async function describeCancellation(
  parts: Parameters<typeof readJobSnapshot>[0],
  handle: JobHandle,
): Promise<CancelJobResponse> {
  const snapshot = await readJobSnapshot(parts, handle)
  const { job_id, status } = snapshot
  return { job_id, status, cancel_requested: status === 'cancel_requested', snapshot }
}
