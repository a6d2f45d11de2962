// Large values that jobs remember, in files of their own beside the database: each sealed under a key that serves for it alone and stands in the
// sealed page that names it. A file is on disk before that page is committed, and goes when no job needs it any more; what a crash leaves in
// between is a file without a row, which the sweep removes.
import { hasJournalLease, journalFolderPath } from '../../db/files/data-folder.ts'
import {
  deleteSpilledValue,
  insertSpilledValue,
  isSpilledValueStored,
  listReleasedSpilledValues,
} from '../../db/jobs/spilled-values.ts'
import type { Store, Tx } from '../../db/store.ts'
import { makeMeasuredSteps } from '../../engine/node-api/values/measure.ts'
import type { Platform } from '../../platform.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { deserializeValueSteps, serializeParts } from '../../shared/value-serialization.ts'
import { generateSingleUseKey, openContentSteps, sealChunks } from '../../vault/single-use-encryption.ts'
import { SpilledValueFiles, type WrittenFile } from './spilled-value-files.ts'

/** Where a value lies, and what opens it. It is kept in sealed pages alone. */
export interface SpilledValue extends WrittenFile {
  readonly content_key: string
  readonly secret: Uint8Array
}

/** About how many characters or bytes a value must have to get a file: below, a file costs more than it gives. */
export const SPILL_THRESHOLD = 262_144

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

export class SpilledValueStore implements AsyncDisposable {
  readonly #store: Store
  readonly #files: SpilledValueFiles
  readonly #data_dir: string
  readonly #platform: Pick<Platform, 'secret'>
  readonly #pending = new Set<Promise<unknown>>()
  /** Keys of files that could not be removed since the last sweep. */
  readonly #unremovable = new Set<string>()
  /** Why the first of them could not. */
  #fault: unknown = null
  #removing: Promise<void> | null = null
  #needsAnotherRound = false
  #closed = false

  /** @throws StartError when the folder in `data_dir` cannot be used */
  constructor(data_dir: string, store: Store, platform: Pick<Platform, 'secret'>) {
    this.#store = store
    this.#files = new SpilledValueFiles(journalFolderPath(data_dir))
    this.#data_dir = data_dir
    this.#platform = platform
  }

  /**
   * Has a value on disk, piece by piece, so that the process goes on meanwhile. Its bytes must not change until then.
   * @throws what `signal` was aborted with, and what the file system throws; nothing is left of it then
   */
  write(value: unknown, signal: AbortSignal): Promise<SpilledValue> {
    return this.#track(this.#write(value, signal))
  }

  async #write(value: unknown, signal: AbortSignal): Promise<SpilledValue> {
    const named = this.#createName()
    return {
      ...named,
      ...(await this.#files.write(named.content_key, sealChunks(named.secret, serializeParts(value)), signal)),
    }
  }

  /** The same at once: the process does nothing else meanwhile. */
  writeSync(value: unknown): SpilledValue {
    const named = this.#createName()
    return { ...named, ...this.#files.writeSync(named.content_key, sealChunks(named.secret, serializeParts(value))) }
  }

  /**
   * The same value for a further job of the same owner, without a look at it: under a name of its own, which is on disk when `settle` has settled.
   * @throws Error where its file is missing
   */
  link(value: SpilledValue): SpilledValue {
    const content_key = this.#createKey()
    this.#files.linkSync(value.content_key, content_key)
    return { ...value, content_key }
  }

  /** Has values that were taken over on disk. */
  syncLinks(values: readonly SpilledValue[]): Promise<void> {
    return this.#track(this.#files.syncNames(values.map(({ content_key }) => content_key)))
  }

  #createName(): Pick<SpilledValue, 'content_key' | 'secret'> {
    return { content_key: this.#createKey(), secret: generateSingleUseKey() }
  }

  #createKey(): string {
    const name = Buffer.from(this.#platform.secret(NAME_BYTES), 'base64url').toString('hex')
    return `${name.slice(0, 2)}/${name}`
  }

  /** Removes values that no page names, nor ever will. */
  drop(values: readonly SpilledValue[]): void {
    for (const { content_key } of values) void this.#track(this.#files.remove(content_key)).catch(() => {})
  }

  /** Says whose a value is, in the transaction that writes the page that names it. */
  insert(tx: Tx, job_key: number, { content_key, size, sha256 }: SpilledValue): void {
    insertSpilledValue(tx, { content_key, job_key, size, sha256 })
  }

  /** A value as it was kept; it is measured then. @throws Error where its file is missing, or not what was written */
  *readSteps({ content_key, secret, size }: SpilledValue): Steps<unknown> {
    const sealed = yield* this.#files.readSteps(content_key, size)
    return yield* makeMeasuredSteps(deserializeValueSteps(yield* openContentSteps(secret, sealed)))
  }

  /** As `removeReleased`, for whoever does not wait: what fails is tried again by the sweep. */
  removeSoon(): void {
    this.removeReleased().catch(() => {})
  }

  /** Removes the files that no job needs any more. While a backup is made they stay until later, and one that cannot be removed until the next sweep. */
  removeReleased(): Promise<void> {
    this.#needsAnotherRound = true
    this.#removing ??= this.#track(this.#removeAll()).finally(() => {
      this.#removing = null
    })
    return this.#removing
  }

  async #removeAll(): Promise<void> {
    while (this.#needsAnotherRound) {
      this.#needsAnotherRound = false
      for (let keys = this.#listReleased(); keys.length > 0; keys = this.#listReleased()) {
        const removed = await this.#removeSome(keys)
        await this.#store.write((tx) => {
          for (const key of removed) deleteSpilledValue(tx, key)
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
        if (this.#unremovable.size >= MOST_STUCK) throw error
        this.#unremovable.add(key)
        this.#fault ??= error
      }
    return removed
  }

  #listReleased(): string[] {
    return this.#closed || hasJournalLease(this.#data_dir)
      ? []
      : this.#store.read((tx) => listReleasedSpilledValues(tx, REMOVED_AT_ONCE, this.#unremovable))
  }

  /**
   * Removes what is released, and files without a row that are older than an hour, of the next files of the folder.
   * @throws what the file system threw at the first file that could not be removed, when all others have been seen to
   */
  async sweep(): Promise<void> {
    this.#unremovable.clear()
    this.#fault = null
    await this.removeReleased()
    // By the clock of the file system, as the times of files are.
    for (const key of await this.#files.listNextOlderThan(SWEPT, Date.now() - GRACE_MS))
      if (!this.#closed && !this.#store.read((tx) => isSpilledValueStored(tx, key))) await this.#removeSome([key])
    if (this.#fault !== null) throw this.#fault
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work)
    const over = () => void this.#pending.delete(work)
    work.then(over, over)
    return work
  }

  /** Settles when nothing is read or written any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await Promise.allSettled([...this.#pending])
  }
}
