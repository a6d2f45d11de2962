// Lazy values in journal pages. Beyond a bound the large values of a journal stay in their pages, and are read there when they are needed, like values in
// files.
import { deserialize } from 'node:v8'
import { listJournalPages } from '../../db/jobs/journal.ts'
import type { Store } from '../../db/store.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { mapSteps, type Steps } from '../../shared/time-slices.ts'
import type { JournalEntry } from '../journal/entry.ts'
import { formatPageContext, type JournalStorage } from '../journal/page-writer.ts'
import { decodePageEntries, LazyValue } from './lazy-value.ts'

/** Values in the first pages of a job, up to this many bytes, are kept in memory. Nearly all jobs have less. */
const KEPT_BYTES = 4_194_304
/** A value with fewer characters is kept in memory. */
const LAZY_VALUE_SIZE = 4_096
/** This many decoded pages are cached: firings need their values in about the order in which these were written. */
const RECENT_PAGES = 3
/** One step measures at most this many entries. */
const MEASURED_AT_ONCE = 16

/** Kinds whose values may be lazy. Property changes, for example, are needed at once. */
const LAZY_ENTRY_KINDS: ReadonlySet<JournalEntry[0]> = new Set<JournalEntry[0]>([
  'done',
  'item',
  'end',
  'answer',
  'push',
])

export class LazyPageValues {
  readonly #store: Store
  readonly #tools: JournalStorage
  readonly #job_key: number
  #seen_bytes = 0
  readonly #recentPages = new Map<number, readonly JournalEntry[]>()

  constructor(store: Store, tools: JournalStorage, job_key: number) {
    this.#store = store
    this.#tools = tools
    this.#job_key = job_key
  }

  /** Replaces large values among the entries of the next page, of `bytes` bytes, by lazy values. */
  *replaceLargeValuesSteps(
    page: number,
    bytes: number,
    entries: readonly JournalEntry[],
  ): Steps<readonly JournalEntry[]> {
    this.#seen_bytes += bytes
    if (this.#seen_bytes <= KEPT_BYTES) return entries
    return yield* mapSteps(entries, (entry, at) => this.#replaceLargeValue(entry, page, at), MEASURED_AT_ONCE)
  }

  #replaceLargeValue(entry: JournalEntry, page: number, at: number): JournalEntry {
    const value: unknown = entry.at(-1)
    const size = !LAZY_ENTRY_KINDS.has(entry[0]) || value instanceof LazyValue ? 0 : estimateSize(value)
    if (size < LAZY_VALUE_SIZE) return entry
    const lazy = new LazyValue({ size, file: null, readSteps: () => this.#readSteps(page, at) })
    return (entry as readonly unknown[]).with(-1, lazy) as unknown as JournalEntry
  }

  /** @throws Error where the page is missing */
  *#readSteps(page: number, at: number): Steps<unknown> {
    const entries = this.#recentPages.get(page) ?? this.#readPage(page)
    this.#recentPages.delete(page)
    this.#recentPages.set(page, entries)
    for (const oldest of this.#recentPages.keys())
      if (this.#recentPages.size > RECENT_PAGES) this.#recentPages.delete(oldest)
    yield
    return entries[at]!.at(-1)
  }

  #readPage(page: number): readonly JournalEntry[] {
    const { cipher, spilled } = this.#tools
    const [row] = this.#store.read((tx) => listJournalPages(tx, this.#job_key, page, 1))
    if (row?.page !== page) throw new Error(`page ${page} of the journal of job ${this.#job_key} is missing`)
    return decodePageEntries(deserialize(cipher.open(row.body, formatPageContext(this.#job_key, page))), spilled)
  }
}
