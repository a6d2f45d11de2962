// Validates requests to create assets by themselves. placement.ts looks up the items that they name.
import type { CreateAssetRequest } from '../../generated/types.ts'
import { type Problem, ServiceError } from '../errors.ts'
import { stringifyUpTo } from '../shared/incremental-json.ts'
import { cleanFileName } from './file-name.ts'
import type { AssetMetadata } from './metadata.ts'
import { FOLDER_CONTENT_TYPE } from './record.ts'

/** The request without the bytes. */
export type AssetCreationRequest = Omit<CreateAssetRequest, 'file'>

/** Bytes of JSON that the metadata of one asset may have, because a page of a list includes all of them. */
const MOST_METADATA = 65_536

/** @throws INVALID_REQUEST with every problem, if there are any */
export function throwIfProblems(problems: readonly Problem[]): void {
  const [first] = problems
  if (first) throw new ServiceError('INVALID_REQUEST', { message: `${first.path}: ${first.message}`, problems })
}

/** Returns a given name as it is stored, or null if none is given. @throws INVALID_REQUEST if no characters of it are left */
export function validateAssetName(given: string | null | undefined): string | null {
  if (given === null || given === undefined) return null
  const name = cleanFileName(given)
  if (name === '') throwIfProblems([{ path: '/body/name', message: 'is not a valid file name' }])
  return name
}

/** @throws INVALID_REQUEST for metadata that are too large */
export function validateAssetMetadata(metadata: AssetMetadata | null | undefined): void {
  if (!metadata || stringifyUpTo(metadata, MOST_METADATA) !== null) return
  throwIfProblems([{ path: '/body/metadata', message: `must have at most ${MOST_METADATA} bytes as JSON` }])
}

/** @throws INVALID_REQUEST for members that conflict or are too large */
export function validateAssetCreation(request: AssetCreationRequest, has_file: boolean): void {
  throwIfProblems(findProblems(request, has_file))
  validateAssetName(request.name)
  validateAssetMetadata(request.metadata)
}

function findProblems(request: AssetCreationRequest, has_file: boolean): Problem[] {
  const problem = (member: string, message: string): Problem => ({ path: `/body/${member}`, message })
  if (request.content_type !== FOLDER_CONTENT_TYPE) {
    if (has_file && request.uri) return [problem('uri', 'cannot be combined with the part file')]
    return has_file || request.uri ? [] : [problem('file', 'is required')]
  }
  const named = request.name ? [] : [problem('name', 'is required')]
  const extra = FILE_ONLY_MEMBERS.filter((member) => request[member]).map((member) =>
    problem(member, 'is not allowed for a folder'),
  )
  return [...named, ...extra, ...(has_file ? [problem('file', 'is not allowed for a folder')] : [])]
}

const FILE_ONLY_MEMBERS = ['uri', 'sha256', 'replaces', 'job_id'] as const

/** @throws INVALID_REQUEST if the bytes have another digest than the request says */
export function validateAssetDigest({ sha256 }: AssetCreationRequest, found: string): void {
  if (sha256 && sha256 !== found) throwIfProblems([{ path: '/body/sha256', message: 'is not the digest of the bytes' }])
}
