// What a caller says of an asset, judged by itself: what it names is found by places.ts.
import type { CreateAssetRequest } from '../../generated/types.ts'
import { type Problem, ServiceError } from '../errors.ts'
import { stringifyUpTo } from '../shared/incremental-json.ts'
import { cleanFileName } from './file-name.ts'
import type { AssetMetadata } from './metadata.ts'
import { FOLDER_CONTENT_TYPE } from './record.ts'

/** What is said of an asset besides its bytes. */
export type AssetCreationRequest = Omit<CreateAssetRequest, 'file'>

/** Bytes of JSON that an owner may say of one asset: a page of a list has all of them. */
const MOST_METADATA = 65_536

/** @throws INVALID_REQUEST with every problem, if there are any */
export function throwIfProblems(problems: readonly Problem[]): void {
  const [first] = problems
  if (first) throw new ServiceError('INVALID_REQUEST', { message: `${first.path}: ${first.message}`, problems })
}

/** A given name as it is kept, null where none is given. @throws INVALID_REQUEST where nothing is left of it */
export function validateAssetName(given: string | null | undefined): string | null {
  if (given === null || given === undefined) return null
  const name = cleanFileName(given)
  if (name === '') throwIfProblems([{ path: '/body/name', message: 'is no name of a file' }])
  return name
}

/** @throws INVALID_REQUEST for metadata that are too many */
export function validateAssetMetadata(metadata: AssetMetadata | null | undefined): void {
  if (!metadata || stringifyUpTo(metadata, MOST_METADATA) !== null) return
  throwIfProblems([{ path: '/body/metadata', message: `must have at most ${MOST_METADATA} bytes as JSON` }])
}

/** @throws INVALID_REQUEST for what does not go together, or is too much */
export function validateAssetCreation(request: AssetCreationRequest, has_file: boolean): void {
  throwIfProblems(findProblems(request, has_file))
  validateAssetName(request.name)
  validateAssetMetadata(request.metadata)
}

function findProblems(request: AssetCreationRequest, has_file: boolean): Problem[] {
  const problem = (member: string, message: string): Problem => ({ path: `/body/${member}`, message })
  if (request.content_type !== FOLDER_CONTENT_TYPE) {
    if (has_file && request.uri) return [problem('uri', 'names bytes besides those of the part file')]
    return has_file || request.uri ? [] : [problem('file', 'is required')]
  }
  const named = request.name ? [] : [problem('name', 'is required')]
  const extra = FILE_ONLY_MEMBERS.filter((member) => request[member]).map((member) =>
    problem(member, 'is not for folders'),
  )
  return [...named, ...extra, ...(has_file ? [problem('file', 'is not for folders')] : [])]
}

const FILE_ONLY_MEMBERS = ['uri', 'sha256', 'replaces', 'job_id'] as const

/** @throws INVALID_REQUEST where the bytes have another digest than the request says */
export function validateAssetDigest({ sha256 }: AssetCreationRequest, found: string): void {
  if (sha256 && sha256 !== found) throwIfProblems([{ path: '/body/sha256', message: 'is not the digest of the bytes' }])
}
