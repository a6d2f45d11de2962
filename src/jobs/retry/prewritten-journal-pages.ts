// What a job remembers before it is stored: a retry may take over more than one transaction should write, and goes on with all of it or is refused.
// It is written a part at a time. Its pages are doomed until the transaction that stores the job itself, so that what a crash or a full disk leaves
// of them is removed like what removed jobs leave.
import { cancelJobRemoval, scheduleJobRemoval } from '../../db/jobs/removal.ts'
import type { Store } from '../../db/store.ts'
import { ServiceError } from '../../errors.ts'
import type { ActiveJob } from '../active-job.ts'
import type { JobJournal } from '../journal/job-journal.ts'
import { FIRST_ATTEMPT } from '../submission/new-job.ts'

/** Early pages of all jobs that are about to be stored. */
export class PrewrittenPagesRegistry {
  readonly #store: Store
  readonly #signal: AbortSignal
  readonly #keys = new Set<number>()

  /** `signal` aborts what waits for the disk. */
  constructor(store: Store, signal: AbortSignal) {
    this.#store = store
    this.#signal = signal
  }

  /** Keys of jobs whose pages are not to be removed now, though they are doomed. */
  get keys(): ReadonlySet<number> {
    return this.#keys
  }

  openFor(job_key: number): PrewrittenJournalPages {
    return new PrewrittenJournalPages(this.#store, this.#signal, this.#keys, job_key)
  }
}

/** Those of one job. When they are disposed of and the job is not stored, they may be removed. */
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
   * Writes what is staged, unless it is as little as one transaction may write together with the job. The memory lets go of what is written: it is to
   * be read when all is.
   * @throws SERVICE_UNAVAILABLE where the disk takes it not; nothing is left staged then
   */
  async write(memory: JobJournal): Promise<void> {
    try {
      while (memory.isUnloaded ? memory.stagedCount > 0 : memory.dueCount < memory.stagedCount)
        await this.#writePart(memory)
    } catch (cause) {
      memory.discard()
      throw cause instanceof ServiceError ? cause : new ServiceError('SERVICE_UNAVAILABLE', { cause })
    }
  }

  async #writePart(memory: JobJournal): Promise<void> {
    this.#signal.throwIfAborted()
    const { dueCount: due } = memory
    this.#keys.add(this.job_key)
    await memory.spill(this.#signal, [], due)
    await this.#store.write((tx) => {
      scheduleJobRemoval(tx, this.job_key)
      memory.write(tx, FIRST_ATTEMPT, due)
    })
    memory.markCommitted()
    memory.unload()
  }

  /** Has the pages kept from the transaction on that stores the job. */
  keepWithJob(job: ActiveJob): void {
    if (this.#keys.has(this.job_key)) job.write((tx) => cancelJobRemoval(tx, this.job_key))
  }

  [Symbol.dispose](): void {
    this.#keys.delete(this.job_key)
  }
}
