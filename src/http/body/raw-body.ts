// Reads bodies of plain bytes with backpressure, and makes the errors of all their faults.
import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../errors.ts'
import type { UploadStallDetector } from '../../net/upload-stall-detector.ts'
import { sendContinue } from '../connection/expect-continue.ts'
import { onBodyFailure } from '../connection/malformed-requests.ts'
import { fileTooLargeError, incompleteBodyError, invalidInputError } from './upload-errors.ts'

export interface RawBodyLimits {
  /** Bytes. */
  readonly largest: number
  readonly pace: UploadStallDetector
  /** The digest that the body must have, in base64, or null for any. */
  readonly md5: string | null
  /** Called when the body is complete, before its reader sees the end. Throws if the caller may no longer store it. */
  readonly confirm: () => Promise<void>
}

/** Bytes that are buffered for the reader before the connection is paused. */
const MAX_BUFFERED_BYTES = 524_288
/** Bytes. Smaller pieces may be parts of shared memory. */
const MIN_FREED_BYTES = 16_384

/**
 * Checks the head of a request with such a body.
 * @throws UNSUPPORTED_MEDIA_TYPE for a content coding, INVALID_REQUEST for a transfer coding that Node ignores (RFC 9112, section 6.1) and for a
 * partial body (RFC 9110, section 14.5), UPLOAD_TOO_LARGE
 */
export function validateRawBodyHeaders({ headers }: IncomingMessage, largest: number): void {
  const coding = headers['content-encoding']?.toLowerCase() || 'identity'
  if (coding !== 'identity')
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message: `The body is encoded as ${coding}.` })
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked')
    throw invalidInputError('/headers/transfer-encoding', 'must be chunked, and nothing else')
  if (headers['content-range'] !== undefined)
    throw invalidInputError('/headers/content-range', 'is not supported: an object is stored as a whole')
  if (Number(headers['content-length'] ?? 0) > largest) throw fileTooLargeError(largest)
}

/** A body that is being received. Dispose of it in any case: the unread rest is dropped. */
export class RawBody implements Disposable {
  readonly #incoming: IncomingMessage
  readonly #largest: number
  readonly #md5: string | null
  readonly #hash: Hash | null
  readonly #confirm: () => Promise<void>
  readonly #paceWatch: Disposable
  readonly #buffered: Buffer[] = []
  #buffered_bytes = 0
  #received = 0
  #isComplete = false
  /** The first fault, once there is one. */
  #error: ServiceError | null = null
  #wake: (() => void) | null = null

  constructor(incoming: IncomingMessage, { largest, pace, md5, confirm }: RawBodyLimits) {
    this.#incoming = incoming
    this.#largest = largest
    this.#md5 = md5
    this.#confirm = confirm
    this.#hash = md5 === null ? null : createHash('md5')
    this.#paceWatch = pace.watch(incoming, () => this.#fail(incompleteBodyError('came to a halt')))
    incoming.on('data', this.#onData).once('end', this.#onEnd).once('error', this.#onCut).once('close', this.#onCut)
    onBodyFailure(incoming, (fault) => this.#fail(fault))
    if (incoming.destroyed) this.#onCut()
  }

  /** The bytes, which can be read once. Each piece is valid until the next is requested. Throws a ServiceError for every fault. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    sendContinue(this.#incoming)
    for (;;) {
      if (this.#error) throw this.#error
      if (this.#buffered_bytes > 0) {
        const piece = this.#takeChunk()
        yield piece
        freeMemory(piece)
      } else if (this.#isComplete) break
      else await this.#waitForData()
    }
    if (this.#hash && this.#hash.digest('base64') !== this.#md5)
      throw invalidInputError('/headers/content-md5', 'is not the digest of the body')
    await this.#confirm()
  }

  [Symbol.dispose](): void {
    this.#fail(incompleteBodyError('was not read to its end'))
  }

  #takeChunk(): Buffer {
    const piece = this.#buffered.shift()!
    this.#buffered_bytes -= piece.length
    this.#hash?.update(piece)
    return piece
  }

  #waitForData(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      this.#incoming.resume()
    })
  }

  readonly #onData = (piece: Buffer): void => {
    this.#received += piece.length
    if (this.#received > this.#largest) return this.#fail(fileTooLargeError(this.#largest))
    this.#buffered.push(piece)
    this.#buffered_bytes += piece.length
    if (this.#buffered_bytes >= MAX_BUFFERED_BYTES) this.#incoming.pause()
    this.#wake?.()
  }

  readonly #onEnd = (): void => {
    this.#isComplete = true
    this.#detach()
  }

  readonly #onCut = (): void => this.#fail(incompleteBodyError('was cut off'))

  #fail(error: ServiceError): void {
    if (this.#isComplete || this.#error) return
    this.#error = error
    this.#detach()
    // A long body ends with the connection (unread-body.ts); a short one is drained for the next request.
    this.#incoming.resume()
  }

  #detach(): void {
    this.#paceWatch[Symbol.dispose]()
    this.#incoming.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onCut).off('close', this.#onCut)
    // Without a listener, errors of a request would be thrown.
    this.#incoming.on('error', () => {})
    this.#wake?.()
  }
}

/**
 * Frees the memory of a piece at once, if the piece owns it. Otherwise tens of megabytes of a large body wait for the garbage collector, and each
 * collection scans all memory of the service.
 */
function freeMemory({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && byteLength >= MIN_FREED_BYTES)
    buffer.transfer(0)
}
