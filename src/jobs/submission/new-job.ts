// A submission as a job: its row, and the hash that tells a repeated request from another one.

import type { OwnerScope } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/schema.ts'
import type { Graph } from '../../engine/compile/graph.ts'
import type { Platform } from '../../platform.ts'
import type { RunDefaults } from '../../settings/definitions.ts'
import { canonicalHashSteps, sha256 } from '../../shared/hashes.ts'
import { canonicalJson } from '../../shared/json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import { DEFAULT_JOB_OPTIONS, type RequestedOptions, type StoredOptions } from './stored-options.ts'

/** A request for a run, the same from every door. `params_at` names where the parameters stood, for problems. */
export interface JobSubmission {
  workflow_id: string | null
  /** An inline graph wins over the workflow's own, and then the id is only a label. */
  graph: Graph | null
  params: Readonly<Record<string, unknown>>
  params_at: string
  /** The client's choice of an id, unique among its owner's jobs; null lets the server choose. */
  job_id: string | null
  /** Identifies the submission among its owner's, for as long as keys are kept; absent or null: it is not to be recognised. */
  idempotency_key?: string | null
  name: string | null
  /** False: waits behind a running job of the same workflow. Null: as the owner's settings have it, like the options that are null. */
  concurrent: boolean | null
  timeout_seconds: number | null
  options: RequestedOptions
  /** Whether the submitter will follow the job from the start. */
  hasFollower: boolean
  /** Whether values may be sent to its streamed inputs while it runs; otherwise they end at once. */
  acceptsStreamInput: boolean
  /** What admits it, where its door asks for more than the others do. */
  admission?: PreflightAdmission
}

export interface PreflightAdmission {
  /** Tells a repeated request from another one, in place of what `requestHash` says. */
  readonly request_sha256: string
  /** The workflow must still be this one. */
  readonly workflow_etag: string
  /** The preflight that it passed, as JSON text that may be shown. */
  readonly preflight: string
}

/**
 * SHA-256 of what a submission asks for, whatever order its keys came in. What it does not say counts as the service's own default: a change of
 * the owner's settings does not make another request of it.
 */
export function hashRequest(submission: JobSubmission): string {
  return sha256(canonicalJson(pickHashedFields(submission)))
}

/** The same in steps, for requests that are large. */
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

/** How a submission runs: as it says, else as its owner's settings say. */
export function resolveJobOptions(
  { options, concurrent, timeout_seconds, acceptsStreamInput: fed }: JobSubmission,
  defaults: RunDefaults,
): StoredOptions {
  return {
    persistence: options.persistence ?? defaults.persistence,
    event_detail: options.event_detail ?? defaults.event_detail,
    asset_persistence: options.asset_persistence ?? DEFAULT_JOB_OPTIONS.asset_persistence,
    concurrent: concurrent ?? defaults.concurrent,
    timeout_seconds: timeout_seconds ?? defaults.timeout_seconds,
    fed,
  }
}

export interface NewJobFields {
  key: number
  workflow_id: string
  revision: number | null
  compiled: CompiledWorkflowGraph
  /** Whether the graph came with the request. */
  inline: boolean
  request_sha256: string | null
  id: string | null
  name: string | null
  options: StoredOptions
  seed: number
  /** The preflight that admits it, as JSON text that may be shown. */
  preflight?: string | null
}

export const FIRST_ATTEMPT = 1

/** The row of a job that has just been admitted. */
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

/** 48 random bits. */
export function createSeed(platform: Platform): number {
  return Buffer.from(platform.secret(6), 'base64url').readUIntBE(0, 6)
}
