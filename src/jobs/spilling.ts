// How what a job remembers lies in pages: small values in the pages themselves, large ones in files that the pages name.
import { serialize } from 'node:v8'
import { insertJournalPage } from '../db/job-journal.ts'
import type { Tx } from '../db/store.ts'
import { sizeOf } from '../engine/measure.ts'
import type { Cipher } from '../vault/vault.ts'
import type { Entry } from './entry.ts'
import { Later, type Params, type SpilledPage } from './later.ts'
import { SPILLED_FROM, type SpilledValue, type SpilledValues } from './spilled-values.ts'

export interface MemoryTools {
  /** Seals pages. */
  readonly cipher: Cipher
  readonly spilled: SpilledValues
}

/** What a page is sealed with besides: its place. */
export function contextOf(job_key: number, page: number): string {
  return `${job_key}/${page}`
}

/** About how many characters of values a page holds: what is sealed at once must not hold up the process. */
export const PAGE_WEIGHT = 4_000_000
/** How many entries one transaction should write, where there are more. */
export const MOST_AT_ONCE = 10_000
/** What an entry counts besides its value, which stands last. */
const ENTRY_WEIGHT = 32

/** About how many characters or bytes of large values may wait to be on disk: as many as may be on the edges of a run. */
const MOST_WAITING = 256_000_000

/** Entries whose values may be large. */
const OF_VALUES: ReadonlySet<Entry[0]> = new Set<Entry[0]>(['done', 'item', 'end', 'answer', 'push', 'update', 'graph'])

export interface Written {
  /** The number of the first page; 0 has the parameters. */
  readonly from: number
  readonly params: Params
  readonly entries: readonly Entry[]
}

export class Spilling {
  readonly #tools: MemoryTools
  readonly #job_key: number
  /** By entry, or by the parameters. */
  readonly #files = new WeakMap<object, SpilledValue>()
  /** Files that were taken over, and may not be on disk yet. */
  #takenOver: SpilledValue[] = []
  /** About how many characters or bytes of large values wait to be written. */
  #waiting = 0

  constructor(tools: MemoryTools, job_key: number) {
    this.#tools = tools
    this.#job_key = job_key
  }

  /** Null: nothing is large that has no file yet. `params` null: they are written already. */
  spill(params: Params | null, entries: readonly Entry[], signal: AbortSignal): Promise<void> | null {
    const large: { owner: object; value: unknown }[] = []
    const add = (owner: object, value: unknown) => {
      if (sizeOf(value) >= SPILLED_FROM && !this.#files.has(owner)) large.push({ owner, value })
    }
    if (params) add(params, params)
    for (const entry of entries) if (OF_VALUES.has(entry[0])) add(entry, entry.at(-1))
    return large.length + this.#takenOver.length === 0 ? null : this.#spillAll(large, signal)
  }

  /**
   * What is to be staged of an entry: without its value, which is on disk then, where too much waits for that already, or where it is one of
   * another job's files. The process does nothing else meanwhile, and so makes nothing more that would have to wait.
   */
  bounded(entry: Entry): Entry {
    if (!OF_VALUES.has(entry[0])) return entry
    const value: unknown = entry.at(-1)
    if (value instanceof Later && value.file) return this.#takeOver(entry, value.file)
    const size = sizeOf(value)
    if (size < SPILLED_FROM) return entry
    this.#waiting += size
    if (this.#waiting <= MOST_WAITING) return entry
    this.#waiting -= size
    const bare = without(entry)
    this.#files.set(bare, this.#tools.spilled.keepSync(value))
    return bare
  }

  #takeOver(entry: Entry, { takenOver }: { takenOver(): SpilledValue }): Entry {
    const bare = without(entry)
    const file = takenOver()
    this.#files.set(bare, file)
    this.#takenOver.push(file)
    return bare
  }

  /** What is to be known of an entry that is staged: its value may be one that lies in its file. */
  known(staged: Entry): Entry {
    const file = this.#files.get(staged)
    return file && OF_VALUES.has(staged[0]) ? withValue(staged, Later.inFile(this.#tools.spilled, file)) : staged
  }

  /** Entries wait no more: they are written, or nobody needs them. */
  settle(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const size = OF_VALUES.has(entry[0]) ? sizeOf(entry.at(-1)) : 0
      if (size >= SPILLED_FROM) this.#waiting -= size
    }
  }

  /** Removes the files of entries that are not written. */
  drop(entries: readonly Entry[]): void {
    this.#tools.spilled.drop(entries.flatMap((entry) => this.#files.get(entry) ?? []))
  }

  async #spillAll(large: readonly { owner: object; value: unknown }[], signal: AbortSignal): Promise<void> {
    const kept: SpilledValue[] = []
    const takenOver = this.#takenOver.splice(0)
    try {
      if (takenOver.length > 0) await this.#tools.spilled.settle(takenOver)
      for (const { value } of large) kept.push(await this.#tools.spilled.keep(value, signal))
    } catch (error) {
      this.#tools.spilled.drop(kept)
      this.#takenOver.unshift(...takenOver)
      throw error
    }
    for (const [at, { owner }] of large.entries()) this.#files.set(owner, kept[at]!)
  }

  /** Writes pages, and gives how many, and how many bytes they have. What is large must have its file. */
  write(tx: Tx, attempt: number, { from, params, entries }: Written): { pages: number; bytes: number } {
    let page = from
    let bytes = 0
    if (page === 0) bytes += this.#insert(tx, page++, attempt, this.#firstPage(tx, params))
    for (const some of this.#pagesOf(entries)) bytes += this.#insert(tx, page++, attempt, this.#pageWith(tx, some))
    return { pages: page - from, bytes }
  }

  #firstPage(tx: Tx, params: Params): unknown {
    const file = this.#files.get(params)
    if (file) this.#tools.spilled.insert(tx, this.#job_key, file)
    return file ? [file] : params
  }

  #pageWith(tx: Tx, entries: readonly Entry[]): readonly Entry[] | SpilledPage {
    const files = new Map<number, SpilledValue>()
    for (const [at, entry] of entries.entries()) {
      const file = this.#files.get(entry)
      if (!file) continue
      this.#tools.spilled.insert(tx, this.#job_key, file)
      files.set(at, file)
    }
    if (files.size === 0) return entries
    return { entries: entries.map((entry, at) => (files.has(at) ? without(entry) : entry)), files }
  }

  #insert(tx: Tx, page: number, attempt: number, content: unknown): number {
    const body = this.#tools.cipher.seal(serialize(content), contextOf(this.#job_key, page))
    insertJournalPage(tx, { job_key: this.#job_key, page, attempt, body })
    return body.length
  }

  #pagesOf(entries: readonly Entry[]): Entry[][] {
    const pages: Entry[][] = []
    let weight = PAGE_WEIGHT
    for (const entry of entries) {
      if (weight >= PAGE_WEIGHT) {
        pages.push([])
        weight = 0
      }
      pages.at(-1)!.push(entry)
      weight += this.weightOf(entry)
    }
    return pages
  }

  /** About how many characters it has in its page. */
  weightOf(entry: Entry): number {
    return ENTRY_WEIGHT + (this.#files.has(entry) ? 0 : sizeOf(entry.at(-1)))
  }

  /** How many of the entries, from the first on, one transaction should write: a page, or a little more. */
  fitting(entries: readonly Entry[]): number {
    let count = 0
    for (let weight = 0; count < entries.length && count < MOST_AT_ONCE && weight < PAGE_WEIGHT; count++)
      weight += this.weightOf(entries[count]!)
    return count
  }
}

function without(entry: Entry): Entry {
  return withValue(entry, null)
}

function withValue(entry: Entry, value: unknown): Entry {
  return (entry as readonly unknown[]).with(-1, value) as unknown as Entry
}
