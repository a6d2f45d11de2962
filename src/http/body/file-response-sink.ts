// The way of a file into an answer, one piece after the other: each is given back when the connection has taken it. Whoever takes nothing for too
// long is cut off, and may ask for the rest: an answer that nobody reads keeps a file open.
import type { ServerResponse } from 'node:http'
import { type Readable, Writable } from 'node:stream'
import { FileReadStream } from '../../assets/stores/file-read-stream.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'

/** Longer than any store is waited for. */
const STALL_TIMEOUT_MS = 300_000

export class FileResponseSink extends Writable {
  readonly #response: ServerResponse
  readonly #pieces: FileReadStream | null

  /** Ends and breaks off with the answer, and the answer with it; after `stalled_ms` in which no byte was sent, too. */
  constructor(response: ServerResponse, source: Readable, stall_timeout_ms = STALL_TIMEOUT_MS) {
    super()
    this.#response = response
    this.#pieces = source instanceof FileReadStream ? source : null
    onResponseClose(response, () => this.destroy())
    response.setTimeout(stall_timeout_ms, () => this.destroy())
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#response.write(piece, (error) => {
      // Of a connection that is gone nobody knows what it still looks at.
      if (error) this.destroy()
      else this.#pieces?.release(piece)
      done()
    })
  }

  override _final(done: () => void): void {
    // The connection may be asked for what takes longer next.
    this.#response.setTimeout(0)
    this.#response.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#response.writableFinished) this.#response.destroy()
    done(error)
  }
}
