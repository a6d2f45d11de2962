// Large values that jobs remember, in files of their own beside the database: each sealed under a key that serves for it alone and stands in the
// sealed page that names it. A file is on disk before that page is committed, and goes when no job needs it any more; what a crash leaves in
// between is a file without a row, which the sweep removes.
import { isHeld, journalFolder } from '../db/data-folder.ts'
import { forgetSpilledValue, insertSpilledValue, isSpilledValue, releasedValues } from '../db/spilled-values.ts'
import type { Store, Tx } from '../db/store.ts'
import { measuredSteps } from '../engine/measure.ts'
import type { Platform } from '../platform.ts'
import type { Steps } from '../time-slices.ts'
import { partsOf, valueSteps } from '../value-parts.ts'
import { newContentKey, openContentSteps, sealedPieces } from '../vault/single-use.ts'
import { SpilledFiles, type WrittenFile } from './spilled-files.ts'

/** Where a value lies, and what opens it. It is kept in sealed pages alone. */
export interface SpilledValue extends WrittenFile {
  readonly content_key: string
  readonly secret: Uint8Array
}

/** About how many characters or bytes a value must have to get a file: below, a file costs more than it gives. */
export const SPILLED_FROM = 262_144

/** A file without a row is kept for so long, in milliseconds: the page that names it may be about to be committed. */
const GRACE_MS = 3_600_000
/** Files that are removed between two commits. */
const REMOVED_AT_ONCE = 32
/** Of so many files that could not be removed the others go on; with more the folder is at fault. */
const MOST_STUCK = 1_000
/** Random bytes in a name. */
const NAME_BYTES = 18
/** Files that the sweep looks at in one round, or a few more. */
const SWEPT = 500

export class SpilledValues implements AsyncDisposable {
  readonly #store: Store
  readonly #files: SpilledFiles
  readonly #data_dir: string
  readonly #platform: Pick<Platform, 'secret'>
  readonly #under_way = new Set<Promise<unknown>>()
  /** Keys of files that could not be removed since the last sweep. */
  readonly #stuck = new Set<string>()
  /** Why the first of them could not. */
  #fault: unknown = null
  #removing: Promise<void> | null = null
  #again = false
  #closed = false

  /** @throws StartError when the folder in `data_dir` cannot be used */
  constructor(data_dir: string, store: Store, platform: Pick<Platform, 'secret'>) {
    this.#store = store
    this.#files = new SpilledFiles(journalFolder(data_dir))
    this.#data_dir = data_dir
    this.#platform = platform
  }

  /**
   * Has a value on disk, piece by piece, so that the process goes on meanwhile. Its bytes must not change until then.
   * @throws what `signal` was aborted with, and what the file system throws; nothing is left of it then
   */
  keep(value: unknown, signal: AbortSignal): Promise<SpilledValue> {
    return this.#during(this.#keep(value, signal))
  }

  async #keep(value: unknown, signal: AbortSignal): Promise<SpilledValue> {
    const named = this.#named()
    return {
      ...named,
      ...(await this.#files.write(named.content_key, sealedPieces(named.secret, partsOf(value)), signal)),
    }
  }

  /** The same at once: the process does nothing else meanwhile. */
  keepSync(value: unknown): SpilledValue {
    const named = this.#named()
    return { ...named, ...this.#files.writeSync(named.content_key, sealedPieces(named.secret, partsOf(value))) }
  }

  /**
   * The same value for a further job of the same owner, without a look at it: under a name of its own, which is on disk when `settle` has settled.
   * @throws Error where its file is missing
   */
  takeOver(value: SpilledValue): SpilledValue {
    const content_key = this.#newKey()
    this.#files.linkSync(value.content_key, content_key)
    return { ...value, content_key }
  }

  /** Has values that were taken over on disk. */
  settle(values: readonly SpilledValue[]): Promise<void> {
    return this.#during(this.#files.syncNames(values.map(({ content_key }) => content_key)))
  }

  #named(): Pick<SpilledValue, 'content_key' | 'secret'> {
    return { content_key: this.#newKey(), secret: newContentKey() }
  }

  #newKey(): string {
    const name = Buffer.from(this.#platform.secret(NAME_BYTES), 'base64url').toString('hex')
    return `${name.slice(0, 2)}/${name}`
  }

  /** Removes values that no page names, nor ever will. */
  drop(values: readonly SpilledValue[]): void {
    for (const { content_key } of values) void this.#during(this.#files.remove(content_key)).catch(() => {})
  }

  /** Says whose a value is, in the transaction that writes the page that names it. */
  insert(tx: Tx, job_key: number, { content_key, size, sha256 }: SpilledValue): void {
    insertSpilledValue(tx, { content_key, job_key, size, sha256 })
  }

  /** A value as it was kept; it is measured then. @throws Error where its file is missing, or not what was written */
  *readSteps({ content_key, secret, size }: SpilledValue): Steps<unknown> {
    const sealed = yield* this.#files.readSteps(content_key, size)
    return yield* measuredSteps(valueSteps(yield* openContentSteps(secret, sealed)))
  }

  /** As `removeReleased`, for whoever does not wait: what fails is tried again by the sweep. */
  removeSoon(): void {
    this.removeReleased().catch(() => {})
  }

  /** Removes the files that no job needs any more. While a backup is made they stay until later, and one that cannot be removed until the next sweep. */
  removeReleased(): Promise<void> {
    this.#again = true
    this.#removing ??= this.#during(this.#removeAll()).finally(() => {
      this.#removing = null
    })
    return this.#removing
  }

  async #removeAll(): Promise<void> {
    while (this.#again) {
      this.#again = false
      for (let keys = this.#released(); keys.length > 0; keys = this.#released()) {
        const removed = await this.#removeSome(keys)
        await this.#store.write((tx) => {
          for (const key of removed) forgetSpilledValue(tx, key)
        })
      }
    }
  }

  /** Removes files, and gives which. A file that cannot be removed keeps no others: the sweep tries it again. */
  async #removeSome(keys: readonly string[]): Promise<string[]> {
    const removed: string[] = []
    for (const key of keys)
      try {
        await this.#files.remove(key)
        removed.push(key)
      } catch (error) {
        if (this.#stuck.size >= MOST_STUCK) throw error
        this.#stuck.add(key)
        this.#fault ??= error
      }
    return removed
  }

  #released(): string[] {
    return this.#closed || isHeld(this.#data_dir)
      ? []
      : this.#store.read((tx) => releasedValues(tx, REMOVED_AT_ONCE, this.#stuck))
  }

  /**
   * Removes what is released, and files without a row that are older than an hour, of the next files of the folder.
   * @throws what the file system threw at the first file that could not be removed, when all others have been seen to
   */
  async sweep(): Promise<void> {
    this.#stuck.clear()
    this.#fault = null
    await this.removeReleased()
    // By the clock of the file system, as the times of files are.
    for (const key of await this.#files.next(SWEPT, Date.now() - GRACE_MS))
      if (!this.#closed && !this.#store.read((tx) => isSpilledValue(tx, key))) await this.#removeSome([key])
    if (this.#fault !== null) throw this.#fault
  }

  #during<T>(work: Promise<T>): Promise<T> {
    this.#under_way.add(work)
    const over = () => void this.#under_way.delete(work)
    work.then(over, over)
    return work
  }

  /** Settles when nothing is read or written any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await Promise.allSettled([...this.#under_way])
  }
}
