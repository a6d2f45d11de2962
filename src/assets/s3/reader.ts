// The bytes of an object as they come out of a bucket. What breaks off is taken up again where it did; there are never too few of them, and
// where their digest is known, the last of them come only when it is right.
import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { BucketFailure } from './failure.ts'

export interface ReaderParts {
  readonly key: string
  /** Bytes; more of them are left. */
  readonly length: number
  /** Of all of them, in hexadecimal; null where nobody knows. */
  readonly sha256: string | null
  /** For so many milliseconds there may be no byte, while one is wanted, before it is given up. */
  readonly patience_ms: number
  /** Asks for what is left after `done` bytes, and waits for `left_ms` at most. @throws where the object is not the same any more */
  again(done: number, left_ms: number): Promise<IncomingMessage>
  pause(tries: number): Promise<void>
  /** Aborted when nothing more is wanted. */
  readonly stop: AbortController
}

/** So often without a byte in between, then it is given up. */
const TRIES = 4
const HIGH_WATER = 256 * 1024

export class ObjectReader extends Readable {
  readonly #parts: ReaderParts
  readonly #hash: Hash | null
  #response: IncomingMessage | null = null
  #silence_ms = 0
  #done = 0
  #tries = 0
  /** Since when bytes are wanted and none has come, on the clock that never goes back. */
  #wantedAt = performance.now()

  constructor(response: IncomingMessage, parts: ReaderParts) {
    super({ highWaterMark: HIGH_WATER })
    this.#parts = parts
    this.#hash = parts.sha256 === null ? null : createHash('sha256')
    this.#attach(response)
  }

  override _read(): void {
    if (this.#response?.isPaused()) this.#want(this.#response)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // A connection whose answer has come to its end serves the next request.
    if (this.#done < this.#parts.length || error) {
      this.#parts.stop.abort()
      this.#response?.destroy()
    }
    callback(error)
  }

  #attach(response: IncomingMessage): void {
    this.#response = response
    this.#silence_ms = response.socket.timeout ?? 0
    response.on('data', (chunk: Buffer) => this.#take(chunk, response))
    const closed = () => void this.#goOn().catch((error: Error) => this.destroy(error))
    if (response.closed) queueMicrotask(closed)
    else response.once('close', closed)
    this.#letWait(response)
  }

  #want(response: IncomingMessage): void {
    this.#wantedAt = performance.now()
    response.socket.setTimeout(this.#silence_ms)
    response.resume()
  }

  /** Whoever reads may take their time. */
  #letWait(response: IncomingMessage): void {
    response.socket.setTimeout(0)
    response.pause()
  }

  #take(chunk: Buffer, response: IncomingMessage): void {
    const piece = chunk.subarray(0, this.#parts.length - this.#done)
    if (piece.length < chunk.length) response.destroy()
    if (piece.length === 0) return
    this.#tries = 0
    this.#wantedAt = performance.now()
    this.#done += piece.length
    this.#hash?.update(piece)
    const ended = this.#done === this.#parts.length
    if (ended && !this.#isRight()) {
      this.destroy(new Error(`the bytes of the object ${this.#parts.key} are not those that were put`))
      return
    }
    const more = this.push(piece)
    if (ended) this.push(null)
    else if (!more) this.#letWait(response)
  }

  #isRight(): boolean {
    return this.#hash === null || this.#hash.digest('hex') === this.#parts.sha256
  }

  async #goOn(): Promise<void> {
    this.#response = null
    while (this.#done < this.#parts.length && !this.destroyed) {
      this.#tries += 1
      if (this.#tries > TRIES || this.#leftMs() <= 0) throw this.#broken()
      await this.#parts.pause(this.#tries)
      const response = await this.#parts.again(this.#done, this.#leftMs()).catch(mayPass)
      if (response === null) continue
      if (this.destroyed) response.destroy()
      const wanted_at = this.#wantedAt
      this.#attach(response)
      this.#want(response)
      this.#wantedAt = wanted_at
      return
    }
  }

  #leftMs(): number {
    return this.#parts.patience_ms - (performance.now() - this.#wantedAt)
  }

  #broken(): Error {
    return new Error(`the object ${this.#parts.key} broke off after ${this.#done} of ${this.#parts.length} bytes`)
  }
}

function mayPass(error: unknown): null {
  if (error instanceof BucketFailure && error.passing) return null
  throw error
}
