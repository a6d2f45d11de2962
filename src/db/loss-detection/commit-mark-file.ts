// The file with the mark of the last acknowledged commit. Two slots are written in turn: if a power cut tears one, the other has the commit before. A
// third slot tells that a checkpoint is running. The file keeps its size, so that a full disk has room for each mark.
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { fsyncFolder } from '../../shared/fsync-folder.ts'
import { StartError } from '../../start-error.ts'
import type { Durability } from '../connection.ts'
import { makePrivate } from '../files/file-permissions.ts'
import { errorCode } from '../health/database-faults.ts'

export interface StoredCommitMark {
  /** The id of the commit's database: 16 hexadecimal digits. */
  readonly database: string
  /** Commits are numbered from 1. */
  readonly number: number
  /** The time of the commit, in milliseconds since the epoch. */
  readonly time: number
  readonly durability: Durability
}

/** The path of the mark for the database at `path`. `rm svc.db*` does not remove it. */
export function commitMarkPath(path: string): string {
  return join(dirname(path), `last-commit-of-${basename(path)}.mark`)
}

const MAGIC = 'svcmark1'
const CHECKPOINT_FLAG = 'svccopy1'
const MARK_BYTES = 64
/** Each slot has a sector of its own, so that a power cut tears one at most. */
const SLOT_BYTES = 512
const CHECKPOINT_FLAG_OFFSET = 2 * SLOT_BYTES
const OFFSETS = { database: 8, number: 16, time: 24, durability: 32, checksum: MARK_BYTES - 4 } as const
const DURABILITIES: readonly Durability[] = ['full', 'normal']

/** The newest mark in a file: null: there is no file; 'damaged': no slot holds a mark. @throws StartError if it cannot be read */
export function readCommitMark(file: string): StoredCommitMark | 'damaged' | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return null
    throw new StartError(`${file} cannot be read (${errorCode(error)}); check its owner and mode`, { cause: error })
  }
  const marks = [0, SLOT_BYTES].flatMap((place) => parseMark(bytes.subarray(place, place + MARK_BYTES)) ?? [])
  return marks.sort((one, other) => other.number - one.number)[0] ?? 'damaged'
}

function parseMark(bytes: Buffer): StoredCommitMark | null {
  if (bytes.length < MARK_BYTES || bytes.toString('latin1', 0, OFFSETS.database) !== MAGIC) return null
  if (crc32(bytes.subarray(0, OFFSETS.checksum)) !== bytes.readUInt32LE(OFFSETS.checksum)) return null
  return {
    database: bytes.toString('hex', OFFSETS.database, OFFSETS.number),
    number: bytes.readDoubleLE(OFFSETS.number),
    time: bytes.readDoubleLE(OFFSETS.time),
    durability: DURABILITIES[bytes[OFFSETS.durability]!] ?? 'full',
  }
}

/**
 * Records on the disk that a checkpoint is running. Without a mark file nothing is recorded. If it cannot be written, the checkpoint still runs: it
 * makes no commit less durable.
 */
export function recordCheckpointStart(file: string): void {
  writeCheckpointFlag(file, CHECKPOINT_FLAG)
}

/** Records that all of the log is in the database. */
export function recordCheckpointEnd(file: string): void {
  if (isCheckpointRecorded(file)) writeCheckpointFlag(file, '')
}

export function isCheckpointRecorded(file: string): boolean {
  try {
    return (
      readFileSync(file).toString('latin1', CHECKPOINT_FLAG_OFFSET, CHECKPOINT_FLAG_OFFSET + CHECKPOINT_FLAG.length) ===
      CHECKPOINT_FLAG
    )
  } catch {
    return false
  }
}

function writeCheckpointFlag(path: string, text: string): void {
  const bytes = Buffer.alloc(MARK_BYTES)
  bytes.write(text, 'latin1')
  try {
    const file = openSync(path, 'r+')
    try {
      writeSync(file, bytes, 0, MARK_BYTES, CHECKPOINT_FLAG_OFFSET)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } catch {
    // There is no file, or the disk takes no writes.
  }
}

/** The file for its only writer. It is opened or created at the first mark. */
export class CommitMarkFile implements Disposable {
  readonly #path: string
  readonly #bytes = Buffer.alloc(MARK_BYTES)
  readonly #covered = this.#bytes.subarray(0, OFFSETS.checksum)
  #file: number | null = null

  constructor(path: string, database: string, durability: Durability) {
    this.#path = path
    this.#bytes.write(MAGIC, 'latin1')
    this.#bytes.write(database, OFFSETS.database, 'hex')
    this.#bytes[OFFSETS.durability] = DURABILITIES.indexOf(durability)
  }

  /** @throws the error of the system; the next call then opens the file anew */
  write(number: number, time: number): void {
    this.#bytes.writeDoubleLE(number, OFFSETS.number)
    this.#bytes.writeDoubleLE(time, OFFSETS.time)
    this.#bytes.writeUInt32LE(crc32(this.#covered), OFFSETS.checksum)
    try {
      this.#file ??= this.#open()
      writeSync(this.#file, this.#bytes, 0, MARK_BYTES, (number % 2) * SLOT_BYTES)
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  #open(): number {
    try {
      const file = openSync(this.#path, 'r+')
      // The mode stays for a file of another user, and on some file systems: the file may still be writable.
      makePrivate(this.#path)
      return file
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
    }
    // Writes the full size and syncs the name first, so that later writes only change bytes.
    const file = openSync(this.#path, 'wx', 0o600)
    try {
      writeSync(file, Buffer.alloc(CHECKPOINT_FLAG_OFFSET + MARK_BYTES))
      fsyncSync(file)
      fsyncFolder(dirname(this.#path))
      return file
    } catch (error) {
      closeSync(file)
      rmSync(this.#path, { force: true })
      throw error
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }
}
