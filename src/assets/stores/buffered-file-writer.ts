// Bytes that are written to a file as they come, many of them in one call: the next are gathered while some are on their way. They are copied into
// memory that is used again, so that whoever brings them need not keep them.
import type { FileHandle } from 'node:fs/promises'
import type { BufferPool } from './file-read-stream.ts'

/** Pieces of memory that are written at once. Twice as many are held at the most. */
const BUFFERS_PER_WRITE = 2

export class BufferedFileWriter {
  readonly #file: FileHandle
  readonly #pool: BufferPool
  #full: Buffer[] = []
  #current: Buffer | null = null
  #filled = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(file: FileHandle, spare: BufferPool) {
    this.#file = file
    this.#pool = spare
  }

  /** Takes bytes, which may change from then on. Resolves when there is room for more. @throws what writing earlier ones does */
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

  /** Resolves when all of them are written. @throws what writing does */
  async end(): Promise<void> {
    await this.#write(this.#current ? [this.#current.subarray(0, this.#filled)] : [])
    await this.#writing
    if (this.#current) this.#pool.release(this.#current)
    this.#current = null
  }

  /** Begins to write what is full, and what comes behind it. */
  async #write(rest: readonly Buffer[]): Promise<void> {
    await this.#writing
    const full = this.#full
    this.#full = []
    this.#writing = writeAll(this.#file, [...full, ...rest]).then(() => {
      // Of a write that fails nobody knows what it still looks at.
      for (const memory of full) this.#pool.release(memory)
    })
    // Whoever adds the next bytes hears of it, or whoever ends.
    this.#writing.catch(() => {})
  }
}

async function writeAll(file: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let left = pieces
  while (left.length > 0) {
    // The system may take a part of what it is given, as where the disk is nearly full.
    const { bytesWritten } = await file.writev(left)
    left = dropBytes(left, bytesWritten)
  }
}

/** What is left of pieces without their first `bytes`. */
function dropBytes(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let at = 0
  let skipped = bytes
  while (at < pieces.length && skipped >= pieces[at]!.length) skipped -= pieces[at++]!.length
  const [first, ...rest] = pieces.slice(at)
  return first ? [first.subarray(skipped), ...rest] : []
}
