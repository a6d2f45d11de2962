// What a caller says of an asset, judged by itself: what it names is found by places.ts.
import type { CreateAssetRequest } from '../../generated/types.ts'
import { type Problem, ServiceError } from '../errors.ts'
import { jsonTextWithin } from '../json-steps.ts'
import { cleanName } from './file-name.ts'
import type { Metadata } from './metadata.ts'
import { FOLDER } from './record.ts'

/** What is said of an asset besides its bytes. */
export type MakingRequest = Omit<CreateAssetRequest, 'file'>

/** Bytes of JSON that an owner may say of one asset: a page of a list has all of them. */
const MOST_METADATA = 65_536

/** @throws INVALID_REQUEST with every problem, if there are any */
export function refuse(problems: readonly Problem[]): void {
  const [first] = problems
  if (first) throw new ServiceError('INVALID_REQUEST', { message: `${first.path}: ${first.message}`, problems })
}

/** A given name as it is kept, null where none is given. @throws INVALID_REQUEST where nothing is left of it */
export function requiredName(given: string | null | undefined): string | null {
  if (given === null || given === undefined) return null
  const name = cleanName(given)
  if (name === '') refuse([{ path: '/body/name', message: 'is no name of a file' }])
  return name
}

/** @throws INVALID_REQUEST for metadata that are too many */
export function requireMetadata(metadata: Metadata | null | undefined): void {
  if (!metadata || jsonTextWithin(metadata, MOST_METADATA) !== null) return
  refuse([{ path: '/body/metadata', message: `must have at most ${MOST_METADATA} bytes as JSON` }])
}

/** @throws INVALID_REQUEST for what does not go together, or is too much */
export function refuseUnfit(request: MakingRequest, has_file: boolean): void {
  refuse(problemsOf(request, has_file))
  requiredName(request.name)
  requireMetadata(request.metadata)
}

function problemsOf(request: MakingRequest, has_file: boolean): Problem[] {
  const problem = (member: string, message: string): Problem => ({ path: `/body/${member}`, message })
  if (request.content_type !== FOLDER) {
    if (has_file && request.uri) return [problem('uri', 'names bytes besides those of the part file')]
    return has_file || request.uri ? [] : [problem('file', 'is required')]
  }
  const named = request.name ? [] : [problem('name', 'is required')]
  const extra = NOT_OF_FOLDERS.filter((member) => request[member]).map((member) =>
    problem(member, 'is not for folders'),
  )
  return [...named, ...extra, ...(has_file ? [problem('file', 'is not for folders')] : [])]
}

const NOT_OF_FOLDERS = ['uri', 'sha256', 'replaces', 'job_id'] as const

/** @throws INVALID_REQUEST where the bytes have another digest than the request says */
export function requireDigest({ sha256 }: MakingRequest, found: string): void {
  if (sha256 && sha256 !== found) refuse([{ path: '/body/sha256', message: 'is not the digest of the bytes' }])
}
