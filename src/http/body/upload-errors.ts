// Errors of uploads: bodies with a single file.
import type { FileInfo } from 'busboy'
import { ServiceError } from '../../errors.ts'

export const MULTIPART_FORM_DATA = 'multipart/form-data'
export const FILE_PART_NAME = 'file'
/** Content-Transfer-Encodings that leave bytes unchanged (RFC 7578, section 4.7). */
export const PLAIN_TRANSFER_ENCODINGS = ['7bit', '8bit', 'binary']

/** The error of the `count`th file of a form, or null. */
export function validateFilePart(
  name: string | undefined,
  { mimeType, encoding }: FileInfo,
  count: number,
): ServiceError | null {
  const path = `/body/${FILE_PART_NAME}`
  if (name !== FILE_PART_NAME) return invalidInputError('/body', `contains a file that is not named ${FILE_PART_NAME}`)
  if (count > 1) return invalidInputError(path, 'occurs more than once')
  if (/^multipart\//i.test(mimeType)) return invalidInputError(path, 'contains several parts; send a single file')
  return PLAIN_TRANSFER_ENCODINGS.includes(encoding)
    ? null
    : invalidInputError(path, 'has a Content-Transfer-Encoding; send the bytes unencoded')
}

export function invalidInputError(path: string, message: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }], cause })
}

/** The error of a part that the parser skips. */
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

/** Translates an error of the form parser. */
export function malformedFormError(cause: unknown): ServiceError {
  return invalidInputError(
    '/body',
    /end of/.test(String(cause)) ? 'ends before its last boundary' : `is not valid ${MULTIPART_FORM_DATA}`,
    cause,
  )
}

export function missingBoundaryError(cause: unknown): ServiceError {
  const message = 'has no boundary'
  return new ServiceError('INVALID_REQUEST', {
    message: `The Content-Type of the body ${message}.`,
    problems: [{ path: '/headers/content-type', message }],
    cause,
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
