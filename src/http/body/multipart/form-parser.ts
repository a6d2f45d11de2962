// Reads a form while it comes, and makes the errors of all its faults. The stream of the file ends only when the whole request is valid.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
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
  missingBoundaryError,
  notFormDataError,
  validateFilePart,
} from '../upload-errors.ts'
import { type FormFields, fieldPath } from './form-fields.ts'
import { type PartHead, parseBoundary } from './part-head.ts'
import { type PartEvent, PartSplitter } from './part-splitter.ts'

/** The file of a form. */
export interface FormFile {
  readonly stream: Readable
  readonly head: PartHead
}

export interface FormLimits {
  /** Bytes of the file. */
  readonly largest: number
  readonly pace: UploadStallDetector
  /** Called when the form is complete, before its reader sees the end. Throws if the caller may no longer store it. */
  readonly confirm: () => Promise<void>
  /** Bytes of the envelope around the file. */
  readonly max_envelope_bytes: number
  /** Collects the parts before the file; null if the file has to be the only part. */
  readonly fields: FormFields | null
}

export class FormParser {
  readonly #incoming: IncomingMessage
  readonly #limits: FormLimits
  readonly #parts: PartSplitter
  readonly #file = Promise.withResolvers<FormFile | null>()
  readonly #completion = Promise.withResolvers<void>()
  /** The first fault, once there is one. */
  #error: ServiceError | null = null
  readonly #paceWatch: Disposable
  #hasEnded = false
  #received = 0
  #partCount = 0
  #stream: Readable | null = null
  #fileBytes = 0
  /** What receives the bytes of the present part. */
  #target: 'file' | 'field' | null = null

  constructor(incoming: IncomingMessage, limits: FormLimits) {
    this.#incoming = incoming
    this.#limits = limits
    const boundary = parseBoundary(incoming.headers['content-type']!)
    if (boundary === null) throw missingBoundaryError()
    this.#parts = new PartSplitter(boundary)
    this.#paceWatch = limits.pace.watch(incoming, () => this.fail(incompleteBodyError('came to a halt')))
    // The reader awaits one of these promises; a rejection of the other must not end the process.
    for (const { promise } of [this.#file, this.#completion]) promise.catch(() => null)
    incoming.once('error', this.#onCut)
    incoming.once('close', this.#onCut)
    incoming.once('end', this.#onEnd)
    onBodyFailure(incoming, (fault) => this.fail(fault))
    sendContinue(incoming)
    if (incoming.destroyed) this.#onCut()
    else if (!this.#hasEnded) incoming.on('data', this.#onData)
  }

  /** Resolves when the file begins; with null at the end of a form without a file. */
  get file(): Promise<FormFile | null> {
    return this.#file.promise
  }

  async *bytes(stream: Readable): AsyncGenerator<Uint8Array> {
    try {
      yield* stream as AsyncIterable<Uint8Array>
      await this.#completion.promise
    } catch (error) {
      throw this.#error ?? error
    }
    await this.#limits.confirm()
  }

  fail(error: ServiceError): void {
    if (this.#hasEnded) return
    this.#end()
    this.#error = error
    this.#file.reject(error)
    this.#completion.reject(error)
    this.#stream?.destroy(error)
    // A long body ends with the connection (unread-body.ts); a short one is drained for the next request.
    this.#incoming.resume()
  }

  #end(): void {
    this.#hasEnded = true
    this.#paceWatch[Symbol.dispose]()
    this.#incoming.off('error', this.#onCut).off('close', this.#onCut).off('end', this.#onEnd).off('data', this.#onData)
    // Without a listener, errors of a request would be thrown.
    this.#incoming.on('error', () => {})
  }

  readonly #onCut = (): void => {
    if (!this.#incoming.readableEnded) this.fail(incompleteBodyError('was cut off'))
  }

  readonly #onData = (chunk: Buffer): void => {
    const { largest, max_envelope_bytes } = this.#limits
    this.#received += chunk.length
    try {
      for (const event of this.#parts.push(chunk)) this.#onPartEvent(event)
    } catch (error) {
      return this.fail(error as ServiceError)
    }
    if (this.#fileBytes > largest) this.fail(fileTooLargeError(largest))
    else if (this.#isEnvelopeTooLarge) this.fail(envelopeTooLargeError(max_envelope_bytes))
  }

  get #isEnvelopeTooLarge(): boolean {
    return this.#received - this.#fileBytes - this.#parts.pending > this.#limits.max_envelope_bytes
  }

  readonly #onEnd = (): void => {
    if (!this.#parts.isComplete) return this.fail(invalidInputError('/body', 'ends before its last boundary'))
    const { fields } = this.#limits
    const path = `/body/${FILE_PART_NAME}`
    if (!fields && !this.#stream) return this.fail(invalidInputError(path, 'is required'))
    if (!fields && this.#fileBytes === 0) return this.fail(invalidInputError(path, 'is empty'))
    this.#end()
    this.#file.resolve(null)
    this.#completion.resolve()
  }

  /** @throws INVALID_REQUEST */
  #onPartEvent(event: PartEvent): void {
    if (event.kind === 'head') this.#beginPart(event.head)
    else if (event.kind === 'bytes') this.#appendBytes(event.bytes)
    else this.#endPart()
  }

  #beginPart(head: PartHead): void {
    const { fields } = this.#limits
    const { is_form_data, name, filename, type } = head
    this.#partCount += 1
    // A file under the name of a field is that field, as browsers send a Blob.
    const isNamed = !fields || name === FILE_PART_NAME || this.#stream !== null
    const isFile = is_form_data && isNamed && (filename !== null || type === 'application/octet-stream')
    if (isFile) validateFilePart(head, this.#stream ? 2 : 1)
    if (!fields && this.#partCount > 1) throw invalidInputError('/body', 'contains more than one part')
    if (isFile) return this.#beginFile(head)
    if (!fields) {
      if (is_form_data) throw invalidInputError('/body', 'contains a part that is not a file: it has no filename')
      // A form with no other part lacks its file, which is told at its end.
      return
    }
    if (!is_form_data) throw this.#stream ? fileNotLastError() : notFormDataError()
    if (this.#stream) throw invalidInputError(fieldPath(name), 'comes after the file, which must be the last part')
    fields.begin(head)
    this.#target = 'field'
  }

  #beginFile(head: PartHead): void {
    // The file may begin in the chunk that exceeds the limit.
    if (this.#isEnvelopeTooLarge) throw envelopeTooLargeError(this.#limits.max_envelope_bytes)
    const stream = new Readable({ read: () => this.#incoming.resume() })
    // A broken stream emits an error, and may have no reader.
    stream.on('error', () => {})
    this.#stream = stream
    this.#target = 'file'
    this.#file.resolve({ stream, head })
  }

  #appendBytes(bytes: Buffer): void {
    if (this.#target === 'field') this.#limits.fields?.append(bytes)
    if (this.#target !== 'file') return
    this.#fileBytes += bytes.length
    if (!this.#stream?.push(bytes)) this.#incoming.pause()
  }

  #endPart(): void {
    if (this.#target === 'field') this.#limits.fields?.end()
    if (this.#target === 'file') {
      this.#stream?.push(null)
      this.#incoming.resume()
    }
    this.#target = null
  }
}
