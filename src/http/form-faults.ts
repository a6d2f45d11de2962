// What may be wrong with a body of one file, as answers.
import type { FileInfo } from 'busboy'
import { ServiceError } from '../errors.ts'

export const FORM = 'multipart/form-data'
export const PART = 'file'
/** Content-Transfer-Encodings under which bytes are what they are (RFC 7578, section 4.7). */
export const PLAIN = ['7bit', '8bit', 'binary']

/** What is wrong with a file of a form, the `count`th; null where nothing is. */
export function wrongWith(
  name: string | undefined,
  { mimeType, encoding }: FileInfo,
  count: number,
): ServiceError | null {
  const path = `/body/${PART}`
  if (name !== PART) return bad('/body', `holds a file that is not named ${PART}`)
  if (count > 1) return bad(path, 'is there more than once')
  if (/^multipart\//i.test(mimeType)) return bad(path, 'holds several parts; one file is needed')
  return PLAIN.includes(encoding) ? null : bad(path, 'has a Content-Transfer-Encoding; bytes are sent as they are')
}

export function bad(path: string, message: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, problems: [{ path, message }], cause })
}

/** Of a part that the parser leaves out. */
export function notOfForm(): ServiceError {
  return bad('/body', 'holds a part without a valid Content-Disposition: form-data')
}

/** Of what stands between the file and the end of the form. */
export function notLast(): ServiceError {
  return bad('/body', 'holds more behind the file, which comes last')
}

/** Of a body that did not come whole. */
export function broken(how: string): ServiceError {
  return bad('/body', how)
}

/** What the parser says of a body. */
export function malformed(cause: unknown): ServiceError {
  return bad('/body', /end of/.test(String(cause)) ? 'ends before its last boundary' : `is not valid ${FORM}`, cause)
}

export function noBoundary(cause: unknown): ServiceError {
  const message = 'has no boundary'
  return new ServiceError('INVALID_REQUEST', {
    message: `The Content-Type of the body ${message}.`,
    problems: [{ path: '/headers/content-type', message }],
    cause,
  })
}

export function tooLarge(largest: number): ServiceError {
  return new ServiceError('UPLOAD_TOO_LARGE', { message: `The file is larger than ${largest} bytes.` })
}

export function tooMuchAround(most: number): ServiceError {
  return new ServiceError('UPLOAD_TOO_LARGE', { message: `More than ${most} bytes stand around the file.` })
}
