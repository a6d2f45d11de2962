// A submission with what its absent properties mean, and the hash by which a repeated one is known from another one.
import type { SubmitJobRequest } from '../../generated/types.ts'
import type { Scope } from '../db/scope.ts'
import { canonicalJson, sha256 } from '../json.ts'

/** Everything that makes one submission another one, and the key under which it is known. */
export interface NormalisedSubmission {
  readonly idempotency_key: string
  readonly workflow_id: string
  readonly workspace_id: string | null
  readonly workflow_etag: string
  readonly interface_version: 1
  readonly inputs: Readonly<Record<string, unknown>>
  readonly options: { readonly concurrent: boolean; readonly require_terminal_result: boolean }
}

/** Absent and null mean the same. An input that is null stays: for some inputs that is a value. */
export function normalised({ workspace_id: own }: Scope, request: SubmitJobRequest): NormalisedSubmission {
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

/** SHA-256 of what is asked for, whatever order its keys came in, and whichever attempt it is. */
export function hashOf({ idempotency_key: _, ...asked }: NormalisedSubmission): string {
  return sha256(canonicalJson({ lifecycle: 1, ...asked }))
}
