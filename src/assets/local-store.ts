// Objects as files of one folder. A file is written under a temporary name and renamed when it is whole and on disk, so that
// every file with a name of its own is whole.
import { randomUUID } from 'node:crypto'
import { existsSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { StartError } from '../start-error.ts'
import { syncFolder } from '../sync-folder.ts'
import {
  fileAt,
  keysBelow,
  leadsAway,
  makeFolder,
  openAt,
  piecesOf,
  removeEmptyFolders,
  statAt,
  writeSync,
  writeTo,
} from './disk.ts'
import { FilePieces, SparePieces } from './file-pieces.ts'
import { Head } from './head.ts'
import { isKey } from './keys.ts'
import type { ByteRange, ObjectFacts, ObjectStore, Received, Source, Tail, Written } from './object-store.ts'

/** Pieces of memory that are kept for the next reads and writes: 4 MiB. */
const SPARE = 32

/** An object as it was when it was looked at, whatever is put in its place meanwhile. */
export interface HeldObject extends AsyncDisposable {
  readonly facts: ObjectFacts
  read(start: number, length: number): AsyncIterable<Uint8Array>
  /** Removes it; false, and nothing happens, where another was put in its place or it was put anew. At once, but for the freeing of its blocks. */
  remove(): Promise<boolean>
}

export class LocalStore implements ObjectStore {
  readonly #objects: string
  readonly #incoming: string
  readonly #now: () => number
  readonly #spare = new SparePieces(SPARE)

  /**
   * Makes the folder where it is missing, and removes what a process that died was writing. The folder belongs to one process at
   * a time. `now` gives milliseconds since the epoch.
   * @throws StartError when the folder cannot be used
   */
  constructor(root: string, now: () => number) {
    this.#objects = join(root, 'objects')
    this.#incoming = join(root, 'incoming')
    this.#now = now
    try {
      rmSync(this.#incoming, { recursive: true, force: true })
      for (const folder of [root, this.#objects, this.#incoming]) makeFolder(folder)
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error)
      throw new StartError(`the folder ${root} cannot be used (${reason}); check its owner and mode`, { cause: error })
    }
  }

  async put(key: string, source: Source, tail?: Tail): Promise<Written> {
    const path = this.#placeOf(key)
    const incoming = this.#newName()
    try {
      const written = await this.#write(incoming, source, tail)
      this.#settle(incoming, path)
      return written
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  async receive(source: Source): Promise<Received> {
    const incoming = this.#newName()
    const head = new Head()
    try {
      const written = await this.#write(incoming, head.of(source))
      return {
        ...written,
        head: head.bytes,
        settle: (key) => this.#settleContent(incoming, this.#placeOf(key), written.size),
        [Symbol.dispose]: () => rmSync(incoming, { force: true }),
      }
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  putSync(key: string, bytes: Uint8Array, tail?: Uint8Array): void {
    const path = this.#placeOf(key)
    if (!tail && this.#refresh(path, bytes.length)) return
    const incoming = this.#newName()
    try {
      writeSync(incoming, tail ? [bytes, tail] : [bytes], this.#now())
      this.#settle(incoming, path)
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  async get(key: string, { start, length }: ByteRange): Promise<Readable | null> {
    const file = await openAt(this.#pathOf(key), this.#objects)
    if (file === null) return null
    const facts = await file.stat()
    const { size } = facts
    if (facts.isFile() && length > 0 && start + length <= size)
      return new FilePieces(file, { start, length }, this.#spare)
    await file.close()
    if (!facts.isFile()) return null
    if (length === 0) return Readable.from([])
    throw new Error(`the object ${key} has ${size} bytes, too few for ${length} from ${start}`)
  }

  async stat(key: string): Promise<ObjectFacts | null> {
    const found = await statAt(this.#pathOf(key), this.#objects)
    return found?.isFile() ? { size: found.size, put_at: found.mtimeMs } : null
  }

  /** Null where there is no such object. */
  async hold(key: string): Promise<HeldObject | null> {
    const path = this.#pathOf(key)
    const file = await openAt(path, this.#objects)
    if (file === null) return null
    // As long as it is open, no other file has its number.
    const { ino, mtimeMs, size } = await file.stat()
    return {
      facts: { size, put_at: mtimeMs },
      read: (start, length) => piecesOf(file, start, length),
      remove: async () => {
        const found = fileAt(path, this.#objects)
        return found?.ino === ino && found.mtimeMs === mtimeMs && (await this.#remove(path))
      },
      [Symbol.asyncDispose]: () => file.close(),
    }
  }

  async delete(key: string, put_since = Number.POSITIVE_INFINITY): Promise<boolean> {
    const path = this.#pathOf(key)
    const found = fileAt(path, this.#objects)
    return found !== null && found.mtimeMs < put_since && (await this.#remove(path))
  }

  async list(after: string | null, limit: number): Promise<string[]> {
    const keys: string[] = []
    if (limit <= 0) return keys
    for await (const key of keysBelow(this.#objects, '', after)) {
      keys.push(key)
      if (keys.length === limit) break
    }
    return keys
  }

  listHere(after: string | null, limit: number): Promise<string[]> {
    return this.list(after, limit)
  }

  #pathOf(key: string): string {
    if (!isKey(key)) throw new TypeError(`not a key: ${JSON.stringify(key)}`)
    return join(this.#objects, ...key.split('/'))
  }

  /** Where an object is put. @throws Error where its folder is a link: nothing is written elsewhere */
  #placeOf(key: string): string {
    const path = this.#pathOf(key)
    if (leadsAway(path, this.#objects)) throw new Error(`a folder of the object ${key} in the store is a link`)
    return path
  }

  /** Between a look at the file and this nothing else must run. */
  async #remove(path: string): Promise<true> {
    const aside = this.#newName()
    renameSync(path, aside)
    removeEmptyFolders(path, this.#objects)
    // Freeing the blocks of a large file takes its time.
    await unlink(aside)
    return true
  }

  async #write(incoming: string, source: Source, tail?: Tail): Promise<Written> {
    const file = await open(incoming, 'wx', 0o600)
    return await writeTo(file, source, { now: this.#now, spare: this.#spare }, tail).finally(() => file.close())
  }

  #settleContent(incoming: string, path: string, size: number): void {
    if (!this.#refresh(path, size)) this.#settle(incoming, path)
  }

  #newName(): string {
    return join(this.#incoming, randomUUID())
  }

  /** When it was put, in milliseconds since the epoch; null where there is no such object. At once. */
  putAt(key: string): number | null {
    return fileAt(this.#pathOf(key), this.#objects)?.mtimeMs ?? null
  }

  /** Lets content that is there count as put now; false where it is not, or not whole. */
  #refresh(path: string, size: number): boolean {
    if (fileAt(path, this.#objects)?.size !== size) return false
    const seconds = this.#now() / 1_000
    utimesSync(path, seconds, seconds)
    // Whoever renamed it may have died before the name was on disk.
    syncFolder(dirname(path))
    return true
  }

  #settle(incoming: string, path: string): void {
    this.#makeFolders(dirname(path))
    renameSync(incoming, path)
    syncFolder(dirname(path))
  }

  #makeFolders(path: string): void {
    if (path === this.#objects || existsSync(path)) return
    this.#makeFolders(dirname(path))
    makeFolder(path)
    syncFolder(dirname(path))
  }
}
