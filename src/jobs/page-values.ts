// Values of a job that remembers very much: beyond some of it they stay in their pages, and are read there when they are asked for, as those are that
// have files of their own.
import { deserialize } from 'node:v8'
import { journalPages } from '../db/job-journal.ts'
import type { Store } from '../db/store.ts'
import { sizeOf } from '../engine/measure.ts'
import { mapStep, type Steps } from '../time-slices.ts'
import type { Entry } from './entry.ts'
import { contentsOf, Later } from './later.ts'
import { contextOf, type MemoryTools } from './spilling.ts'

/** Bytes of pages of one job whose values are kept in memory: nearly all jobs have less. */
const KEPT_BYTES = 4_194_304
/** About how many characters a value must have to stay in its page. */
const LEFT_FROM = 4_096
/** Pages that are kept as they were read: firings ask for their values in about the order in which these were written. */
const RECENT_PAGES = 3
/** Entries that are measured in one step. */
const MEASURED_AT_ONCE = 16

/** What is needed at once, as changes of properties, is not among them. */
const LEFT: ReadonlySet<Entry[0]> = new Set<Entry[0]>(['done', 'item', 'end', 'answer', 'push'])

export class PageValues {
  readonly #store: Store
  readonly #tools: MemoryTools
  readonly #job_key: number
  #seen = 0
  readonly #recent = new Map<number, readonly Entry[]>()

  constructor(store: Store, tools: MemoryTools, job_key: number) {
    this.#store = store
    this.#tools = tools
    this.#job_key = job_key
  }

  /** The entries of the next page, which has so many bytes, as they are to be known. */
  *known(page: number, bytes: number, entries: readonly Entry[]): Steps<readonly Entry[]> {
    this.#seen += bytes
    if (this.#seen <= KEPT_BYTES) return entries
    return yield* mapStep(entries, (entry, at) => this.#without(entry, page, at), MEASURED_AT_ONCE)
  }

  #without(entry: Entry, page: number, at: number): Entry {
    const value: unknown = entry.at(-1)
    const size = !LEFT.has(entry[0]) || value instanceof Later ? 0 : sizeOf(value)
    if (size < LEFT_FROM) return entry
    const later = new Later({ size, file: null, readSteps: () => this.#readSteps(page, at) })
    return (entry as readonly unknown[]).with(-1, later) as unknown as Entry
  }

  /** @throws Error where the page is gone */
  *#readSteps(page: number, at: number): Steps<unknown> {
    const entries = this.#recent.get(page) ?? this.#read(page)
    this.#recent.delete(page)
    this.#recent.set(page, entries)
    for (const oldest of this.#recent.keys()) if (this.#recent.size > RECENT_PAGES) this.#recent.delete(oldest)
    yield
    return entries[at]!.at(-1)
  }

  #read(page: number): readonly Entry[] {
    const { cipher, spilled } = this.#tools
    const [row] = this.#store.read((tx) => journalPages(tx, this.#job_key, page, 1))
    if (row?.page !== page) throw new Error(`page ${page} of what job ${this.#job_key} remembers is missing`)
    return contentsOf(deserialize(cipher.open(row.body, contextOf(this.#job_key, page))), spilled)
  }
}
