// Turns a submission into a job: builds its row, and the hash that identifies a repeated request.

import type { OwnerScope } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Graph } from '../../engine/compile/graph.ts'
import type { Platform } from '../../platform.ts'
import type { RunDefaults } from '../../settings/definitions.ts'
import { canonicalHashSteps, sha256 } from '../../shared/hashes.ts'
import { canonicalJson } from '../../shared/json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import { DEFAULT_JOB_OPTIONS, type RequestedOptions, type StoredOptions } from './stored-options.ts'

/** A request for a run, the same for every transport. `params_at` is the JSON pointer of the parameters, for problems. */
export interface JobSubmission {
  workflow_id: string | null
  /** An inline graph overrides the workflow's own, and the workflow id is then only a label. */
  graph: Graph | null
  params: Readonly<Record<string, unknown>>
  params_at: string
  /** The id chosen by the client, unique among its owner's jobs; null: the server chooses. */
  job_id: string | null
  /** Identifies the submission among those of its owner, while keys are stored. Absent or null: repeats are not recognised. */
  idempotency_key?: string | null
  name: string | null
  /** False: the job waits behind a running job of the same workflow. Null: the owner's setting, as for other options that are null. */
  concurrent: boolean | null
  timeout_seconds: number | null
  options: RequestedOptions
  hasFollower: boolean
  /** Whether clients may send values to the streamed inputs during the run; otherwise the inputs end at once. */
  acceptsStreamInput: boolean
  /** The accepted preflight, where the transport requires one. */
  admission?: PreflightAdmission
}

/** A submission without a name of its own. Its job is always a new one. */
export type UnkeyedSubmission = JobSubmission & { job_id: null; idempotency_key?: null }

export interface PreflightAdmission {
  /** Identifies a repeated request, in place of `hashRequest`. */
  readonly request_sha256: string
  /** The submission is refused where the workflow has another etag now. */
  readonly workflow_etag: string
  /** The accepted preflight, as redacted JSON text. */
  readonly preflight: string
}

/**
 * SHA-256 of a submission, independent of the order of keys. Missing options count as the service's own defaults, so that changed settings of the owner
 * do not change the hash.
 */
export function hashRequest(submission: JobSubmission): string {
  return sha256(canonicalJson(pickHashedFields(submission)))
}

/** `hashRequest` in steps, for large requests. */
export function hashRequestSteps(submission: JobSubmission): Steps<string> {
  return canonicalHashSteps(pickHashedFields(submission))
}

function pickHashedFields({ workflow_id, graph, params, name, timeout_seconds, ...given }: JobSubmission): object {
  const concurrent = given.concurrent ?? DEFAULT_JOB_OPTIONS.concurrent
  const options = {
    persistence: given.options.persistence ?? DEFAULT_JOB_OPTIONS.persistence,
    event_detail: given.options.event_detail ?? DEFAULT_JOB_OPTIONS.event_detail,
    asset_persistence: given.options.asset_persistence ?? DEFAULT_JOB_OPTIONS.asset_persistence,
  }
  return { workflow_id, graph, params, name, concurrent, timeout_seconds, options }
}

/** The options of a submission, completed by the settings of its owner. */
export function resolveJobOptions(
  { options, concurrent, timeout_seconds, acceptsStreamInput }: JobSubmission,
  defaults: RunDefaults,
): StoredOptions {
  return {
    persistence: options.persistence ?? defaults.persistence,
    event_detail: options.event_detail ?? defaults.event_detail,
    asset_persistence: options.asset_persistence ?? DEFAULT_JOB_OPTIONS.asset_persistence,
    concurrent: concurrent ?? defaults.concurrent,
    timeout_seconds: timeout_seconds ?? defaults.timeout_seconds,
    fed: acceptsStreamInput,
  }
}

export interface NewJobFields {
  key: number
  workflow_id: string
  revision: number | null
  compiled: CompiledWorkflowGraph
  /** Whether the graph came with the request. */
  inline: boolean
  /** As `RequestDigests` protects it. */
  request_sha256: string | null
  id: string | null
  name: string | null
  options: StoredOptions
  seed: number
  /** The accepted preflight, as redacted JSON text. */
  preflight?: string | null
}

export const FIRST_ATTEMPT = 1

/** The row of a new job. */
export function createJobRow(scope: OwnerScope, of: NewJobFields, platform: Platform): JobTable {
  const now = platform.timestamp()
  return {
    key: of.key,
    id: of.id ?? platform.id('job'),
    user_id: scope.user_id,
    workspace_id: scope.workspace_id,
    workflow_id: of.workflow_id,
    workflow_etag: of.inline ? null : of.compiled.etag,
    workflow_revision: of.revision,
    graph_sha256: of.compiled.sha256,
    name: of.name,
    status: 'pending',
    request_sha256: of.request_sha256,
    options: JSON.stringify(of.options),
    attempt: FIRST_ATTEMPT,
    last_sequence: 0,
    error: null,
    result: null,
    created_at: now,
    updated_at: now,
    started_at: null,
    finished_at: null,
    seed: of.seed,
    waiting: null,
    wake_at: null,
    preflight: of.preflight ?? null,
    result_parts: null,
  }
}

/** Returns 48 random bits. */
export function createSeed(platform: Platform): number {
  return Buffer.from(platform.secret(6), 'base64url').readUIntBE(0, 6)
}
