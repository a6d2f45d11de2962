// BufferedFileWriter writes many small pieces to a file with few system calls, and gathers the next pieces while a write is under way. It
// copies the pieces into pooled memory, so that the caller need not keep them.
import type { FileHandle } from 'node:fs/promises'
import type { BufferPool } from './file-read-stream.ts'

/** Number of buffers in one write. At most twice as many are held. */
const BUFFERS_PER_WRITE = 2

export class BufferedFileWriter {
  readonly #file: FileHandle
  readonly #pool: BufferPool
  #full: Buffer[] = []
  #current: Buffer | null = null
  #filled = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(file: FileHandle, pool: BufferPool) {
    this.#file = file
    this.#pool = pool
  }

  /** Takes bytes, which the caller may change afterwards. Resolves when there is room for more. @throws the error of an earlier write */
  async add(bytes: Uint8Array): Promise<void> {
    for (let taken = 0; taken < bytes.length; ) {
      this.#current ??= this.#pool.acquire()
      const some = bytes.subarray(taken, taken + this.#current.length - this.#filled)
      this.#current.set(some, this.#filled)
      this.#filled += some.length
      taken += some.length
      if (this.#filled < this.#current.length) return
      this.#full.push(this.#current)
      this.#current = null
      this.#filled = 0
      if (this.#full.length === BUFFERS_PER_WRITE) await this.#write([])
    }
  }

  /** Resolves when all bytes are written. @throws the error of a write */
  async end(): Promise<void> {
    await this.#write(this.#current ? [this.#current.subarray(0, this.#filled)] : [])
    await this.#writing
    if (this.#current) this.#pool.release(this.#current)
    this.#current = null
  }

  /** Starts to write the full buffers, followed by `rest`. */
  async #write(rest: readonly Buffer[]): Promise<void> {
    await this.#writing
    const full = this.#full
    this.#full = []
    this.#writing = writeAll(this.#file, [...full, ...rest]).then(() => {
      // After a failed write the buffers are not released, because the system may still read them.
      for (const memory of full) this.#pool.release(memory)
    })
    // The next call of `add` or `end` throws this error.
    this.#writing.catch(() => {})
  }
}

async function writeAll(file: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let left = pieces
  while (left.length > 0) {
    // The system may write only a part of the bytes, for example when the disk is nearly full.
    const { bytesWritten } = await file.writev(left)
    left = dropBytes(left, bytesWritten)
  }
}

/** Returns the pieces without their first `bytes` bytes. */
function dropBytes(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let at = 0
  let skipped = bytes
  while (at < pieces.length && skipped >= pieces[at]!.length) skipped -= pieces[at++]!.length
  const [first, ...rest] = pieces.slice(at)
  return first ? [first.subarray(skipped), ...rest] : []
}
