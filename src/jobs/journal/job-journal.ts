// The journal of one job: its content in memory, and its pages in the database. Pages are encrypted and written in the transactions that write the job's
// row and events; a job that is recovered or resumed reads them. Large values get files of their own before (see spilled-value-store.ts), and are read when
// they are needed.
import { countJournalPages } from '../../db/jobs/journal.ts'
import { deleteCompletedJournal } from '../../db/jobs/removal.ts'
import { hasSpilledValues } from '../../db/jobs/spilled-values.ts'
import type { Store, Tx } from '../../db/store.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { LazyPageValues } from '../values/lazy-page-values.ts'
import { decodePageEntries, type JobParams, LazyValue, readParamsSteps } from '../values/lazy-value.ts'
import type { JournalEntry } from './entry.ts'
import type { FiringMemoryReservation } from './firing-memory-account.ts'
import { JournalContent } from './journal-content.ts'
import { forEachPage } from './page-reader.ts'
import { JournalPageWriter, type JournalStorage } from './page-writer.ts'

/** Kinds of entries that are read during the run as well. */
const ALWAYS_APPLIED_KINDS: ReadonlySet<JournalEntry[0]> = new Set<JournalEntry[0]>(['wait', 'answer', 'graph', 'use'])

interface PendingCommit {
  readonly entries: number
  readonly sent: readonly JournalEntry[]
  readonly pages: number
  readonly bytes: number
  readonly forgets: boolean
  readonly released: boolean
}

/** Bytes in pages; a larger journal is unloaded while its job waits, as ten thousand jobs may. Small values take about twenty times as much in memory. */
const SMALL_JOURNAL_BYTES = 1_024

const NOTHING_WRITTEN: PendingCommit = { entries: 0, sent: [], pages: 0, bytes: 0, forgets: false, released: false }

export class JobJournal extends JournalContent implements Disposable {
  readonly #tools: JournalStorage
  readonly #job_key: number
  /** The message for a journal that cannot be read; null where it can. */
  #fault: string | null
  readonly #pageWriter: JournalPageWriter
  #staged: JournalEntry[] = []
  /**
   * The commit under way: staged entries, commands' entries, pages and bytes that it writes. `forgets`: it removes the journal. `released`: that
   * releases files.
   */
  #pendingCommit = NOTHING_WRITTEN
  /** Pages and bytes that are stored. */
  #pageCount = 0
  #byteCount = 0
  /** Whether any value has a file of its own. */
  #has_files = false

  private constructor(
    tools: JournalStorage,
    job_key: number,
    params: JobParams,
    reservation: FiringMemoryReservation | null = null,
    fault: string | null = null,
  ) {
    super(params, reservation)
    this.#tools = tools
    this.#job_key = job_key
    this.#fault = fault
    this.#pageWriter = new JournalPageWriter(tools, job_key)
  }

  /** The journal of a job that has not begun. Firings that it takes over count in `reservation`. */
  static createEmpty(
    tools: JournalStorage,
    job_key: number,
    params: JobParams,
    reservation: FiringMemoryReservation | null = null,
  ): JobJournal {
    return new JobJournal(tools, job_key, params, reservation)
  }

  /** Stands for a journal that cannot be read, or is too large. It is empty, and writes nothing. */
  static createUnreadable(tools: JournalStorage, job_key: number, fault: string): JobJournal {
    return new JobJournal(tools, job_key, {}, null, fault)
  }

  /**
   * Reads the journal of a stored job; null where none is stored.
   * @throws VaultError where it was written under another key; Error where a large value is needed at once and its file cannot be read;
   * MemoryUnavailableError and JournalTooLargeError where `reservation` has no room for it
   */
  static *loadSteps(
    store: Store,
    tools: JournalStorage,
    job_key: number,
    reservation: FiringMemoryReservation | null = null,
  ): Steps<JobJournal | null> {
    try {
      const loaded = yield* JobJournal.#loadAll(store, tools, job_key, reservation)
      reservation?.settle()
      return loaded
    } catch (error) {
      reservation?.release()
      throw error
    }
  }

  static *#loadAll(
    store: Store,
    tools: JournalStorage,
    job_key: number,
    reservation: FiringMemoryReservation | null,
  ): Steps<JobJournal | null> {
    const { spilled } = tools
    const values = new LazyPageValues(store, tools, job_key)
    let journal: JobJournal | null = null
    let bytes = 0
    const pages = yield* forEachPage(store, tools, job_key, function* (content, page) {
      bytes += page.body.length
      if (journal === null)
        journal = new JobJournal(tools, job_key, yield* readParamsSteps(content, spilled), reservation)
      else
        yield* journal.applySteps(
          yield* values.replaceLargeValuesSteps(page.page, page.body.length, decodePageEntries(content, spilled)),
        )
    })
    const loaded = journal as JobJournal | null
    if (loaded) {
      loaded.#pageCount = pages
      loaded.#byteCount = bytes
      loaded.#has_files = store.read((tx) => hasSpilledValues(tx, job_key))
    }
    return loaded
  }

  get fault(): string | null {
    return this.#fault
  }

  /** Whether this is still all that is stored: between the steps of loading, pages may have been added, or all removed. */
  isWhole(tx: Tx): boolean {
    return this.#fault !== null || countJournalPages(tx, this.#job_key) === this.#pageCount
  }

  /** Whether unloading would save too little. */
  get isSmall(): boolean {
    return this.#byteCount <= SMALL_JOURNAL_BYTES && !this.#has_files
  }

  override reload(stored: JobJournal): void {
    super.reload(stored)
    this.#fault = stored.#fault
  }

  [Symbol.dispose](): void {
    this.releaseMemory()
  }

  /** Stages an entry for the next commit. It returns about how many characters the entry has in its page. */
  stage(entry: JournalEntry): number {
    const staged = this.#pageWriter.boundEntry(entry)
    this.#staged.push(staged)
    // Inputs are needed at once, unless another job has left them in files.
    const isSent = (entry[0] === 'push' || entry[0] === 'update') && !(entry.at(-1) instanceof LazyValue)
    const known = isSent ? entry : this.#pageWriter.withLazyValue(staged)
    if (!this.hasBegun || ALWAYS_APPLIED_KINDS.has(entry[0])) this.apply(known)
    else if (entry[0] === 'end') this.dropSteps(entry[1])
    return this.#pageWriter.estimateWeight(staged)
  }

  get stagedCount(): number {
    return this.#staged.length
  }

  /** How many of the first staged entries one transaction should write. */
  get dueCount(): number {
    return this.#pageWriter.countFitting(this.#staged)
  }

  /**
   * Writes large values of the first `entries` staged entries, and of the commands' entries `sent`, to files; null: all have files, and `write` may
   * follow. It rejects with the reason of `signal` or the error of the file system, and leaves no files then.
   */
  spill(signal: AbortSignal, sent: readonly JournalEntry[] = [], entries = this.stagedCount): Promise<void> | null {
    if (this.#fault !== null) return null
    const params = this.#pageCount === 0 ? this.params : null
    const spilled = this.#pageWriter.spill(params, [...this.#staged.slice(0, entries), ...sent], signal)
    if (spilled) this.#has_files = true
    return spilled
  }

  /**
   * Writes the first `entries` staged entries and the commands' entries `sent`; the first page gets the parameters. It may be called again before
   * `markCommitted`.
   */
  write(tx: Tx, attempt: number, entries: number, sent: readonly JournalEntry[] = []): void {
    if (this.#fault !== null) return
    const written = this.#pageWriter.write(tx, attempt, {
      from: this.#pageCount,
      params: this.params,
      entries: [...this.#staged.slice(0, entries), ...sent],
    })
    this.#pendingCommit = { entries, sent, ...written, forgets: false, released: false }
  }

  /** Removes the stored journal of a job that will not be continued. Staged and `sent` entries are not written. */
  forget(tx: Tx, sent: readonly JournalEntry[] = []): void {
    const released = this.#pageCount > 0 && deleteCompletedJournal(tx, this.#job_key, this.#byteCount) > 0
    this.#pendingCommit = { ...NOTHING_WRITTEN, entries: this.#staged.length, sent, forgets: true, released }
  }

  /** Called when the transaction of `write` or `forget` is committed. */
  markCommitted(): void {
    const { entries, sent, pages, bytes, forgets, released } = this.#pendingCommit
    const staged = this.#staged.splice(0, entries)
    this.#pageCount += pages
    this.#byteCount += bytes
    this.#pendingCommit = NOTHING_WRITTEN
    this.#pageWriter.markWritten(staged)
    if (forgets) this.#pageWriter.drop([...staged, ...sent])
    else if (!this.hasBegun) for (const entry of sent) this.apply(entry)
    if (released) this.#tools.spilled.removeSoon()
  }

  /** Removes the files of commands' entries that were not written. */
  drop(sent: readonly JournalEntry[]): void {
    this.#pageWriter.drop(sent)
  }

  /** The job is refused: drops the staged entries and their files. */
  discard(): void {
    this.releaseMemory()
    this.#pageWriter.drop(this.#staged.splice(0))
  }
}
