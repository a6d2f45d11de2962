// Errors of uploads: bodies with a single file.
import { ServiceError } from '../../errors.ts'
import type { PartHead } from './multipart/part-head.ts'

export const MULTIPART_FORM_DATA = 'multipart/form-data'
export const FILE_PART_NAME = 'file'
/** Content-Transfer-Encodings that leave bytes unchanged (RFC 7578, section 4.7). */
export const PLAIN_TRANSFER_ENCODINGS = ['7bit', '8bit', 'binary']

/** @throws INVALID_REQUEST if the `count`th file of a form is not valid */
export function validateFilePart({ name, type, encoding }: PartHead, count: number): void {
  const path = `/body/${FILE_PART_NAME}`
  if (name !== FILE_PART_NAME) throw invalidInputError('/body', `contains a file that is not named ${FILE_PART_NAME}`)
  if (count > 1) throw invalidInputError(path, 'occurs more than once')
  if (type.startsWith('multipart/')) throw invalidInputError(path, 'contains several parts; send a single file')
  if (!PLAIN_TRANSFER_ENCODINGS.includes(encoding))
    throw invalidInputError(path, 'has a Content-Transfer-Encoding; send the bytes unencoded')
}

export function invalidInputError(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }] })
}

/** The error of a part that is not labelled as form data. */
export function notFormDataError(): ServiceError {
  return invalidInputError('/body', 'contains a part without a valid Content-Disposition: form-data')
}

/** The error if data follows the file. */
export function fileNotLastError(): ServiceError {
  return invalidInputError('/body', 'contains data after the file, which must be the last part')
}

/** The error of a body that was not received whole. */
export function incompleteBodyError(how: string): ServiceError {
  return invalidInputError('/body', how)
}

export function malformedFormError(): ServiceError {
  return invalidInputError('/body', `is not valid ${MULTIPART_FORM_DATA}`)
}

export function missingBoundaryError(): ServiceError {
  const message = 'has no boundary'
  return new ServiceError('INVALID_REQUEST', {
    message: `The Content-Type of the body ${message}.`,
    problems: [{ path: '/headers/content-type', message }],
  })
}

export function fileTooLargeError(max_bytes: number): ServiceError {
  return new ServiceError('UPLOAD_TOO_LARGE', { message: `The file is larger than ${max_bytes} bytes.` })
}

export function envelopeTooLargeError(max_bytes: number): ServiceError {
  return new ServiceError('UPLOAD_TOO_LARGE', {
    message: `The envelope around the file is larger than ${max_bytes} bytes.`,
  })
}
