// Files on their way between a server and a process that works on them: in parts of which each is copied in a moment. To serialize a hundred megabytes
// at once would hold the server.

/** Bytes that travel in one message, of one file or of several. */
const MOST_MESSAGE_BYTES = 1_048_576

export interface FilePart {
  /** Bytes of the whole file, where it begins with this part; null: the part goes on with the file before. */
  readonly size: number | null
  readonly bytes: Uint8Array
}

/** All files in their order, in messages. There is at least one message, which may be empty. */
export function* splitFiles(files: readonly Uint8Array[]): Generator<readonly FilePart[], void, void> {
  let parts: FilePart[] = []
  let room = MOST_MESSAGE_BYTES
  for (const file of files) {
    for (let at = 0; at === 0 || at < file.length; ) {
      if (room === 0) {
        yield parts
        parts = []
        room = MOST_MESSAGE_BYTES
      }
      const bytes = file.subarray(at, at + room)
      parts.push({ size: at === 0 ? file.length : null, bytes })
      room -= bytes.length
      at += Math.max(1, bytes.length)
    }
  }
  yield parts
}

/** Puts files together again. */
export class FileAssembler {
  readonly #files: Uint8Array[] = []
  /** How much there is of the last one. */
  #filled = 0

  add(parts: readonly FilePart[]): void {
    for (const { size, bytes } of parts) {
      if (size === bytes.length) {
        this.#files.push(bytes)
        continue
      }
      if (size !== null) {
        this.#files.push(new Uint8Array(size))
        this.#filled = 0
      }
      this.#files.at(-1)!.set(bytes, this.#filled)
      this.#filled += bytes.length
    }
  }

  /** All of them, once all parts were added. */
  get files(): readonly Uint8Array[] {
    return this.#files
  }
}
