// The way of a file into an answer, one piece after the other: each is given back when the connection has taken it.
import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import type { FilePieces } from '../assets/file-pieces.ts'

export class Sending extends Writable {
  readonly #response: ServerResponse
  readonly #pieces: FilePieces

  /** Ends and breaks off with the answer, and the answer with it. */
  constructor(response: ServerResponse, pieces: FilePieces) {
    super()
    this.#response = response
    this.#pieces = pieces
    response.once('close', () => this.destroy())
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#response.write(piece, (error) => {
      // Of a connection that is gone nobody knows what it still looks at.
      if (error) this.destroy()
      else this.#pieces.release(piece)
      done()
    })
  }

  override _final(done: () => void): void {
    this.#response.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#response.writableFinished) this.#response.destroy()
    done(error)
  }
}
