// A file beside the database that reserves disk space for a start: SQLite needs some even without writes. A start on a full disk removes the file,
// and it is recreated once there is room. Its content is random.
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findWriteObstacle } from '../health/database-faults.ts'

/** Several times what SQLite needs for the index of its log. */
const ROOM_BYTES = 128 * 1024
const PIECE_BYTES = 4 * 1024
/** Free bytes that must remain for others, unless the start has released the space. */
const SPARE_BYTES = 1024 * 1024
const LOOK_EVERY_MS = 30_000

/** The path of the reserved space for the database at `path`. `rm svc.db*` does not remove it. */
export function reservedSpacePath(path: string): string {
  return join(dirname(path), `reserved-room-of-${basename(path)}`)
}

export class ReservedDiskSpace implements Disposable {
  readonly #file: string
  readonly #wasReleased: boolean
  #timer: NodeJS.Timeout | null = null

  /** Releases the space that is reserved for the database at `path`, if the disk has no other. */
  constructor(path: string) {
    this.#file = reservedSpacePath(path)
    this.#wasReleased = findWriteObstacle(path) === 'full' && existsSync(this.#file)
    if (this.#wasReleased) rmSync(this.#file, { force: true })
  }

  /** The start has succeeded: reserves the remaining space for the next start, and the rest once there is room. */
  keepReserved(): void {
    const look = () => {
      if (this.#freeBytes() > SPARE_BYTES) this.#fill()
    }
    if (this.#wasReleased) this.#fill()
    else look()
    this.#timer = setInterval(look, LOOK_EVERY_MS).unref()
  }

  [Symbol.dispose](): void {
    if (this.#timer) clearInterval(this.#timer)
    if (this.#wasReleased) this.#fill()
  }

  /** The free bytes of the disk. */
  #freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#file))
      return bavail * bsize
    } catch {
      return 0
    }
  }

  /** Extends the file to its full size, or as far as there is room. */
  #fill(): void {
    let size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
    if (size >= ROOM_BYTES) return
    let file: number | null = null
    try {
      file = openSync(this.#file, 'a', 0o600)
      // Compressible data would reserve no space.
      for (; size < ROOM_BYTES; size += PIECE_BYTES) writeSync(file, randomBytes(PIECE_BYTES))
      fsyncSync(file)
    } catch {
      // The disk is full, or the folder takes no files: a start then has no reserved space.
    } finally {
      if (file !== null) closeSync(file)
    }
  }
}
