// Normalizes submissions by filling in absent properties, and computes the hash that distinguishes a repeated submission from another one.
import type { SubmitJobRequest } from '../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import { canonicalHashSteps, sha256 } from '../shared/hashes.ts'
import { canonicalJson } from '../shared/json.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import { isSmallValue } from '../shared/value-size.ts'

/** Everything that distinguishes one submission from another, and its key. */
export interface NormalizedSubmission {
  readonly idempotency_key: string
  readonly workflow_id: string
  readonly workspace_id: string | null
  readonly workflow_etag: string
  readonly interface_version: 1
  readonly inputs: Readonly<Record<string, unknown>>
  readonly options: { readonly concurrent: boolean; readonly require_terminal_result: boolean }
}

/** Absent and null mean the same, except that an input which is null stays: for some inputs null is a value. */
export function normalizeSubmission(
  { workspace_id: own }: OwnerScope,
  request: SubmitJobRequest,
): NormalizedSubmission {
  const { idempotency_key, workflow_id, workspace_id, workflow_etag, interface_version, inputs, options } = request
  return {
    idempotency_key,
    workflow_id,
    workspace_id: workspace_id ?? own,
    workflow_etag,
    interface_version,
    inputs: inputs ?? {},
    options: {
      concurrent: options?.concurrent ?? false,
      require_terminal_result: options?.require_terminal_result ?? true,
    },
  }
}

/**
 * Computes the SHA-256 of a submission. The order of keys and the attempt do not matter. For large inputs it runs in time slices of the
 * owner.
 */
export function hashSubmission(
  slices: Pick<TimeSliceScheduler, 'run'>,
  owner: OwnerScope,
  { idempotency_key: _, ...request }: NormalizedSubmission,
): string | Promise<string> {
  const asked = { lifecycle: 1, ...request }
  return isSmallValue(request.inputs)
    ? sha256(canonicalJson(asked))
    : slices.run(userShareKey(owner), canonicalHashSteps(asked))
}
