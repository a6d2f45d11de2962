// What a caller names when an asset is made or moved: folders, workflows, jobs, other assets. What is not the caller's is missing like what does not exist.
import { ownedAssetById } from '../db/assets.ts'
import { ownedJob } from '../db/jobs.ts'
import type { AssetTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Tx } from '../db/store.ts'
import { ownedWorkflow } from '../db/workflows.ts'
import { ServiceError } from '../errors.ts'
import { type MakingRequest, requiredName } from './judging.ts'
import { ROOT } from './listing.ts'
import { FOLDER } from './record.ts'

/** Of something that a member of a body names. */
export function missing(member: string, message: string): ServiceError {
  return new ServiceError('NOT_FOUND', { message, problems: [{ path: `/body/${member}`, message }] })
}

/** The folder that a caller names, null for the top level. @throws NOT_FOUND */
export function folderOf(tx: Tx, owner: Scope, parent_id: string): string | null {
  if (parent_id === ROOT) return null
  if (ownedAssetById(tx, owner, parent_id)?.content_type !== FOLDER)
    throw missing('parent_id', 'There is no such folder.')
  return parent_id
}

/** @throws NOT_FOUND */
function requireMakers(tx: Tx, owner: Scope, { workflow_id, job_id }: MakingRequest): void {
  if (workflow_id && !ownedWorkflow(tx, owner, workflow_id)) throw missing('workflow_id', 'There is no such workflow.')
  if (job_id && !ownedJob(tx, owner, job_id)) throw missing('job_id', 'There is no such job.')
}

export interface Place {
  /** Null where only the bytes' own name is known. */
  readonly name: string | null
  readonly parent_id: string | null
  readonly replaced: AssetTable | null
}

/** Where an asset is to be, of which only what is the caller's counts. @throws NOT_FOUND, CONFLICT for a folder to replace */
export function placeOf(tx: Tx, owner: Scope, request: MakingRequest): Place {
  const replaced = request.replaces ? (ownedAssetById(tx, owner, request.replaces) ?? null) : null
  if (request.replaces && !replaced) throw missing('replaces', 'There is no such asset to replace.')
  if (replaced?.content_type === FOLDER)
    throw new ServiceError('CONFLICT', { message: 'A folder cannot be replaced: delete it, or make another.' })
  requireMakers(tx, owner, request)
  const parent_id = request.parent_id ? folderOf(tx, owner, request.parent_id) : (replaced?.parent_id ?? null)
  return { name: requiredName(request.name) ?? replaced?.name ?? null, parent_id, replaced }
}
