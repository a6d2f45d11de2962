// Writes a file into a response, and releases each piece once the connection has taken it. A client that reads nothing for too long is cut off, since
// the response keeps a file open; the client may request the rest.
import type { ServerResponse } from 'node:http'
import { type Readable, Writable } from 'node:stream'
import { FileReadStream } from '../../assets/stores/file-read-stream.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'

/** Longer than the timeout of any store. */
const STALL_TIMEOUT_MS = 300_000

export class FileResponseSink extends Writable {
  readonly #response: ServerResponse
  readonly #pieces: FileReadStream | null

  /** The sink and the response are destroyed together; also after `stall_timeout_ms` in which no byte was sent. */
  constructor(response: ServerResponse, source: Readable, stall_timeout_ms = STALL_TIMEOUT_MS) {
    super()
    this.#response = response
    this.#pieces = source instanceof FileReadStream ? source : null
    onResponseClose(response, () => this.destroy())
    response.setTimeout(stall_timeout_ms, () => this.destroy())
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#response.write(piece, (error) => {
      // A closed connection may still refer to the piece, which is then not released.
      if (error) this.destroy()
      else this.#pieces?.release(piece)
      done()
    })
  }

  override _final(done: () => void): void {
    // The next request on the connection may take longer.
    this.#response.setTimeout(0)
    this.#response.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#response.writableFinished) this.#response.destroy()
    done(error)
  }
}
