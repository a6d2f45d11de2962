// Forms that make assets: the fields before the file, judged by the contract.
import type { CreateAssetRequest } from '../../generated/types.ts'
import { formValidators } from '../../generated/validators.js'
import { type Problem, ServiceError } from '../errors.ts'
import { deeperThan, MAX_DEPTH } from '../json.ts'
import { wideInUtf8 } from '../payloads/wide-integers.ts'
import { illFormedTexts, problemsOf } from '../problems.ts'

export type AssetFields = Omit<CreateAssetRequest, 'file'>

/** @throws INVALID_REQUEST with every problem */
export function assetFields(fields: ReadonlyMap<string, string>): AssetFields {
  const { metadata, ...texts } = Object.fromEntries<string | undefined>(fields)
  const body = { ...texts, ...(metadata === undefined ? {} : { metadata: metadataOf(metadata) }) }
  const value = { body }
  // The part `file` is no field, and is there or not.
  const stray = fields.has('file')
    ? [{ path: '/body/file', message: 'has no filename: it is to be sent as a file' }]
    : []
  const valid = formValidators.createAsset(value)
  refuse([...stray, ...(valid ? [] : problemsOf(formValidators.createAsset.errors ?? []))])
  return body as AssetFields
}

/** @throws INVALID_REQUEST for what is no JSON that may be kept */
function metadataOf(text: string): unknown {
  const path = '/body/metadata'
  let metadata: unknown
  try {
    metadata = JSON.parse(text)
  } catch {
    return refuse([{ path, message: 'is not valid JSON' }])
  }
  if (deeperThan(metadata, MAX_DEPTH)) refuse([{ path, message: `is nested deeper than ${MAX_DEPTH} levels` }])
  refuse(illFormedTexts(metadata, path))
  refuse(wideInUtf8(Buffer.from(text), path))
  return metadata
}

function refuse(problems: readonly Problem[]): void {
  const [first] = problems
  if (first) throw new ServiceError('INVALID_REQUEST', { message: `${first.path}: ${first.message}`, problems })
}
