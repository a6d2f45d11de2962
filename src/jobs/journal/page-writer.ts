// Writes the pages of job journals. Small values are in the pages themselves, large values in files that the pages name.
import { serialize } from 'node:v8'
import { insertJournalPage } from '../../db/jobs/journal.ts'
import type { Tx } from '../../db/store.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import type { Cipher } from '../../vault/vault.ts'
import { type JobParams, LazyValue, type SpilledPage } from '../values/lazy-value.ts'
import { SPILL_THRESHOLD, type SpilledValue, type SpilledValueStore } from '../values/spilled-value-store.ts'
import type { JournalEntry } from './entry.ts'

export interface JournalStorage {
  /** Encrypts pages. */
  readonly cipher: Cipher
  readonly spilled: SpilledValueStore
}

/** The additional authenticated data of a page: its job and number. */
export function formatPageContext(job_key: number, page: number): string {
  return `${job_key}/${page}`
}

/** A page holds values of about this many characters. Encrypting a page at once must not block the event loop for long. */
export const PAGE_WEIGHT = 4_000_000
/** One transaction should write at most this many entries. */
export const MAX_ENTRIES_PER_COMMIT = 10_000
/** The weight of an entry besides its value, which is its last element. */
const ENTRY_WEIGHT = 32

/** About this many characters or bytes of large values may wait for the disk: as many as may be on the edges of a run. */
const MOST_WAITING = 256_000_000

/** Entries whose values may be large. */
const VALUE_ENTRY_KINDS: ReadonlySet<JournalEntry[0]> = new Set<JournalEntry[0]>([
  'done',
  'item',
  'end',
  'answer',
  'push',
  'update',
  'graph',
])

export interface PagesToWrite {
  /** The number of the first page; 0 has the parameters. */
  readonly from: number
  readonly params: JobParams
  readonly entries: readonly JournalEntry[]
}

export class JournalPageWriter {
  readonly #tools: JournalStorage
  readonly #job_key: number
  /** The file of each entry, or of the parameters. */
  readonly #files = new WeakMap<object, SpilledValue>()
  /** Links to files of another job, which may not be on disk yet. */
  #linkedFiles: SpilledValue[] = []
  /** The approximate size of the large values that wait to be written. */
  #waitingSize = 0

  constructor(tools: JournalStorage, job_key: number) {
    this.#tools = tools
    this.#job_key = job_key
  }

  /** Returns null where every large value has a file. `params` is null where the parameters are stored already. */
  spill(params: JobParams | null, entries: readonly JournalEntry[], signal: AbortSignal): Promise<void> | null {
    const large: { owner: object; value: unknown }[] = []
    const add = (owner: object, value: unknown) => {
      if (estimateSize(value) >= SPILL_THRESHOLD && !this.#files.has(owner)) large.push({ owner, value })
    }
    if (params) add(params, params)
    for (const entry of entries) if (VALUE_ENTRY_KINDS.has(entry[0])) add(entry, entry.at(-1))
    return large.length + this.#linkedFiles.length === 0 ? null : this.#spillAll(large, signal)
  }

  /**
   * The entry to stage. It has no value where the value is in a file of another job, or where too many values wait for the disk. In the second case the
   * value is written synchronously, so that the process makes no more values meanwhile.
   */
  boundEntry(entry: JournalEntry): JournalEntry {
    if (!VALUE_ENTRY_KINDS.has(entry[0])) return entry
    const value: unknown = entry.at(-1)
    if (value instanceof LazyValue && value.file) return this.#linkFile(entry, value.file)
    const size = estimateSize(value)
    if (size < SPILL_THRESHOLD) return entry
    this.#waitingSize += size
    if (this.#waitingSize <= MOST_WAITING) return entry
    this.#waitingSize -= size
    const bare = withoutValue(entry)
    this.#files.set(bare, this.#tools.spilled.writeSync(value))
    return bare
  }

  #linkFile(entry: JournalEntry, { takenOver }: { takenOver(): SpilledValue }): JournalEntry {
    const bare = withoutValue(entry)
    const file = takenOver()
    this.#files.set(bare, file)
    this.#linkedFiles.push(file)
    return bare
  }

  /** The entry to keep in memory: its value is lazy where it is in a file. */
  withLazyValue(staged: JournalEntry): JournalEntry {
    const file = this.#files.get(staged)
    return file && VALUE_ENTRY_KINDS.has(staged[0])
      ? withValue(staged, LazyValue.fromFile(this.#tools.spilled, file))
      : staged
  }

  /** The entries are written or no longer needed: their values stop waiting. */
  markWritten(entries: readonly JournalEntry[]): void {
    for (const entry of entries) {
      const size = VALUE_ENTRY_KINDS.has(entry[0]) ? estimateSize(entry.at(-1)) : 0
      if (size >= SPILL_THRESHOLD) this.#waitingSize -= size
    }
  }

  /** Removes the files of entries that are not written. */
  drop(entries: readonly JournalEntry[]): void {
    this.#tools.spilled.drop(entries.flatMap((entry) => this.#files.get(entry) ?? []))
  }

  async #spillAll(large: readonly { owner: object; value: unknown }[], signal: AbortSignal): Promise<void> {
    const kept: SpilledValue[] = []
    const takenOver = this.#linkedFiles.splice(0)
    try {
      if (takenOver.length > 0) await this.#tools.spilled.syncLinks(takenOver)
      for (const { value } of large) kept.push(await this.#tools.spilled.write(value, signal))
    } catch (error) {
      this.#tools.spilled.drop(kept)
      this.#linkedFiles.unshift(...takenOver)
      throw error
    }
    for (const [at, { owner }] of large.entries()) this.#files.set(owner, kept[at]!)
  }

  /** Writes pages, and returns their number and bytes. Large values must have their files. */
  write(tx: Tx, attempt: number, { from, params, entries }: PagesToWrite): { pages: number; bytes: number } {
    let page = from
    let bytes = 0
    if (page === 0) bytes += this.#insertPage(tx, page++, attempt, this.#buildFirstPage(tx, params))
    for (const some of this.#splitIntoPages(entries))
      bytes += this.#insertPage(tx, page++, attempt, this.#buildPage(tx, some))
    return { pages: page - from, bytes }
  }

  #buildFirstPage(tx: Tx, params: JobParams): unknown {
    const file = this.#files.get(params)
    if (file) this.#tools.spilled.insert(tx, this.#job_key, file)
    return file ? [file] : params
  }

  #buildPage(tx: Tx, entries: readonly JournalEntry[]): readonly JournalEntry[] | SpilledPage {
    const files = new Map<number, SpilledValue>()
    for (const [at, entry] of entries.entries()) {
      const file = this.#files.get(entry)
      if (!file) continue
      this.#tools.spilled.insert(tx, this.#job_key, file)
      files.set(at, file)
    }
    if (files.size === 0) return entries
    return { entries: entries.map((entry, at) => (files.has(at) ? withoutValue(entry) : entry)), files }
  }

  #insertPage(tx: Tx, page: number, attempt: number, content: unknown): number {
    const body = this.#tools.cipher.seal(serialize(content), formatPageContext(this.#job_key, page))
    insertJournalPage(tx, { job_key: this.#job_key, page, attempt, body })
    return body.length
  }

  #splitIntoPages(entries: readonly JournalEntry[]): JournalEntry[][] {
    const pages: JournalEntry[][] = []
    let weight = PAGE_WEIGHT
    for (const entry of entries) {
      if (weight >= PAGE_WEIGHT) {
        pages.push([])
        weight = 0
      }
      pages.at(-1)!.push(entry)
      weight += this.estimateWeight(entry)
    }
    return pages
  }

  /** About how many characters the entry has in its page. */
  estimateWeight(entry: JournalEntry): number {
    return ENTRY_WEIGHT + (this.#files.has(entry) ? 0 : estimateSize(entry.at(-1)))
  }

  /** How many of the first entries one transaction should write: a page, or a little more. */
  countFitting(entries: readonly JournalEntry[]): number {
    let count = 0
    for (let weight = 0; count < entries.length && count < MAX_ENTRIES_PER_COMMIT && weight < PAGE_WEIGHT; count++)
      weight += this.estimateWeight(entries[count]!)
    return count
  }
}

function withoutValue(entry: JournalEntry): JournalEntry {
  return withValue(entry, null)
}

function withValue(entry: JournalEntry, value: unknown): JournalEntry {
  return (entry as readonly unknown[]).with(-1, value) as unknown as JournalEntry
}
