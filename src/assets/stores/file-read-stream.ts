// FileReadStream reads a part of a file as a stream. A reader may give back the memory of a piece that it has sent, and the stream reads
// into that memory again. For a large file, pieces that wait for the garbage collector cost more time than reading them.
import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { ServiceError } from '../../errors.ts'
import type { ByteRange } from './object-store.ts'

/** Bytes of one read. */
export const CHUNK_BYTES = 128 * 1024

/** BufferPool keeps free buffers of CHUNK_BYTES bytes each. */
export class BufferPool {
  readonly #free: Buffer[] = []
  readonly #most: number

  /** `most`: the number of buffers that the pool keeps. */
  constructor(most: number) {
    this.#most = most
  }

  acquire(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)
  }

  release(memory: Buffer): void {
    if (this.#free.length < this.#most) this.#free.push(memory)
  }
}

export class FileReadStream extends Readable {
  readonly #file: FileHandle
  readonly #pool: BufferPool
  /** The pieces that readers hold, each with its pooled buffer. */
  readonly #lentBuffers = new WeakMap<Uint8Array, Buffer>()
  /** Whether the range has at least one whole piece. Smaller pieces are seldom given back. */
  readonly #usesPool: boolean
  #position: number
  #remaining: number
  #expectedDigest: { readonly hash: Hash; readonly sha256: string } | null = null

  /** The stream closes the file when it ends or fails. */
  constructor(file: FileHandle, { start, length }: ByteRange, pool: BufferPool) {
    super({ highWaterMark: CHUNK_BYTES })
    this.#file = file
    this.#pool = pool
    this.#usesPool = length >= CHUNK_BYTES
    this.#position = start
    this.#remaining = length
  }

  /**
   * Makes the stream compare the digest of all bytes as they are read, which takes about 0.07 ms for each piece. If the file is damaged,
   * the stream fails with DATA_DAMAGED before it gives the last piece. The caller has to call this before the first read.
   */
  verifyDigest(sha256: string): void {
    this.#expectedDigest = { hash: createHash('sha256'), sha256 }
  }

  /** Takes back the memory of a piece that came from this stream and is not used any more. Other memory is ignored. */
  release(piece: Uint8Array): void {
    const memory = this.#lentBuffers.get(piece)
    if (memory && this.#lentBuffers.delete(piece)) this.#pool.release(memory)
  }

  override _read(): void {
    if (this.#remaining === 0) this.push(null)
    else
      this.#readChunk().then(
        (piece) => this.push(piece),
        (error) => this.destroy(error),
      )
  }

  async #readChunk(): Promise<Buffer> {
    const wanted = Math.min(CHUNK_BYTES, this.#remaining)
    const memory = this.#usesPool ? this.#pool.acquire() : Buffer.allocUnsafe(wanted)
    const { bytesRead } = await this.#file.read(memory, 0, wanted, this.#position)
    if (bytesRead === 0)
      throw new Error(`a file ends at ${this.#position}, and ${this.#remaining} more bytes were expected`)
    this.#position += bytesRead
    this.#remaining -= bytesRead
    const piece = memory.subarray(0, bytesRead)
    if (this.#usesPool) this.#lentBuffers.set(piece, memory)
    this.#verify(piece)
    return piece
  }

  #verify(piece: Uint8Array): void {
    if (this.#expectedDigest === null) return
    const { hash, sha256 } = this.#expectedDigest
    hash.update(piece)
    if (this.#remaining > 0 || hash.digest('hex') === sha256) return
    throw new ServiceError('DATA_DAMAGED', { cause: new Error('the bytes of a file are not those that were stored') })
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // Closing waits for a read that is under way.
    this.#file.close().then(
      () => done(error),
      (failure) => done(error ?? failure),
    )
  }
}
