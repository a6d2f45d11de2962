// Stores large values of job journals in files beside the database. Each is encrypted under a single-use key, which is in the encrypted page that names
// the file. A file is on disk before that page is committed, and is removed when no job needs it. A crash in between leaves a file without a row, which
// the sweep removes.
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

/** The key of a file and its secret. It is stored in encrypted pages only. */
export interface SpilledValue extends WrittenFile {
  readonly content_key: string
  readonly secret: Uint8Array
}

/** The approximate size in characters or bytes from which a value gets a file: below, a file costs more than it saves. */
export const SPILL_THRESHOLD = 262_144

/** Milliseconds for which a file without a row is kept: the page that names it may be about to be committed. */
const GRACE_MS = 3_600_000
/** Files that are removed per commit. */
const REMOVED_AT_ONCE = 32
/** Up to this many unremovable files are skipped; with more the folder itself is at fault. */
const MOST_STUCK = 1_000
/** Random bytes in a name. */
const NAME_BYTES = 18
/** Files that the sweep checks in one round, or a few more. */
const SWEPT = 500

export class SpilledValueStore implements AsyncDisposable {
  readonly #store: Store
  readonly #files: SpilledValueFiles
  readonly #data_dir: string
  readonly #platform: Pick<Platform, 'secret'>
  readonly #pending = new Set<Promise<unknown>>()
  /** Keys of files that could not be removed since the last sweep. */
  readonly #unremovable = new Set<string>()
  /** The error of the first of them. */
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
   * Writes a value to disk in pieces, without blocking the process. Its bytes must not change meanwhile.
   * @throws the reason of `signal`, and errors of the file system; no file is left then
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

  /** `write`, synchronously: the process is blocked meanwhile. */
  writeSync(value: unknown): SpilledValue {
    const named = this.#createName()
    return { ...named, ...this.#files.writeSync(named.content_key, sealChunks(named.secret, serializeParts(value))) }
  }

  /**
   * Links the value for a further job of the same owner, without reading it. The new name is on disk when `syncLinks` has resolved.
   * @throws Error where the file is missing
   */
  link(value: SpilledValue): SpilledValue {
    const content_key = this.#createKey()
    this.#files.linkSync(value.content_key, content_key)
    return { ...value, content_key }
  }

  /** Syncs the names of linked values to disk. */
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

  /** Removes the files of values that no page will ever name. */
  drop(values: readonly SpilledValue[]): void {
    for (const { content_key } of values) void this.#track(this.#files.remove(content_key)).catch(() => {})
  }

  /** Inserts the row of a value, in the transaction that writes the page that names it. */
  insert(tx: Tx, job_key: number, { content_key, size, sha256 }: SpilledValue): void {
    insertSpilledValue(tx, { content_key, job_key, size, sha256 })
  }

  /** Reads a value, and caches its measured size. @throws Error where the file is missing or corrupt */
  *readSteps({ content_key, secret, size }: SpilledValue): Steps<unknown> {
    const sealed = yield* this.#files.readSteps(content_key, size)
    return yield* makeMeasuredSteps(deserializeValueSteps(yield* openContentSteps(secret, sealed)))
  }

  /** `removeReleased` for callers that do not wait: the sweep retries failures. */
  removeSoon(): void {
    this.removeReleased().catch(() => {})
  }

  /** Removes the files that no job needs. During a backup they stay. A file that cannot be removed stays until the next sweep. */
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

  /** Removes files, and returns the removed keys. A file that cannot be removed does not keep the others; the sweep retries it. */
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
   * Removes released files, and in the next folders files without a row that are older than an hour.
   * @throws the error of the first file that could not be removed, after all others were handled
   */
  async sweep(): Promise<void> {
    this.#unremovable.clear()
    this.#fault = null
    await this.removeReleased()
    // File times come from the system clock, not from the platform's clock.
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

  /** Waits for all pending reads and writes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await Promise.allSettled([...this.#pending])
  }
}
