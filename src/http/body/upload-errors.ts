// What may be wrong with a body of one file, as answers.
import type { FileInfo } from 'busboy'
import { ServiceError } from '../../errors.ts'

export const MULTIPART_FORM_DATA = 'multipart/form-data'
export const FILE_PART_NAME = 'file'
/** Content-Transfer-Encodings under which bytes are what they are (RFC 7578, section 4.7). */
export const PLAIN_TRANSFER_ENCODINGS = ['7bit', '8bit', 'binary']

/** What is wrong with a file of a form, the `count`th; null where nothing is. */
export function validateFilePart(
  name: string | undefined,
  { mimeType, encoding }: FileInfo,
  count: number,
): ServiceError | null {
  const path = `/body/${FILE_PART_NAME}`
  if (name !== FILE_PART_NAME) return invalidInputError('/body', `holds a file that is not named ${FILE_PART_NAME}`)
  if (count > 1) return invalidInputError(path, 'is there more than once')
  if (/^multipart\//i.test(mimeType)) return invalidInputError(path, 'holds several parts; one file is needed')
  return PLAIN_TRANSFER_ENCODINGS.includes(encoding)
    ? null
    : invalidInputError(path, 'has a Content-Transfer-Encoding; bytes are sent as they are')
}

export function invalidInputError(path: string, message: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }], cause })
}

/** Of a part that the parser leaves out. */
export function notFormDataError(): ServiceError {
  return invalidInputError('/body', 'holds a part without a valid Content-Disposition: form-data')
}

/** Of what stands between the file and the end of the form. */
export function fileNotLastError(): ServiceError {
  return invalidInputError('/body', 'holds more behind the file, which comes last')
}

/** Of a body that did not come whole. */
export function incompleteBodyError(how: string): ServiceError {
  return invalidInputError('/body', how)
}

/** What the parser says of a body. */
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
  return new ServiceError('UPLOAD_TOO_LARGE', { message: `More than ${max_bytes} bytes stand around the file.` })
}
