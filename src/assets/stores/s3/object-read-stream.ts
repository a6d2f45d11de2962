// ObjectReadStream reads the bytes of an object in a bucket and resumes after an interruption. It never ends early without an error, and if
// the digest is known, it gives the last bytes only once the digest is right.
import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { BucketError } from './bucket-error.ts'

export interface ObjectReadStreamParts {
  readonly key: string
  /** Length in bytes; further bytes are ignored. */
  readonly length: number
  /** The digest of all bytes, in hexadecimal; null if it is not known. */
  readonly sha256: string | null
  /** Milliseconds without a byte, while the reader wants one, after which the stream fails. */
  readonly stall_timeout_ms: number
  /** Requests the bytes after the first `done` ones, and waits for at most `left_ms`. @throws if the object has changed */
  reopen(done: number, left_ms: number): Promise<IncomingMessage>
  pause(tries: number): Promise<void>
  /** The stream aborts this when it needs no more bytes. */
  readonly stop: AbortController
}

/** Number of attempts without any byte between them. */
const TRIES = 4
const HIGH_WATER = 256 * 1024

export class ObjectReadStream extends Readable {
  readonly #parts: ObjectReadStreamParts
  readonly #hash: Hash | null
  #response: IncomingMessage | null = null
  #idleTimeoutMs = 0
  #receivedBytes = 0
  #tries = 0
  /** The time since which the reader waits for a byte, on the monotonic clock. */
  #wantedAt = performance.now()

  constructor(response: IncomingMessage, parts: ObjectReadStreamParts) {
    super({ highWaterMark: HIGH_WATER })
    this.#parts = parts
    this.#hash = parts.sha256 === null ? null : createHash('sha256')
    this.#attach(response)
  }

  override _read(): void {
    if (this.#response?.isPaused()) this.#resumeResponse(this.#response)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // A connection whose answer has ended serves the next request.
    if (this.#receivedBytes < this.#parts.length || error) {
      this.#parts.stop.abort()
      this.#response?.destroy()
    }
    callback(error)
  }

  #attach(response: IncomingMessage): void {
    this.#response = response
    this.#idleTimeoutMs = response.socket.timeout ?? 0
    response.on('data', (chunk: Buffer) => this.#receive(chunk, response))
    const closed = () => void this.#reconnect().catch((error: Error) => this.destroy(error))
    if (response.closed) queueMicrotask(closed)
    else response.once('close', closed)
    this.#pauseResponse(response)
  }

  #resumeResponse(response: IncomingMessage): void {
    this.#wantedAt = performance.now()
    response.socket.setTimeout(this.#idleTimeoutMs)
    response.resume()
  }

  /** While the response is paused no timeout applies, because a reader may be slow. */
  #pauseResponse(response: IncomingMessage): void {
    response.socket.setTimeout(0)
    response.pause()
  }

  #receive(chunk: Buffer, response: IncomingMessage): void {
    const piece = chunk.subarray(0, this.#parts.length - this.#receivedBytes)
    if (piece.length < chunk.length) response.destroy()
    if (piece.length === 0) return
    this.#tries = 0
    this.#wantedAt = performance.now()
    this.#receivedBytes += piece.length
    this.#hash?.update(piece)
    const ended = this.#receivedBytes === this.#parts.length
    if (ended && !this.#hasExpectedDigest()) {
      this.destroy(new Error(`the bytes of the object ${this.#parts.key} are not those that were put`))
      return
    }
    const more = this.push(piece)
    if (ended) this.push(null)
    else if (!more) this.#pauseResponse(response)
  }

  #hasExpectedDigest(): boolean {
    return this.#hash === null || this.#hash.digest('hex') === this.#parts.sha256
  }

  async #reconnect(): Promise<void> {
    this.#response = null
    while (this.#receivedBytes < this.#parts.length && !this.destroyed) {
      this.#tries += 1
      if (this.#tries > TRIES || this.#remainingMs() <= 0) throw this.#truncatedError()
      await this.#parts.pause(this.#tries)
      const response = await this.#parts.reopen(this.#receivedBytes, this.#remainingMs()).catch(nullIfTransient)
      if (response === null) continue
      if (this.destroyed) response.destroy()
      const wanted_at = this.#wantedAt
      this.#attach(response)
      this.#resumeResponse(response)
      this.#wantedAt = wanted_at
      return
    }
  }

  #remainingMs(): number {
    return this.#parts.stall_timeout_ms - (performance.now() - this.#wantedAt)
  }

  #truncatedError(): Error {
    return new Error(
      `the object ${this.#parts.key} broke off after ${this.#receivedBytes} of ${this.#parts.length} bytes`,
    )
  }
}

function nullIfTransient(error: unknown): null {
  if (error instanceof BucketError && error.isTransient) return null
  throw error
}
