// Validates the fields of the form that creates an asset against the contract.
import type { CreateAssetRequest } from '../../../generated/types.ts'
import { formValidators } from '../../../generated/validators.js'
import { type Problem, ServiceError } from '../../errors.ts'
import { findWideIntegersInUtf8 } from '../../payloads/wide-integers.ts'
import { isDeeperThan, MAX_JSON_DEPTH } from '../../shared/json.ts'
import { findIllFormedTexts, toValidationProblems } from '../../shared/validation-problems.ts'

export type AssetFormFields = Omit<CreateAssetRequest, 'file'>

/** @throws INVALID_REQUEST with every problem */
export function validateAssetFields(fields: ReadonlyMap<string, string>): AssetFormFields {
  const { metadata, ...texts } = Object.fromEntries<string | undefined>(fields)
  const body = { ...texts, ...(metadata === undefined ? {} : { metadata: parseMetadata(metadata) }) }
  const value = { body }
  // The optional part `file` has to be a file, not a field.
  const fileProblems = fields.has('file') ? [{ path: '/body/file', message: 'has no filename: send it as a file' }] : []
  const valid = formValidators.createAsset(value)
  throwProblems([...fileProblems, ...(valid ? [] : toValidationProblems(formValidators.createAsset.errors ?? []))])
  return body as AssetFormFields
}

/** @throws INVALID_REQUEST for text that is no JSON, or that cannot be stored exactly */
function parseMetadata(text: string): unknown {
  const path = '/body/metadata'
  let metadata: unknown
  try {
    metadata = JSON.parse(text)
  } catch {
    return throwProblems([{ path, message: 'is not valid JSON' }])
  }
  if (isDeeperThan(metadata, MAX_JSON_DEPTH))
    throwProblems([{ path, message: `is nested deeper than ${MAX_JSON_DEPTH} levels` }])
  throwProblems(findIllFormedTexts(metadata, path))
  throwProblems(findWideIntegersInUtf8(Buffer.from(text), path))
  return metadata
}

function throwProblems(problems: readonly Problem[]): void {
  const [first] = problems
  if (first) throw new ServiceError('INVALID_REQUEST', { message: `${first.path}: ${first.message}`, problems })
}
