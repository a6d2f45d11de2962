// Journal pages that are written before their job is stored: a retry may reuse more than one transaction should write. The pages are scheduled for
// removal until the transaction that stores the job. So the sweep removes the pages that a crash or a full disk leaves behind.
import { cancelJobRemoval, scheduleJobRemoval } from '../../db/jobs/removal.ts'
import type { Store } from '../../db/store.ts'
import type { ActiveJob } from '../active-job.ts'
import type { JobJournal } from '../journal/job-journal.ts'
import { toServiceUnavailable } from '../recovery/transient-faults.ts'
import { FIRST_ATTEMPT } from '../submission/new-job.ts'

/** The prewritten pages of all jobs that are about to be stored. */
export class PrewrittenPagesRegistry {
  readonly #store: Store
  readonly #signal: AbortSignal
  readonly #keys = new Set<number>()

  /** `signal` aborts writes that wait for the disk. */
  constructor(store: Store, signal: AbortSignal) {
    this.#store = store
    this.#signal = signal
  }

  /** Keys of jobs whose pages must not be removed now, though they are scheduled for removal. */
  get keys(): ReadonlySet<number> {
    return this.#keys
  }

  openFor(job_key: number): PrewrittenJournalPages {
    return new PrewrittenJournalPages(this.#store, this.#signal, this.#keys, job_key)
  }
}

/** The prewritten pages of one job. After disposal they may be removed, if the job is not stored. */
export class PrewrittenJournalPages implements Disposable {
  readonly job_key: number
  readonly #store: Store
  readonly #signal: AbortSignal
  readonly #keys: Set<number>

  constructor(store: Store, signal: AbortSignal, keys: Set<number>, job_key: number) {
    this.#store = store
    this.#signal = signal
    this.#keys = keys
    this.job_key = job_key
  }

  /**
   * Writes the staged entries, unless they are few enough for the transaction that stores the job. The journal unloads what is written: the caller reloads
   * it in the end.
   * @throws SERVICE_UNAVAILABLE where the disk cannot be written; nothing is left staged then
   */
  async write(journal: JobJournal): Promise<void> {
    try {
      while (journal.isUnloaded ? journal.stagedCount > 0 : journal.dueCount < journal.stagedCount)
        await this.#writePart(journal)
    } catch (cause) {
      journal.discard()
      throw toServiceUnavailable(cause)
    }
  }

  async #writePart(journal: JobJournal): Promise<void> {
    this.#signal.throwIfAborted()
    const { dueCount } = journal
    this.#keys.add(this.job_key)
    await journal.spill(this.#signal, [], dueCount)
    await this.#store.write((tx) => {
      scheduleJobRemoval(tx, this.job_key)
      journal.write(tx, FIRST_ATTEMPT, dueCount)
    })
    journal.markCommitted()
    journal.unload()
  }

  /** Cancels the scheduled removal, in the transaction that stores the job. */
  keepWithJob(job: ActiveJob): void {
    if (this.#keys.has(this.job_key)) job.write((tx) => cancelJobRemoval(tx, this.job_key))
  }

  [Symbol.dispose](): void {
    this.#keys.delete(this.job_key)
  }
}
