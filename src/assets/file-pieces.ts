// A part of a file as a stream of pieces. Whoever has sent a piece may give it back, and its memory is read into again: of a large file, pieces that
// wait for the garbage collector cost more time than reading them.
import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { ServiceError } from '../errors.ts'
import type { ByteRange } from './object-store.ts'

/** Bytes that are read at once. */
export const PIECE = 128 * 1024

/** Memory for whole pieces that nobody looks at. */
export class SparePieces {
  readonly #spare: Buffer[] = []
  readonly #most: number

  /** Keeps at most so many. */
  constructor(most: number) {
    this.#most = most
  }

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(PIECE)
  }

  give(memory: Buffer): void {
    if (this.#spare.length < this.#most) this.#spare.push(memory)
  }
}

export class FilePieces extends Readable {
  readonly #file: FileHandle
  readonly #spare: SparePieces
  /** Pieces that were handed out, and the memory of each. */
  readonly #lent = new WeakMap<Uint8Array, Buffer>()
  /** Whether there are whole pieces. What is smaller is seldom given back. */
  readonly #large: boolean
  #at: number
  #left: number
  #check: { readonly hash: Hash; readonly sha256: string } | null = null

  /** Closes the file in the end, whichever that is. */
  constructor(file: FileHandle, { start, length }: ByteRange, spare: SparePieces) {
    super({ highWaterMark: PIECE })
    this.#file = file
    this.#spare = spare
    this.#large = length >= PIECE
    this.#at = start
    this.#left = length
  }

  /**
   * Has all bytes compared with their digest as they are read, which takes some 0.07 ms for each piece. Of a file that is damaged the last piece is never
   * given: the stream fails with DATA_DAMAGED. To be asked before anything is read.
   */
  compareWith(sha256: string): void {
    this.#check = { hash: createHash('sha256'), sha256 }
  }

  /** Takes back a piece that came from here, which nobody looks at any more. Anything else it leaves alone. */
  release(piece: Uint8Array): void {
    const memory = this.#lent.get(piece)
    if (memory && this.#lent.delete(piece)) this.#spare.give(memory)
  }

  override _read(): void {
    if (this.#left === 0) this.push(null)
    else
      this.#next().then(
        (piece) => this.push(piece),
        (error) => this.destroy(error),
      )
  }

  async #next(): Promise<Buffer> {
    const wanted = Math.min(PIECE, this.#left)
    const memory = this.#large ? this.#spare.take() : Buffer.allocUnsafe(wanted)
    const { bytesRead } = await this.#file.read(memory, 0, wanted, this.#at)
    if (bytesRead === 0) throw new Error(`a file ends at ${this.#at}, and ${this.#left} more bytes were expected`)
    this.#at += bytesRead
    this.#left -= bytesRead
    const piece = memory.subarray(0, bytesRead)
    if (this.#large) this.#lent.set(piece, memory)
    this.#compare(piece)
    return piece
  }

  #compare(piece: Uint8Array): void {
    if (this.#check === null) return
    const { hash, sha256 } = this.#check
    hash.update(piece)
    if (this.#left > 0 || hash.digest('hex') === sha256) return
    throw new ServiceError('DATA_DAMAGED', { cause: new Error('the bytes of a file are not those that were stored') })
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // It waits for a read that is under way.
    this.#file.close().then(
      () => done(error),
      (failure) => done(error ?? failure),
    )
  }
}
