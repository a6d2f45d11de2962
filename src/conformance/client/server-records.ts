// The records of the reference server, apart from jobs.
import { errorCatalogue } from '../../../generated/errors.ts'
import type {
  CancelJobResponse,
  Capabilities,
  PreflightSummary,
  SubmitJobResponse,
  SubscribeJobResponse,
  TemporaryAssetUpload,
  WorkflowInterface,
} from '../../../generated/types.ts'
import type { JsonMap } from './frame-codec.ts'
import type { SimulatedJob } from './simulated-job.ts'

export const GREETING_WORKFLOW = 'wf_greeting'
export const REPORT_WORKFLOW = 'wf_report'
const SERVER_TIME = '2026-01-15T09:30:00.000Z'

export function createCapabilities(jobs: 'available' | 'unavailable'): Capabilities {
  return {
    protocol_version: '1',
    server_version: '1.0.0-conformance',
    server_time: SERVER_TIME,
    supported_encodings: ['messagepack', 'json-text'],
    default_encoding: 'messagepack',
    profiles: {
      discovery: 'available',
      execution: 'available',
      preflight: 'available',
      model_catalog: 'unavailable',
      temporary_asset_upload: 'available',
      jobs,
    },
    registry_revision: 1,
    auth_modes: ['bearer'],
    asset_uri_schemes: ['asset://', '/api/storage/'],
    execution_options: {
      persistence: ['job', 'session'],
      event_detail: ['full', 'outputs', 'terminal'],
      asset_persistence: ['auto', 'temporary'],
      defaults: { persistence: 'job', event_detail: 'full', asset_persistence: 'temporary' },
    },
    limits: {
      max_rpc_batch: 100,
      max_inline_bytes: 16_384,
      max_upload_bytes: 1_048_576,
      max_queued_jobs: 10_000,
      max_job_event_replay: 100_000,
      request_timeout_seconds: 30,
      idempotency_retention_seconds: 86_400,
    },
  }
}

const simpleType = (type: string) => ({ type, optional: false, values: [], type_args: [], type_name: null })

const INPUTS_BY_WORKFLOW: Readonly<Record<string, readonly (readonly [name: string, type: string])[]>> = {
  [REPORT_WORKFLOW]: [
    ['status', 'str'],
    ['value', 'any'],
    ['events', 'any'],
  ],
}

export function createWorkflowInterface(workflow_id: string, etag: string): WorkflowInterface {
  const inputs = INPUTS_BY_WORKFLOW[workflow_id] ?? [['name', 'str']]
  return {
    version: 1,
    workflow_id,
    etag,
    source: 'server',
    inputs: inputs.map(([name, type]) => ({
      node_id: name,
      name,
      description: '',
      type: simpleType(type),
      required: false,
      default: null,
    })),
    outputs: [{ node_id: 'greeting', name: 'greeting', description: '', type: simpleType('str'), stream: false }],
    diagnostics: [],
  } as WorkflowInterface
}

/** A whole workflow record, for clients that read the etag there. */
export function createWorkflowRecord(id: string, etag: string): JsonMap {
  return {
    id,
    name: id,
    description: '',
    tags: [],
    access: 'private',
    graph: { nodes: [], edges: [] },
    input_schema: { type: 'object', properties: {}, required: [] },
    output_schema: { type: 'object', properties: {}, required: [] },
    settings: {},
    run_mode: 'workflow',
    workspace_id: null,
    created_at: SERVER_TIME,
    updated_at: SERVER_TIME,
    etag,
  }
}

export function createPreflightSummary(
  workflow_id: string,
  workflow_etag: string,
  runnable: boolean,
): PreflightSummary {
  const missing = {
    severity: 'error',
    code: 'missing_input',
    message: 'The input "name" (str) is required.',
    node_id: 'name',
    pin_name: 'name',
  } as const
  const issues = runnable ? [] : [missing]
  return { version: 1, level: 'execution', workflow_id, workflow_etag, runnable, issues, requirements: [], cost: null }
}

export function createSubmissionReply(
  job: SimulatedJob,
  client_request_id: unknown,
  duplicate: boolean,
): SubmitJobResponse {
  const { workflow_id, workflow_etag } = job.facts
  const first = job.snapshot(1)
  return {
    client_request_id: String(client_request_id),
    job_id: job.job_id,
    status: first.status === 'queued' ? 'queued' : 'accepted',
    queue_position: first.queue_position,
    duplicate,
    accepted_at: SERVER_TIME,
    preflight: createPreflightSummary(workflow_id, workflow_etag, true),
  }
}

/** `expired`: the events after the given sequence are no longer kept. */
export function createSubscriptionReply(job: SimulatedJob, after: number, expired = false): SubscribeJobResponse {
  const from = Math.max(after, job.base) + 1
  return {
    job_id: job.job_id,
    requested_after_sequence: after,
    replay_from_sequence: expired || from > job.last_sequence ? null : from,
    replay_to_sequence: job.last_sequence,
    snapshot: job.snapshot(),
  }
}

export function createCancellationReply(job: SimulatedJob): CancelJobResponse {
  const snapshot = job.snapshot()
  return {
    job_id: job.job_id,
    status: snapshot.status,
    cancel_requested: snapshot.status === 'cancel_requested' || snapshot.status === 'cancelled',
    snapshot,
  }
}

export function createUploadReply(name: string, content_type: string, size: number): TemporaryAssetUpload {
  return {
    version: 1,
    uri: '/api/storage/temp/1/conformance.bin',
    name,
    content_type,
    size,
    expires_at: '2026-01-16T09:30:00.000Z',
  }
}

export interface CallError {
  readonly code: string
  readonly status: number
  readonly retryable: boolean
  readonly message: string
}

/** Returns an error of the catalogue. An unknown code stands for one of a newer server: 503 and retryable. */
export function findCallError(code: string): CallError {
  const known = Object.entries(errorCatalogue).find(([name]) => name === code)?.[1]
  const { status, retryable, message } = known ?? { status: 503, retryable: true, message: 'The shard has moved.' }
  return { code, status, retryable, message }
}

export function toSdkErrorBody({ code, status, retryable, message }: CallError): JsonMap {
  return { error: { message, type: code.toLowerCase(), code: status }, code, message, detail: message, retryable }
}

export function toSocketError({ code, retryable, message }: CallError): JsonMap {
  return { code, message, retryable, apiCode: retryable ? 'SERVICE_UNAVAILABLE' : code }
}
