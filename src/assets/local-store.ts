// Objects as files of one folder. A file is written under a temporary name and renamed when it is whole and on disk, so that
// every file with a name of its own is whole.
import { randomUUID } from 'node:crypto'
import { constants, existsSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { lstat, open, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { StartError } from '../start-error.ts'
import { fileAt, keysBelow, makeFolder, nothingWhereMissing, syncFolder, writeSync, writeTo } from './disk.ts'
import { isKey } from './keys.ts'
import type { ByteRange, ObjectFacts, ObjectStore, Written } from './object-store.ts'

/** Bytes that are read at once. */
const CHUNK = 128 * 1024
/** The last segment of a path is never followed as a link. Windows knows no such flag. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

export class LocalStore implements ObjectStore {
  readonly #objects: string
  readonly #incoming: string
  readonly #now: () => number

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

  async put(key: string, source: Uint8Array | AsyncIterable<Uint8Array>): Promise<Written> {
    const path = this.#pathOf(key)
    const incoming = this.#newName()
    try {
      const file = await open(incoming, 'wx', 0o600)
      const written = await writeTo(file, source, this.#now()).finally(() => file.close())
      this.#settle(incoming, path)
      return written
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  putSync(key: string, bytes: Uint8Array): void {
    const path = this.#pathOf(key)
    if (this.#refresh(path, bytes.length)) return
    const incoming = this.#newName()
    try {
      writeSync(incoming, bytes, this.#now())
      this.#settle(incoming, path)
    } catch (error) {
      rmSync(incoming, { force: true })
      throw error
    }
  }

  async get(key: string, { start, length }: ByteRange): Promise<Readable | null> {
    const path = this.#pathOf(key)
    const file = await open(path, READ).catch(nothingWhereMissing)
    if (file === null) return null
    const facts = await file.stat()
    const { size } = facts
    if (facts.isFile() && length > 0 && start + length <= size)
      return file.createReadStream({ start, end: start + length - 1, highWaterMark: CHUNK })
    await file.close()
    if (!facts.isFile()) return null
    if (length === 0) return Readable.from([])
    throw new Error(`the object ${key} has ${size} bytes, too few for ${length} from ${start}`)
  }

  async stat(key: string): Promise<ObjectFacts | null> {
    const found = await lstat(this.#pathOf(key)).catch(nothingWhereMissing)
    return found?.isFile() ? { size: found.size, put_at: found.mtimeMs } : null
  }

  async delete(key: string, put_since = Number.POSITIVE_INFINITY): Promise<boolean> {
    const path = this.#pathOf(key)
    const aside = this.#newName()
    const found = fileAt(path)
    if (!found || found.mtimeMs >= put_since) return false
    // Between the look at it and this nothing else has run. Freeing the blocks of a large file takes its time.
    renameSync(path, aside)
    await unlink(aside)
    return true
  }

  async list(after: string | null, limit: number): Promise<string[]> {
    const keys: string[] = []
    if (limit <= 0) return keys
    for await (const key of keysBelow(this.#objects, '', after?.split('/') ?? [])) {
      keys.push(key)
      if (keys.length === limit) break
    }
    return keys
  }

  #pathOf(key: string): string {
    if (!isKey(key)) throw new TypeError(`not a key: ${JSON.stringify(key)}`)
    return join(this.#objects, ...key.split('/'))
  }

  #newName(): string {
    return join(this.#incoming, randomUUID())
  }

  /** Lets content that is there count as put now; false where it is not, or not whole. */
  #refresh(path: string, size: number): boolean {
    if (fileAt(path)?.size !== size) return false
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
