// LocalObjectStore keeps objects as files of one folder. It writes a file under a temporary name and renames it once all its bytes are on
// disk, so that every named file is complete.
import { randomUUID } from 'node:crypto'
import { existsSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { fsyncFolder } from '../../shared/fsync-folder.ts'
import { StartError } from '../../start-error.ts'
import { isObjectKey } from '../storage-keys.ts'
import { BufferPool, FileReadStream } from './file-read-stream.ts'
import {
  ensureFolder,
  hasLinkedFolder,
  openForReading,
  readChunks,
  removeEmptyFolders,
  statFileSync,
  statWithin,
  walkKeys,
  writeDurably,
  writeDurablySync,
} from './file-system.ts'
import { LeadingBytes } from './leading-bytes.ts'
import type {
  ByteRange,
  ByteSource,
  ObjectInfo,
  ObjectStore,
  StagedObject,
  TrailerBuilder,
  WriteResult,
} from './object-store.ts'

/** Number of buffers that are kept for the next reads and writes: 4 MiB. */
const SPARE_BUFFERS = 32

/** An object as it was when it was opened, even if another one replaces it meanwhile. */
export interface ObjectHandle extends AsyncDisposable {
  readonly facts: ObjectInfo
  read(start: number, length: number): AsyncIterable<Uint8Array>
  /**
   * Removes the object, and returns true. If it was replaced or put again since, the call changes nothing and returns false. The name is
   * gone at once; freeing the blocks takes longer.
   */
  remove(): Promise<boolean>
}

export class LocalObjectStore implements ObjectStore {
  readonly #objectsFolder: string
  readonly #incomingFolder: string
  readonly #now: () => number
  readonly #bufferPool = new BufferPool(SPARE_BUFFERS)

  /**
   * Creates the folder if it is missing, and removes the unfinished files of a process that died. Only one process at a time may use the
   * folder. `now` returns milliseconds since the epoch.
   * @throws StartError when the folder cannot be used
   */
  constructor(root: string, now: () => number) {
    this.#objectsFolder = join(root, 'objects')
    this.#incomingFolder = join(root, 'incoming')
    this.#now = now
    try {
      rmSync(this.#incomingFolder, { recursive: true, force: true })
      for (const folder of [root, this.#objectsFolder, this.#incomingFolder]) ensureFolder(folder)
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error)
      throw new StartError(`the folder ${root} cannot be used (${reason}); check its owner and mode`, { cause: error })
    }
  }

  async put(key: string, source: ByteSource, tail?: TrailerBuilder): Promise<WriteResult> {
    const path = this.#writablePathOf(key)
    const incoming = this.#newIncomingPath()
    try {
      const written = await this.#write(incoming, source, tail)
      this.#moveIntoPlace(incoming, path)
      return written
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  async receive(source: ByteSource): Promise<StagedObject> {
    const incoming = this.#newIncomingPath()
    const head = new LeadingBytes()
    try {
      const written = await this.#write(incoming, head.capture(source))
      return {
        ...written,
        head: head.bytes,
        commit: (key) => this.#moveContentIntoPlace(incoming, this.#writablePathOf(key), written.size),
        [Symbol.dispose]: () => rmSync(incoming, { force: true }),
      }
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  putSync(key: string, bytes: Uint8Array, tail?: Uint8Array): void {
    const path = this.#writablePathOf(key)
    if (!tail && this.#touch(path, bytes.length)) return
    const incoming = this.#newIncomingPath()
    try {
      writeDurablySync(incoming, tail ? [bytes, tail] : [bytes], this.#now())
      this.#moveIntoPlace(incoming, path)
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  async get(key: string, { start, length }: ByteRange): Promise<Readable | null> {
    const file = await openForReading(this.#pathOf(key), this.#objectsFolder)
    if (file === null) return null
    const facts = await file.stat()
    const { size } = facts
    if (facts.isFile() && length > 0 && start + length <= size)
      return new FileReadStream(file, { start, length }, this.#bufferPool)
    await file.close()
    if (!facts.isFile()) return null
    if (length === 0) return Readable.from([])
    throw new Error(`the object ${key} has ${size} bytes, too few for ${length} from ${start}`)
  }

  async stat(key: string): Promise<ObjectInfo | null> {
    const found = await statWithin(this.#pathOf(key), this.#objectsFolder)
    return found?.isFile() ? { size: found.size, put_at: found.mtimeMs } : null
  }

  /** Returns null if there is no such object. */
  async openHandle(key: string): Promise<ObjectHandle | null> {
    const path = this.#pathOf(key)
    const file = await openForReading(path, this.#objectsFolder)
    if (file === null) return null
    // While this file is open, no other file has its inode number.
    const { ino, mtimeMs, size } = await file.stat()
    return {
      facts: { size, put_at: mtimeMs },
      read: (start, length) => readChunks(file, start, length),
      remove: async () => {
        const found = statFileSync(path, this.#objectsFolder)
        return found?.ino === ino && found.mtimeMs === mtimeMs && (await this.#remove(path))
      },
      [Symbol.asyncDispose]: () => file.close(),
    }
  }

  async delete(key: string, put_since = Number.POSITIVE_INFINITY): Promise<boolean> {
    const path = this.#pathOf(key)
    const found = statFileSync(path, this.#objectsFolder)
    return found !== null && found.mtimeMs < put_since && (await this.#remove(path))
  }

  async list(after: string | null, limit: number): Promise<string[]> {
    const keys: string[] = []
    if (limit <= 0) return keys
    for await (const key of walkKeys(this.#objectsFolder, '', after)) {
      keys.push(key)
      if (keys.length === limit) break
    }
    return keys
  }

  listLocal(after: string | null, limit: number): Promise<string[]> {
    return this.list(after, limit)
  }

  #pathOf(key: string): string {
    if (!isObjectKey(key)) throw new TypeError(`not a key: ${JSON.stringify(key)}`)
    return join(this.#objectsFolder, ...key.split('/'))
  }

  /** Returns the path to write an object to. @throws Error if a folder of the path is a link, so that nothing is written outside of the store */
  #writablePathOf(key: string): string {
    const path = this.#pathOf(key)
    if (hasLinkedFolder(path, this.#objectsFolder))
      throw new Error(`a folder of the object ${key} in the store is a link`)
    return path
  }

  /** The caller checks the file immediately before, and nothing else may run in between. */
  async #remove(path: string): Promise<true> {
    const aside = this.#newIncomingPath()
    renameSync(path, aside)
    removeEmptyFolders(path, this.#objectsFolder)
    // Freeing the blocks of a large file takes time.
    await unlink(aside)
    return true
  }

  async #write(incoming: string, source: ByteSource, tail?: TrailerBuilder): Promise<WriteResult> {
    const file = await open(incoming, 'wx', 0o600)
    return await writeDurably(file, source, { now: this.#now, spare: this.#bufferPool }, tail).finally(() =>
      file.close(),
    )
  }

  #moveContentIntoPlace(incoming: string, path: string, size: number): void {
    if (!this.#touch(path, size)) this.#moveIntoPlace(incoming, path)
  }

  #newIncomingPath(): string {
    return join(this.#incomingFolder, randomUUID())
  }

  /** Returns synchronously when an object was put, in milliseconds since the epoch; null if there is no such object. */
  lastPutAt(key: string): number | null {
    return statFileSync(this.#pathOf(key), this.#objectsFolder)?.mtimeMs ?? null
  }

  /** Sets the time of content that is already stored to now. Returns false if the content is missing or incomplete. */
  #touch(path: string, size: number): boolean {
    if (statFileSync(path, this.#objectsFolder)?.size !== size) return false
    const seconds = this.#now() / 1_000
    utimesSync(path, seconds, seconds)
    // The process that renamed the file may have died before the name was on disk.
    fsyncFolder(dirname(path))
    return true
  }

  #moveIntoPlace(incoming: string, path: string): void {
    this.#makeFolders(dirname(path))
    renameSync(incoming, path)
    fsyncFolder(dirname(path))
  }

  #makeFolders(path: string): void {
    if (path === this.#objectsFolder || existsSync(path)) return
    this.#makeFolders(dirname(path))
    ensureFolder(path)
    fsyncFolder(dirname(path))
  }
}
