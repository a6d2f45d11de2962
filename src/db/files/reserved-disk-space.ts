// A file beside the database that keeps room for a start: SQLite needs some, also where nothing is written. A start on a full disk lets go of it,
// and it is made anew as soon as there is room. It holds nothing that anybody reads.
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findWriteObstacle } from '../health/database-faults.ts'

/** What SQLite takes for the index of its log, several times over. */
const ROOM_BYTES = 128 * 1024
const PIECE_BYTES = 4 * 1024
/** So much is left to others where nothing has been let go. */
const SPARE_BYTES = 1024 * 1024
const LOOK_EVERY_MS = 30_000

/** Where the room of the database at `path` is kept: a name that `rm svc.db*` leaves alone. */
export function reservedSpacePath(path: string): string {
  return join(dirname(path), `reserved-room-of-${basename(path)}`)
}

export class ReservedDiskSpace implements Disposable {
  readonly #file: string
  readonly #wasReleased: boolean
  #timer: NodeJS.Timeout | null = null

  /** Lets go of what is kept for the database at `path`, where there is no other room. */
  constructor(path: string) {
    this.#file = reservedSpacePath(path)
    this.#wasReleased = findWriteObstacle(path) === 'full' && existsSync(this.#file)
    if (this.#wasReleased) rmSync(this.#file, { force: true })
  }

  /** The start has what it needs: what is left of the room is kept for the next one, and the rest as soon as there is any. */
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

  /** Bytes that are free on the disk. */
  #freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#file))
      return bavail * bsize
    } catch {
      return 0
    }
  }

  /** Takes as much as is missing, or as there is. */
  #fill(): void {
    let size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
    if (size >= ROOM_BYTES) return
    let file: number | null = null
    try {
      file = openSync(this.#file, 'a', 0o600)
      // What can be compressed would take no room.
      for (; size < ROOM_BYTES; size += PIECE_BYTES) writeSync(file, randomBytes(PIECE_BYTES))
      fsyncSync(file)
    } catch {
      // There is no more room, or the folder takes no files: a start goes on without.
    } finally {
      if (file !== null) closeSync(file)
    }
  }
}
