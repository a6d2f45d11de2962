// Splits files into parts for messages between the server and a media process. Serializing a hundred megabytes at once would block the server.

/** File bytes in one message, from one or several files. */
const MOST_MESSAGE_BYTES = 1_048_576

export interface FilePart {
  /** The size of the whole file in its first part; null in the parts that follow. */
  readonly size: number | null
  readonly bytes: Uint8Array
}

/** Gives all files in order, as the parts of each message. There is at least one message, which may be empty. */
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

/** Assembles files from parts. */
export class FileAssembler {
  readonly #files: Uint8Array[] = []
  /** The received bytes of the last file. */
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

  /** The complete files, after all parts were added. */
  get files(): readonly Uint8Array[] {
    return this.#files
  }
}
