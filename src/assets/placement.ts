// Resolves what a caller names when an asset is created or moved: folders, workflows, jobs, other assets. Items of other owners are
// reported like items that do not exist.
import { findOwnedAsset } from '../db/assets/rows.ts'
import { findOwnedJob } from '../db/jobs/rows.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Tx } from '../db/store.ts'
import type { AssetTable } from '../db/tables/assets.ts'
import { findOwnedWorkflow } from '../db/workflows.ts'
import { ServiceError } from '../errors.ts'
import { ROOT_FOLDER_ID } from './list-request.ts'
import { FOLDER_CONTENT_TYPE } from './record.ts'
import { type AssetCreationRequest, validateAssetName } from './request-validation.ts'

/** Builds NOT_FOUND for an item that a member of the body names. */
export function referenceNotFound(member: string, message: string): ServiceError {
  return new ServiceError('NOT_FOUND', { message, problems: [{ path: `/body/${member}`, message }] })
}

/** Returns the id of a folder, or null for the top level. @throws NOT_FOUND */
export function resolveFolder(tx: Tx, owner: OwnerScope, parent_id: string): string | null {
  if (parent_id === ROOT_FOLDER_ID) return null
  if (findOwnedAsset(tx, owner, parent_id)?.content_type !== FOLDER_CONTENT_TYPE)
    throw referenceNotFound('parent_id', 'There is no such folder.')
  return parent_id
}

/** @throws NOT_FOUND */
function requireSources(tx: Tx, owner: OwnerScope, { workflow_id, job_id }: AssetCreationRequest): void {
  if (workflow_id && !findOwnedWorkflow(tx, owner, workflow_id))
    throw referenceNotFound('workflow_id', 'There is no such workflow.')
  if (job_id && !findOwnedJob(tx, owner, job_id)) throw referenceNotFound('job_id', 'There is no such job.')
}

export interface AssetPlacement {
  /** Null if the request names none: then the upload's own name applies. */
  readonly name: string | null
  readonly parent_id: string | null
  readonly replaced: AssetTable | null
}

/** Returns where a new asset belongs. Only items of the caller are found. @throws NOT_FOUND, CONFLICT for a folder to replace */
export function resolvePlacement(tx: Tx, owner: OwnerScope, request: AssetCreationRequest): AssetPlacement {
  const replaced = request.replaces ? (findOwnedAsset(tx, owner, request.replaces) ?? null) : null
  if (request.replaces && !replaced) throw referenceNotFound('replaces', 'There is no such asset to replace.')
  if (replaced?.content_type === FOLDER_CONTENT_TYPE)
    throw new ServiceError('CONFLICT', { message: 'A folder cannot be replaced: delete it, or make another.' })
  requireSources(tx, owner, request)
  const parent_id = request.parent_id ? resolveFolder(tx, owner, request.parent_id) : (replaced?.parent_id ?? null)
  return { name: validateAssetName(request.name) ?? replaced?.name ?? null, parent_id, replaced }
}
