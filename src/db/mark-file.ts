// The file that holds the mark of the last acknowledged commit. It has two places, which are written in turn: when one is torn by a power cut, the
// other one holds the commit before. A third place says that the log is being copied. The file keeps its size, so that a full disk has room for each mark.
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { StartError } from '../start-error.ts'
import { syncFolder } from '../sync-folder.ts'
import type { Durability } from './connection.ts'
import { codeOf } from './faults.ts'
import { keepPrivate } from './private-files.ts'

export interface Mark {
  /** The database that the commit belongs to: 16 hexadecimal digits. */
  readonly database: string
  /** Commits are numbered from 1. */
  readonly number: number
  /** When it was made, in milliseconds since 1970. */
  readonly time: number
  readonly durability: Durability
}

/** Where the mark of the database at `path` lies: a name that `rm svc.db*` leaves alone. */
export function markPath(path: string): string {
  return join(dirname(path), `last-commit-of-${basename(path)}.mark`)
}

const MAGIC = 'svcmark1'
const COPYING = 'svccopy1'
const SIZE = 64
/** Each place has a sector of its own: a power cut tears no two. */
const PLACE = 512
const COPYING_AT = 2 * PLACE
const AT = { database: 8, number: 16, time: 24, durability: 32, checksum: SIZE - 4 } as const
const DURABILITIES: readonly Durability[] = ['full', 'normal']

/** The newest mark in a file: null where there is no file, 'damaged' where no place holds a mark. @throws StartError where it cannot be read */
export function readMark(file: string): Mark | 'damaged' | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null
    throw new StartError(`${file} cannot be read (${codeOf(error)}); check its owner and mode`, { cause: error })
  }
  const marks = [0, PLACE].flatMap((place) => markIn(bytes.subarray(place, place + SIZE)) ?? [])
  return marks.sort((one, other) => other.number - one.number)[0] ?? 'damaged'
}

function markIn(bytes: Buffer): Mark | null {
  if (bytes.length < SIZE || bytes.toString('latin1', 0, AT.database) !== MAGIC) return null
  if (crc32(bytes.subarray(0, AT.checksum)) !== bytes.readUInt32LE(AT.checksum)) return null
  return {
    database: bytes.toString('hex', AT.database, AT.number),
    number: bytes.readDoubleLE(AT.number),
    time: bytes.readDoubleLE(AT.time),
    durability: DURABILITIES[bytes[AT.durability]!] ?? 'full',
  }
}

/**
 * Says on the disk that the log is being copied into the database. Without a mark nothing is said, and where it cannot be written, the copying goes on:
 * it makes no commit less durable.
 */
export function noteCopying(file: string): void {
  writeCopying(file, COPYING)
}

/** All of the log is in the database. */
export function forgetCopying(file: string): void {
  if (isCopying(file)) writeCopying(file, '')
}

export function isCopying(file: string): boolean {
  try {
    return readFileSync(file).toString('latin1', COPYING_AT, COPYING_AT + COPYING.length) === COPYING
  } catch {
    return false
  }
}

function writeCopying(path: string, text: string): void {
  const bytes = Buffer.alloc(SIZE)
  bytes.write(text, 'latin1')
  try {
    const file = openSync(path, 'r+')
    try {
      writeSync(file, bytes, 0, SIZE, COPYING_AT)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } catch {
    // There is none, or the disk takes no writes.
  }
}

/** The file as its one writer has it. It is opened or made at the first mark. */
export class MarkFile implements Disposable {
  readonly #path: string
  readonly #bytes = Buffer.alloc(SIZE)
  readonly #covered = this.#bytes.subarray(0, AT.checksum)
  #file: number | null = null

  constructor(path: string, database: string, durability: Durability) {
    this.#path = path
    this.#bytes.write(MAGIC, 'latin1')
    this.#bytes.write(database, AT.database, 'hex')
    this.#bytes[AT.durability] = DURABILITIES.indexOf(durability)
  }

  /** @throws what the system says; the next call then opens the file anew */
  write(number: number, time: number): void {
    this.#bytes.writeDoubleLE(number, AT.number)
    this.#bytes.writeDoubleLE(time, AT.time)
    this.#bytes.writeUInt32LE(crc32(this.#covered), AT.checksum)
    try {
      this.#file ??= this.#open()
      writeSync(this.#file, this.#bytes, 0, SIZE, (number % 2) * PLACE)
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  #open(): number {
    try {
      const file = openSync(this.#path, 'r+')
      // Of somebody else's file, and on some file systems, the mode stays: it may be written all the same.
      keepPrivate(this.#path)
      return file
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
    // Its whole size from the beginning, and its name on the disk: later writes change bytes alone.
    const file = openSync(this.#path, 'wx', 0o600)
    try {
      writeSync(file, Buffer.alloc(COPYING_AT + SIZE))
      fsyncSync(file)
      syncFolder(dirname(this.#path))
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
