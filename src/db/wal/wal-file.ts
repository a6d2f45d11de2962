// Reads the file of a write-ahead log as SQLite does (https://www.sqlite.org/fileformat2.html#walformat): up to the first frame with a wrong
// checksum, and not at all if the header's checksum is wrong. So a log that SQLite treats as empty may have content.
import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** For checksum words with the lowest byte first; for the other order it is greater by 1. */
const MAGIC = 0x377f0682
const HEADER = 32
const FRAME_HEADER = 24
/** The bytes of the header, and of the header of a frame, that the checksum covers. */
const COVERED = 24
const FRAME_COVERED = 8

/** Whether the log is not empty. */
export function hasWal(path: string): boolean {
  return (statSync(walPath(path), { throwIfNoEntry: false })?.size ?? 0) > 0
}

/**
 * Whether the log exists and is undamaged up to the end of its first commit. If SQLite reads nothing of such a log, the database has all its content.
 * @throws the error of the file system
 */
export function isWalSound(path: string): boolean {
  if (!hasWal(path)) return false
  const file = openSync(walPath(path), 'r')
  try {
    return isWalFileSound(file)
  } finally {
    closeSync(file)
  }
}

function walPath(path: string): string {
  return `${path}-wal`
}

function isWalFileSound(file: number): boolean {
  const header = Buffer.alloc(HEADER)
  if (readSync(file, header, 0, HEADER, 0) < HEADER) return false
  const magic = header.readUInt32BE(0)
  const pageSize = header.readUInt32BE(8)
  if (magic !== MAGIC && magic !== MAGIC + 1) return false
  const sum = new WalChecksum(magic === MAGIC)
  sum.add(header.subarray(0, COVERED))
  if (!sum.equals(header, COVERED) || !isPageSize(pageSize)) return false
  const frame = Buffer.alloc(FRAME_HEADER + pageSize)
  for (let at = HEADER; readSync(file, frame, 0, frame.length, at) === frame.length; at += frame.length) {
    // A frame of an earlier log.
    if (frame.compare(header, 16, 24, 8, 16) !== 0) return true
    sum.add(frame.subarray(0, FRAME_COVERED))
    sum.add(frame.subarray(FRAME_HEADER))
    if (!sum.equals(frame, 16)) return false
    const isCommit = frame.readUInt32BE(4) > 0
    if (isCommit) return true
  }
  return true
}

function isPageSize(size: number): boolean {
  return size >= 512 && size <= 65_536 && (size & (size - 1)) === 0
}

class WalChecksum {
  readonly #littleEndian: boolean
  #first = 0
  #second = 0

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian
  }

  /** `bytes`: a multiple of 8. */
  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 8) {
      this.#first = (this.#first + this.#word(bytes, at) + this.#second) >>> 0
      this.#second = (this.#second + this.#word(bytes, at + 4) + this.#first) >>> 0
    }
  }

  equals(bytes: Buffer, at: number): boolean {
    return bytes.readUInt32BE(at) === this.#first && bytes.readUInt32BE(at + 4) === this.#second
  }

  #word(bytes: Buffer, at: number): number {
    return this.#littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
  }
}
