// Bodies that are bytes and nothing else, read as they come, and no faster than they are taken. Whatever is wrong with one has its answer here.
import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { UploadPace } from '../net/upload-pace.ts'
import { whenBroken } from './broken.ts'
import { bad, broken, tooLarge } from './form-faults.ts'
import { goOn } from './going-on.ts'

export interface RawBodyLimits {
  /** Bytes. */
  readonly largest: number
  readonly pace: UploadPace
  /** The digest that the body must have, in base64, or null for any. */
  readonly md5: string | null
}

/** So many bytes wait for whoever takes them before the connection does. */
const WAITING = 524_288
/** Bytes of a piece. Smaller ones may be parts of memory that is shared. */
const WORTH_FREEING = 16_384

/**
 * Whether a body may be read at all, by its head.
 * @throws UNSUPPORTED_MEDIA_TYPE for an encoded one, INVALID_REQUEST for a transfer coding that Node leaves to us (RFC 9112, section 6.1) and for a part
 * of something (RFC 9110, section 14.5), UPLOAD_TOO_LARGE
 */
export function requireWhole({ headers }: IncomingMessage, largest: number): void {
  const coding = headers['content-encoding']?.toLowerCase() || 'identity'
  if (coding !== 'identity')
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', { message: `The body is encoded as ${coding}.` })
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked')
    throw bad('/headers/transfer-encoding', 'must be chunked, and nothing else')
  if (headers['content-range'] !== undefined)
    throw bad('/headers/content-range', 'is not taken: an object is stored as a whole')
  if (Number(headers['content-length'] ?? 0) > largest) throw tooLarge(largest)
}

/** A body that is being sent. Dispose of it, whatever came of it: what was not read is dropped. */
export class RawBody implements Disposable {
  readonly #incoming: IncomingMessage
  readonly #largest: number
  readonly #md5: string | null
  readonly #hash: Hash | null
  readonly #paced: Disposable
  readonly #waiting: Buffer[] = []
  /** Bytes in it. */
  #held = 0
  #received = 0
  #whole = false
  /** What is wrong, once something is. */
  #fault: ServiceError | null = null
  #wake: (() => void) | null = null

  constructor(incoming: IncomingMessage, { largest, pace, md5 }: RawBodyLimits) {
    this.#incoming = incoming
    this.#largest = largest
    this.#md5 = md5
    this.#hash = md5 === null ? null : createHash('md5')
    this.#paced = pace.watch(incoming, () => this.#fail(broken('came to a halt')))
    incoming.on('data', this.#take).once('end', this.#end).once('error', this.#cut).once('close', this.#cut)
    whenBroken(incoming, (fault) => this.#fail(fault))
    if (incoming.destroyed) this.#cut()
  }

  /**
   * The bytes, to be read once: each piece is good until the next is asked for. Throws a ServiceError for everything that is wrong with them.
   */
  async *bytes(): AsyncGenerator<Uint8Array> {
    goOn(this.#incoming)
    for (;;) {
      if (this.#fault) throw this.#fault
      if (this.#held > 0) {
        const piece = this.#next()
        yield piece
        letGo(piece)
      } else if (this.#whole) break
      else await this.#more()
    }
    if (this.#hash && this.#hash.digest('base64') !== this.#md5)
      throw bad('/headers/content-md5', 'is not the digest of the body')
  }

  [Symbol.dispose](): void {
    this.#fail(broken('was not read to its end'))
  }

  #next(): Buffer {
    const piece = this.#waiting.shift()!
    this.#held -= piece.length
    this.#hash?.update(piece)
    return piece
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      this.#incoming.resume()
    })
  }

  readonly #take = (piece: Buffer): void => {
    this.#received += piece.length
    if (this.#received > this.#largest) return this.#fail(tooLarge(this.#largest))
    this.#waiting.push(piece)
    this.#held += piece.length
    if (this.#held >= WAITING) this.#incoming.pause()
    this.#wake?.()
  }

  readonly #end = (): void => {
    this.#whole = true
    this.#release()
  }

  readonly #cut = (): void => this.#fail(broken('was cut off'))

  #fail(error: ServiceError): void {
    if (this.#whole || this.#fault) return
    this.#fault = error
    this.#release()
    // Of a long body this is the beginning of its end (unread.ts); a short one makes room for the next request.
    this.#incoming.resume()
  }

  #release(): void {
    this.#paced[Symbol.dispose]()
    this.#incoming.off('data', this.#take).off('end', this.#end).off('error', this.#cut).off('close', this.#cut)
    // Errors of a request that nobody listens for would be thrown.
    this.#incoming.on('error', () => {})
    this.#wake?.()
  }
}

/**
 * Frees the memory of a piece at once, where it has some of its own. What waits for the garbage collector is tens of megabytes of a large body, and
 * each collection goes through all that the service keeps in memory.
 */
function letGo({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && byteLength >= WORTH_FREEING)
    buffer.transfer(0)
}
