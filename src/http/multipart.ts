// Bodies as multipart/form-data (RFC 7578) up to the bytes of their one file: that file alone, or with fields before it.
import type { IncomingMessage } from 'node:http'
import { essenceOf } from '../assets/content-type.ts'
import { ServiceError } from '../errors.ts'
import type { UploadPace } from '../net/upload-pace.ts'
import { Form, type SentFile } from './form.ts'
import { broken, FORM, tooLarge } from './form-faults.ts'
import { Fields, LARGEST_FIELD } from './form-fields.ts'
import { claimOf } from './part-head.ts'

/** A file that is being sent. Dispose of it, whatever came of it: what was not read is dropped. */
export interface Upload extends Disposable {
  readonly name: string | null
  /** As it is claimed, of its parameters the charset alone. Null where that tells nothing. */
  readonly content_type: string | null
  /** Read once. Throws a ServiceError for everything that is wrong with the request. */
  readonly bytes: AsyncIterable<Uint8Array>
}

/** Bytes that may come around the file: boundaries, headers, and what stands before the first and behind the last of them. */
export const AROUND = 65_536

/** @throws UNSUPPORTED_MEDIA_TYPE for a body that is no multipart/form-data */
export function requireForm({ headers }: IncomingMessage): void {
  const given = headers['content-type']
  const coding = headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (given !== undefined && essenceOf(given) === FORM && coding === 'identity') return
  const what = given === undefined ? 'The body has no Content-Type' : `The body is ${given}`
  const message = coding === 'identity' ? `${what}; ${FORM} is needed.` : `The body is encoded as ${coding}.`
  throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message })
}

export interface UploadLimits {
  /** Bytes of the file. */
  readonly largest: number
  readonly pace: UploadPace
}

/**
 * Reads a request up to the bytes of its one file.
 * @throws INVALID_REQUEST where there is no such file, UPLOAD_TOO_LARGE where more is announced
 */
export async function openUpload(incoming: IncomingMessage, limits: UploadLimits): Promise<Upload> {
  refuseAnnounced(incoming, limits.largest, AROUND)
  const form = new Form(incoming, { ...limits, around: AROUND, fields: null })
  try {
    return uploadOf(form, (await form.file)!)
  } catch (error) {
    form.fail(notRead())
    throw error
  }
}

/** Bytes that may come around the file of a form with fields. */
const AROUND_FIELDS = 4 * LARGEST_FIELD

/** A form that is being sent. Dispose of it, whatever came of it: what was not read is dropped. */
export interface SentForm extends Disposable {
  /** Each once, in UTF-8. */
  readonly fields: ReadonlyMap<string, string>
  /** Null where the form has none, and then it was found good. */
  readonly file: Upload | null
}

/**
 * Reads a request up to the bytes of its file, which is the last part, or to its end where there is none. A file may have no bytes.
 * @throws INVALID_REQUEST for fields that are no texts, too long, or there twice, UPLOAD_TOO_LARGE where more is announced, or all fields are too much
 */
export async function openForm(incoming: IncomingMessage, limits: UploadLimits): Promise<SentForm> {
  refuseAnnounced(incoming, limits.largest, AROUND_FIELDS)
  const fields = new Fields()
  const form = new Form(incoming, { ...limits, around: AROUND_FIELDS, fields })
  try {
    const file = await form.file
    return {
      fields: await fields.values(),
      file: file && uploadOf(form, file),
      [Symbol.dispose]: () => form.fail(notRead()),
    }
  } catch (error) {
    form.fail(notRead())
    throw error
  }
}

function refuseAnnounced({ headers }: IncomingMessage, largest: number, around: number): void {
  if (Number(headers['content-length'] ?? 0) > largest + around) throw tooLarge(largest)
}

function uploadOf(form: Form, { stream, info, charset }: SentFile): Upload {
  return {
    name: info.filename ?? null,
    content_type: claimOf(info.mimeType.toLowerCase(), charset),
    bytes: form.bytes(stream),
    [Symbol.dispose]: () => form.fail(notRead()),
  }
}

function notRead(): ServiceError {
  return broken('was not read to its end')
}
