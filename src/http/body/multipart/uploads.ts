// Opens multipart/form-data bodies (RFC 7578) up to the bytes of their single file, with or without fields before it.
import type { IncomingMessage } from 'node:http'
import { essenceOf } from '../../../assets/content-type.ts'
import { ServiceError } from '../../../errors.ts'
import type { UploadStallDetector } from '../../../net/upload-stall-detector.ts'
import { fileTooLargeError, incompleteBodyError, MULTIPART_FORM_DATA } from '../upload-errors.ts'
import { FormFields, MAX_FIELD_BYTES } from './form-fields.ts'
import { type FormFile, FormParser } from './form-parser.ts'
import { formatClaimedType } from './part-head.ts'

/** A file that is being received. Dispose of it in any case: the unread rest is dropped. */
export interface FileUpload extends Disposable {
  readonly name: string | null
  /** The claimed type, with the charset as its only parameter. Null if it says nothing. */
  readonly content_type: string | null
  /** Can be read once. Throws a ServiceError for every fault of the request. */
  readonly bytes: AsyncIterable<Uint8Array>
}

/** Bytes of the envelope around the file: boundaries, headers, and the text before the first and behind the last boundary. */
export const MAX_ENVELOPE_BYTES = 65_536

/** @throws UNSUPPORTED_MEDIA_TYPE for a body that is not multipart/form-data */
export function requireMultipartForm({ headers }: IncomingMessage): void {
  const content_type = headers['content-type']
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (content_type !== undefined && essenceOf(content_type) === MULTIPART_FORM_DATA && coding === 'identity') return
  const fault = content_type === undefined ? 'The body has no Content-Type' : `The body is ${content_type}`
  const message =
    coding === 'identity' ? `${fault}; ${MULTIPART_FORM_DATA} is needed.` : `The body is encoded as ${coding}.`
  throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message })
}

export interface UploadLimits {
  /** Bytes of the file. */
  readonly largest: number
  readonly pace: UploadStallDetector
  /** Called when the form is complete, before its reader sees the end. Throws if the caller may no longer store it. */
  readonly confirm: () => Promise<void>
}

/**
 * Reads a request up to the bytes of its single file.
 * @throws INVALID_REQUEST if there is no such file, UPLOAD_TOO_LARGE if the announced length is too large
 */
export async function openFileUpload(incoming: IncomingMessage, limits: UploadLimits): Promise<FileUpload> {
  rejectAnnouncedSize(incoming, limits.largest, MAX_ENVELOPE_BYTES)
  const form = new FormParser(incoming, { ...limits, max_envelope_bytes: MAX_ENVELOPE_BYTES, fields: null })
  try {
    return createFileUpload(form, (await form.file)!)
  } catch (error) {
    form.fail(unreadUploadError())
    throw error
  }
}

/** Bytes of the envelope around the file of a form with fields. */
const MAX_FORM_ENVELOPE_BYTES = 4 * MAX_FIELD_BYTES

/** A form that is being received. Dispose of it in any case: the unread rest is dropped. */
export interface FormUpload extends Disposable {
  /** Each name once, in UTF-8. */
  readonly fields: ReadonlyMap<string, string>
  /** Null if the form has no file; such a form was validated to its end. */
  readonly file: FileUpload | null
}

/**
 * Reads a request up to the bytes of its file, which is the last part, or to its end if it has none. The file may be empty.
 * @throws INVALID_REQUEST for fields that are no UTF-8, too long or duplicate, UPLOAD_TOO_LARGE if the announced length or all fields are too large
 */
export async function openFormUpload(incoming: IncomingMessage, limits: UploadLimits): Promise<FormUpload> {
  rejectAnnouncedSize(incoming, limits.largest, MAX_FORM_ENVELOPE_BYTES)
  const fields = new FormFields()
  const form = new FormParser(incoming, { ...limits, max_envelope_bytes: MAX_FORM_ENVELOPE_BYTES, fields })
  try {
    const file = await form.file
    if (!file) await limits.confirm()
    return {
      fields: fields.values,
      file: file && createFileUpload(form, file),
      [Symbol.dispose]: () => form.fail(unreadUploadError()),
    }
  } catch (error) {
    form.fail(unreadUploadError())
    throw error
  }
}

function rejectAnnouncedSize({ headers }: IncomingMessage, largest: number, envelope_bytes: number): void {
  if (Number(headers['content-length'] ?? 0) > largest + envelope_bytes) throw fileTooLargeError(largest)
}

function createFileUpload(form: FormParser, { stream, head }: FormFile): FileUpload {
  return {
    name: head.filename,
    content_type: formatClaimedType(head.type, head.charset),
    bytes: form.bytes(stream),
    [Symbol.dispose]: () => form.fail(unreadUploadError()),
  }
}

function unreadUploadError(): ServiceError {
  return incompleteBodyError('was not read to its end')
}
