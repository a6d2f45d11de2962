// Parses a form while it comes, and makes the errors of all its faults. The stream of the file ends only when the whole request is valid.
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy, { type FieldInfo, type FileInfo } from 'busboy'
import type { ServiceError } from '../../../errors.ts'
import type { UploadStallDetector } from '../../../net/upload-stall-detector.ts'
import { sendContinue } from '../../connection/expect-continue.ts'
import { onBodyFailure } from '../../connection/malformed-requests.ts'
import {
  envelopeTooLargeError,
  FILE_PART_NAME,
  fileNotLastError,
  fileTooLargeError,
  incompleteBodyError,
  invalidInputError,
  malformedFormError,
  missingBoundaryError,
  notFormDataError,
  validateFilePart,
} from '../upload-errors.ts'
import { MultipartEnvelope } from './envelope.ts'
import { type FormFields, fieldPath, MAX_FIELD_BYTES, MAX_FIELDS, validateFieldBytes } from './form-fields.ts'
import { parsePartCharset } from './part-headers.ts'

/** The file of a form. */
export interface FormFile {
  readonly stream: Readable
  readonly info: FileInfo
  readonly charset: string | null
}

export interface FormLimits {
  /** Bytes of the file. */
  readonly largest: number
  readonly pace: UploadStallDetector
  /** Bytes of the envelope around the file. */
  readonly max_envelope_bytes: number
  /** Collects the parts before the file; null if the file has to be the only part. */
  readonly fields: FormFields | null
}

export class FormParser {
  readonly #incoming: IncomingMessage
  readonly #limits: FormLimits
  readonly #parser: busboy.Busboy
  readonly #file = Promise.withResolvers<FormFile | null>()
  readonly #completion = Promise.withResolvers<void>()
  /** The first fault, once there is one. */
  #error: ServiceError | null = null
  readonly #paceWatch: Disposable
  #hasEnded = false
  readonly #envelope: MultipartEnvelope
  #fileCount = 0
  /** Parts before the file. */
  #fieldCount = 0

  constructor(incoming: IncomingMessage, limits: FormLimits) {
    const { fields, pace } = limits
    this.#incoming = incoming
    this.#limits = limits
    this.#parser = createParser(incoming, fields ? FIELDS_LIMITS : FILE_LIMITS)
    this.#envelope = new MultipartEnvelope(incoming.headers['content-type']!, limits.max_envelope_bytes)
    this.#paceWatch = pace.watch(incoming, () => this.fail(incompleteBodyError('came to a halt')))
    // The reader awaits one of these promises; a rejection of the other must not end the process.
    for (const { promise } of [this.#file, this.#completion]) promise.catch(() => null)
    this.#parser.on('file', (name, stream, info) => this.#onFile(name, stream, info))
    if (fields) this.#parser.on('field', (name, value, info) => this.#onField(fields, name, value, info))
    this.#parser.on('fieldsLimit', () => this.fail(fields ? tooManyFieldsError() : missingFilenameError()))
    // This also counts parts that the parser skips because they are not form data.
    this.#parser.on('partsLimit', () =>
      this.fail(fields ? tooManyFieldsError() : invalidInputError('/body', 'contains more than one part')),
    )
    this.#parser.on('error', (error) => this.fail(malformedFormError(error)))
    this.#parser.on('finish', () => this.#onFinish())
    incoming.once('error', this.#onCut)
    incoming.once('close', this.#onCut)
    incoming.on('data', this.#onData)
    onBodyFailure(incoming, (fault) => this.fail(fault))
    sendContinue(incoming)
    if (incoming.destroyed) this.#onCut()
    else if (!this.#hasEnded) incoming.pipe(this.#parser)
  }

  /** Resolves when the file begins; with null at the end of a form without a file. */
  get file(): Promise<FormFile | null> {
    return this.#file.promise
  }

  async *bytes(stream: Readable): AsyncGenerator<Uint8Array> {
    let size = 0
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        size += chunk.length
        if (size > this.#limits.largest) throw fileTooLargeError(this.#limits.largest)
        yield chunk
      }
      this.#envelope.endFile(size)
      if (this.#envelope.isTooLarge) throw envelopeTooLargeError(this.#limits.max_envelope_bytes)
      await this.#completion.promise
      // What came after the file before this reader saw its end was counted as if it might belong to the file.
      if (this.#envelope.isTooLarge) throw envelopeTooLargeError(this.#limits.max_envelope_bytes)
      if (!this.#envelope.isFileLast) throw fileNotLastError()
    } catch (error) {
      // The stream may fail with the parser's own error instead of the fault.
      throw this.#error ?? error
    }
    if (size === 0 && !this.#limits.fields) throw invalidInputError(`/body/${FILE_PART_NAME}`, 'is empty')
  }

  fail(error: ServiceError): void {
    if (this.#hasEnded) return
    this.#end()
    this.#error = error
    this.#file.reject(error)
    this.#completion.reject(error)
    this.#incoming.unpipe(this.#parser)
    // The parser may be in the middle of a chunk, and has to return first.
    queueMicrotask(() => this.#parser.destroy(error))
    // A long body ends with the connection (unread-body.ts); a short one is drained for the next request.
    this.#incoming.resume()
  }

  #onFinish(): void {
    if (this.#hasEnded) return
    const { fields } = this.#limits
    if (this.#fileCount === 0) {
      const wrong = fields
        ? validateFieldBytes(fields, this.#envelope.takeCompleteForm(this.#fieldCount))
        : invalidInputError(`/body/${FILE_PART_NAME}`, 'is required')
      if (wrong) return this.fail(wrong)
    }
    this.#end()
    this.#file.resolve(null)
    this.#completion.resolve()
  }

  #end(): void {
    this.#hasEnded = true
    this.#paceWatch[Symbol.dispose]()
    this.#incoming.off('error', this.#onCut).off('close', this.#onCut).off('data', this.#onData)
    // Without a listener, errors of a request would be thrown.
    this.#incoming.on('error', () => {})
  }

  #onFile(name: string | undefined, stream: Readable, info: FileInfo): void {
    // A broken stream emits an error, and may have no reader.
    stream.on('error', () => {})
    const { fields } = this.#limits
    // A file under the name of a field is that field.
    if (fields && name !== FILE_PART_NAME && this.#fileCount === 0) {
      this.#fieldCount += 1
      return fields.readFileField(name, stream, info, (wrong) => this.fail(wrong))
    }
    this.#fileCount += 1
    const begun = this.#fileCount === 1 ? this.#envelope.beginFile(this.#fieldCount) : null
    const wrong =
      this.#error ??
      validateFilePart(name, info, this.#fileCount) ??
      validateFieldBytes(fields, begun?.field_bytes ?? null)
    if (begun && wrong === null) {
      const charset = parsePartCharset(begun.file_bytes, this.#incoming.headers['content-type']!, info.mimeType)
      return this.#file.resolve({ stream, info, charset })
    }
    stream.resume()
    this.fail(wrong ?? notFormDataError())
  }

  #onField(fields: FormFields, name: string | undefined, value: string, info: FieldInfo): void {
    if (this.#fileCount === 0) this.#fieldCount += 1
    const misplaced =
      this.#fileCount > 0
        ? invalidInputError(fieldPath(name), 'comes after the file, which must be the last part')
        : null
    const wrong = misplaced ?? fields.add(name, value, info)
    if (wrong) this.fail(wrong)
  }

  readonly #onCut = (): void => {
    if (!this.#incoming.readableEnded) this.fail(incompleteBodyError('was cut off'))
  }

  readonly #onData = (chunk: Buffer): void => {
    const { largest, max_envelope_bytes } = this.#limits
    if (this.#envelope.push(chunk)) this.fail(envelopeTooLargeError(max_envelope_bytes))
    else if (this.#envelope.received > largest + max_envelope_bytes) this.fail(fileTooLargeError(largest))
  }
}

const FILE_LIMITS = { fields: 0, parts: 2 }
const FIELDS_LIMITS = { fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES + 1, parts: MAX_FIELDS + 2 }

function missingFilenameError(): ServiceError {
  return invalidInputError('/body', 'contains a part that is not a file: it has no filename')
}

function tooManyFieldsError(): ServiceError {
  return invalidInputError('/body', `contains more than ${MAX_FIELDS} fields`)
}

/** @throws INVALID_REQUEST if the header has no boundary */
function createParser({ headers }: IncomingMessage, limits: busboy.Limits): busboy.Busboy {
  try {
    return busboy({ headers, defParamCharset: 'utf8', limits })
  } catch (error) {
    throw missingBoundaryError(error)
  }
}
