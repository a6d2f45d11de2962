// The files of large values. Each file has a new name and never changes. A file counts once a row names it, so no file is renamed: a file that a crash
// leaves half-written has no row.
import { createHash, type Hash } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fsyncFolder } from '../../shared/fsync-folder.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { StartError } from '../../start-error.ts'

export interface WrittenFile {
  /** Bytes. */
  readonly size: number
  /** 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

/** The folders are named `00` to `ff`; the name of a file begins with its folder's name. */
const FOLDERS = 256
const READ_CHUNK_BYTES = 1024 * 1024
/** The last part of a path is never followed as a symbolic link. Windows has no such flag. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

export class SpilledValueFiles {
  readonly #folder: string
  #nextFolder = 0

  constructor(folder: string) {
    this.#folder = folder
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error)
      throw new StartError(`the folder ${folder} cannot be used (${reason}); check its owner and mode`, {
        cause: error,
      })
    }
  }

  /** Writes and syncs a file asynchronously. If it rejects, no file is left. */
  async write(key: string, pieces: Iterable<Uint8Array>, signal: AbortSignal): Promise<WrittenFile> {
    const path = this.#pathOf(key)
    if (await mkdir(dirname(path), { recursive: true, mode: 0o700 })) await syncFolderAt(this.#folder)
    try {
      const file = await open(path, 'wx', 0o600)
      const written = await writePieces(file, pieces, signal).finally(() => file.close())
      await syncFolderAt(dirname(path))
      return written
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
  }

  /** `write`, synchronously. */
  writeSync(key: string, pieces: Iterable<Uint8Array>): WrittenFile {
    const path = this.#pathOf(key)
    if (mkdirSync(dirname(path), { recursive: true, mode: 0o700 })) fsyncFolder(this.#folder)
    const file = openSync(path, 'wx', 0o600)
    try {
      const sum = new ContentDigest()
      for (const piece of pieces) {
        sum.add(piece)
        writeFileSync(file, piece)
      }
      fsyncSync(file)
      return sum.total
    } finally {
      closeSync(file)
      fsyncFolder(dirname(path))
    }
  }

  /**
   * Links a file under a further name, with the present as its time; it copies where the file system has no hard links. The name is on disk when
   * `syncNames` has resolved.
   * @throws errors of the file system
   */
  linkSync(from: string, key: string): void {
    const [old, path] = [this.#pathOf(from), this.#pathOf(key)]
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    try {
      linkSync(old, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error
      copyFileSync(old, path, constants.COPYFILE_EXCL)
      this.#syncCopy(path)
    }
    const now = new Date()
    utimesSync(path, now, now)
  }

  #syncCopy(path: string): void {
    const file = openSync(path, 'r+')
    try {
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  /** Syncs the folders of names that `linkSync` made. */
  async syncNames(keys: Iterable<string>): Promise<void> {
    const folders = new Set([...keys].map((key) => dirname(this.#pathOf(key))))
    for (const folder of [...folders, this.#folder]) await syncFolderAt(folder)
  }

  /** Reads a file chunk by chunk. @throws errors of the file system, and Error where the file does not have `size` bytes */
  *readSteps(key: string, size: number): Steps<Buffer> {
    const file = openSync(this.#pathOf(key), READ_FLAGS)
    try {
      const found = fstatSync(file).size
      if (found !== size) throw new Error(`${key} has ${found} bytes, and should have ${size}`)
      const bytes = Buffer.allocUnsafeSlow(size)
      for (let at = 0; at < size; ) {
        const read = readSync(file, bytes, at, Math.min(READ_CHUNK_BYTES, size - at), at)
        if (read === 0) throw new Error(`${key} has ${at} bytes, and should have ${size}`)
        at += read
        yield
      }
      return bytes
    } finally {
      closeSync(file)
    }
  }

  /** Removes a file, if it exists. */
  async remove(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true })
  }

  /** The keys of the files of the next folders, `least` or more, that were written before `time` (milliseconds since the epoch). */
  async listNextOlderThan(least: number, time: number): Promise<string[]> {
    const keys: string[] = []
    for (let looked = 0; looked < FOLDERS && keys.length < least; looked++) {
      const name = this.#nextFolder.toString(16).padStart(2, '0')
      this.#nextFolder = (this.#nextFolder + 1) % FOLDERS
      for (const file of await readdir(join(this.#folder, name)).catch(() => [])) {
        const found = await stat(join(this.#folder, name, file)).catch(() => null)
        if (found && found.mtimeMs < time) keys.push(`${name}/${file}`)
      }
    }
    return keys
  }

  #pathOf(key: string): string {
    return join(this.#folder, ...key.split('/'))
  }
}

/** Computes the size and digest of content that comes in pieces. */
class ContentDigest {
  readonly #hash: Hash = createHash('sha256')
  #size = 0

  add(piece: Uint8Array): void {
    this.#hash.update(piece)
    this.#size += piece.length
  }

  get total(): WrittenFile {
    return { size: this.#size, sha256: this.#hash.digest('hex') }
  }
}

async function writePieces(file: FileHandle, pieces: Iterable<Uint8Array>, signal: AbortSignal): Promise<WrittenFile> {
  const sum = new ContentDigest()
  for (const piece of pieces) {
    signal.throwIfAborted()
    sum.add(piece)
    await file.writeFile(piece)
  }
  await file.sync()
  signal.throwIfAborted()
  return sum.total
}

/** A new name is on disk once its folder is synced. Windows cannot open folders, and keeps names without that. */
async function syncFolderAt(folder: string): Promise<void> {
  const file = await open(folder, 'r').catch((error: NodeJS.ErrnoException) => {
    if (['EISDIR', 'EPERM'].includes(error.code ?? '')) return null
    throw error
  })
  if (file) await file.sync().finally(() => file.close())
}
