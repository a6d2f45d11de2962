// The records that the reference server answers with, apart from jobs.
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
import type { Job } from './jobs.ts'
import type { Fields } from './wire.ts'

export const GREETING_WORKFLOW = 'wf_greeting'
export const REPORT_WORKFLOW = 'wf_report'
const NOW = '2026-01-15T09:30:00.000Z'

export function capabilities(jobs: 'available' | 'unavailable'): Capabilities {
  return {
    protocol_version: '1',
    server_version: '1.0.0-conformance',
    server_time: NOW,
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

const simple = (type: string) => ({ type, optional: false, values: [], type_args: [], type_name: null })

const INPUTS: Readonly<Record<string, readonly (readonly [name: string, type: string])[]>> = {
  [REPORT_WORKFLOW]: [
    ['status', 'str'],
    ['value', 'any'],
    ['events', 'any'],
  ],
}

export function workflowInterface(workflow_id: string, etag: string): WorkflowInterface {
  const inputs = INPUTS[workflow_id] ?? [['name', 'str']]
  return {
    version: 1,
    workflow_id,
    etag,
    source: 'server',
    inputs: inputs.map(([name, type]) => ({
      node_id: name,
      name,
      description: '',
      type: simple(type),
      required: false,
      default: null,
    })),
    outputs: [{ node_id: 'greeting', name: 'greeting', description: '', type: simple('str'), stream: false }],
    diagnostics: [],
  } as WorkflowInterface
}

/** A whole workflow record, for clients that read the etag there. */
export function workflowRecord(id: string, etag: string): Fields {
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
    created_at: NOW,
    updated_at: NOW,
    etag,
  }
}

export function preflightSummary(workflow_id: string, workflow_etag: string, runnable: boolean): PreflightSummary {
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

export function submission(job: Job, client_request_id: unknown, duplicate: boolean): SubmitJobResponse {
  const { workflow_id, workflow_etag } = job.facts
  const first = job.snapshot(1)
  return {
    client_request_id: String(client_request_id),
    job_id: job.job_id,
    status: first.status === 'queued' ? 'queued' : 'accepted',
    queue_position: first.queue_position,
    duplicate,
    accepted_at: NOW,
    preflight: preflightSummary(workflow_id, workflow_etag, true),
  }
}

/** `expired`: the events after the given sequence are no longer kept. */
export function subscription(job: Job, after: number, expired = false): SubscribeJobResponse {
  const from = Math.max(after, job.base) + 1
  return {
    job_id: job.job_id,
    requested_after_sequence: after,
    replay_from_sequence: expired || from > job.last_sequence ? null : from,
    replay_to_sequence: job.last_sequence,
    snapshot: job.snapshot(),
  }
}

export function cancellation(job: Job): CancelJobResponse {
  const snapshot = job.snapshot()
  return {
    job_id: job.job_id,
    status: snapshot.status,
    cancel_requested: snapshot.status === 'cancel_requested' || snapshot.status === 'cancelled',
    snapshot,
  }
}

export function uploaded(name: string, content_type: string, size: number): TemporaryAssetUpload {
  return {
    version: 1,
    uri: '/api/storage/temp/1/conformance.bin',
    name,
    content_type,
    size,
    expires_at: '2026-01-16T09:30:00.000Z',
  }
}

export interface Refusal {
  readonly code: string
  readonly status: number
  readonly retryable: boolean
  readonly message: string
}

/** An error of the catalogue; a code that it does not have is one of a newer server: 503 and retryable. */
export function refusal(code: string): Refusal {
  const known = Object.entries(errorCatalogue).find(([name]) => name === code)?.[1]
  const { status, retryable, message } = known ?? { status: 503, retryable: true, message: 'The shard has moved.' }
  return { code, status, retryable, message }
}

export function sdkError({ code, status, retryable, message }: Refusal): Fields {
  return { error: { message, type: code.toLowerCase(), code: status }, code, message, detail: message, retryable }
}

export function socketError({ code, retryable, message }: Refusal): Fields {
  return { code, message, retryable, apiCode: retryable ? 'SERVICE_UNAVAILABLE' : code }
}
