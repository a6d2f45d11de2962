// The journal of an active job. It is read when it is needed, since a job may wait for long, and tells the run what happened before an interruption.
// Where a stored value is lost the job ends, since results that depend on the value might come out differently. Where it cannot be read for now, the job
// leaves the process and is continued later.
import type { JobTable } from '../../db/tables/jobs.ts'
import type { FiringHistory } from '../../engine/durability/journal.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import type { JobWriter } from '../commit/job-writer.ts'
import { PublishedHistory } from '../history/published-history.ts'
import type { JobContext } from '../job-context.ts'
import { createInterruptedEnding, type JobEnding } from '../job-endings.ts'
import { toTransientFault } from '../recovery/transient-faults.ts'
import { InputCounts } from '../run/job-inputs.ts'
import { LazyValue } from '../values/lazy-value.ts'
import type { JournalEntry } from './entry.ts'
import type { JobJournal } from './job-journal.ts'
import { type LoadedJournal, UNREADABLE_JOURNAL } from './loader.ts'
import type { RunJournalHost } from './run-journal.ts'

export interface ActiveJournalParts {
  readonly row: JobTable
  readonly user: string
  readonly context: JobContext
  readonly writer: JobWriter
  /** Called where a stored value is lost: the job fails whatever the outcome of its run is. */
  onLost(ending: JobEnding): void
  /** Called when a firing begins to wait for a time. */
  onDelay(firing: string, until: number): void
}

export class ActiveJournal implements RunJournalHost {
  readonly #parts: ActiveJournalParts
  /** Counts the inputs of the job, stored property changes included. */
  readonly inputCounts = new InputCounts()
  #loaded: JobJournal | null = null
  #published: PublishedHistory | null = null
  /** The journal was read in advance for the run, as far as it could be read. */
  #isPrepared = false
  /** Whether the job was recovered, and has recorded no entry since. */
  #isIdleSinceRecovery = false

  constructor(parts: ActiveJournalParts) {
    this.#parts = parts
  }

  /** The journal where it was loaded; it may be unloaded again, and then takes new entries only. */
  get loaded(): JobJournal | null {
    return this.#loaded
  }

  /** The journal with its content. @throws SERVICE_UNAVAILABLE where it cannot be read now: the job leaves the process, and is continued later */
  get current(): JobJournal {
    if (this.#loaded && !this.#loaded.isUnloaded) return this.#loaded
    return this.keep({ journal: this.#read(), publishedHistory: null })
  }

  /** The journal for new entries. @throws as `current` */
  get writable(): JobJournal {
    return this.#loaded ?? this.current
  }

  #read(): JobJournal {
    const { row, context, writer } = this.#parts
    try {
      return context.journals.of(row)
    } catch (cause) {
      writer.fail(cause)
      throw cause
    }
  }

  /** Takes over what was read of the journal. */
  keep({ journal, publishedHistory }: LoadedJournal): JobJournal {
    this.#published ??= publishedHistory
    if (this.#loaded === null) {
      this.#loaded = journal
      this.inputCounts.addEarlierChanges(journal.inputs.updates_weight)
    } else if (this.#loaded.isUnloaded) this.#loaded.reload(journal)
    return this.#loaded
  }

  /** Reads a large journal in advance for `keepPrepared`; null: it is in memory, or small. */
  prepare(): Promise<Disposable> | null {
    const isKnown = this.#isPrepared || (this.#loaded !== null && !this.#loaded.isUnloaded)
    return isKnown ? null : this.#parts.context.journals.prepare(this.#parts.row)
  }

  keepPrepared(): void {
    const read = this.#parts.context.journals.take(this.#parts.row)
    if (read) this.keep(read)
    this.#isPrepared = true
  }

  /** Whether `unload` would save memory while the job waits. */
  get isUnloadable(): boolean {
    const journal = this.#loaded
    return journal !== null && !journal.isSmall && !journal.isUnloaded && !this.#isPrepared
  }

  unload(): void {
    this.#loaded?.unload()
  }

  /** Stops counting the memory of the journal: the job leaves this process. */
  releaseMemory(): void {
    this.#loaded?.releaseMemory()
  }

  /** What the job has published before; null until it is read, for a job that has started before. */
  get published(): PublishedHistory | null {
    return this.#published
  }

  loadPublished(): void {
    const { row, context } = this.#parts
    this.#published ??=
      row.started_at === null ? PublishedHistory.createEmpty() : PublishedHistory.load(context.store, row.key)
  }

  recallFailure(scope: string): RunError | null {
    return this.current.failures.get(scope) ?? null
  }

  recall(firing: string): FiringHistory | null {
    try {
      return this.current.recall(firing, (value) => this.readValue(value))
    } catch (cause) {
      throw this.#onUnreadable(cause)
    }
  }

  readValue(value: LazyValue): unknown {
    try {
      return LazyValue.resolve(value)
    } catch (cause) {
      throw this.#onUnreadable(cause)
    }
  }

  /** Reads the large values of a firing before `recall`; null: none is in a file. `recall` reports values that cannot be read. */
  prepareRecall(firing: string): Promise<void> | null {
    const steps = this.current.readSteps(firing)
    const ignore = () => {}
    return steps && this.#parts.context.slices.run(this.#parts.user, steps).then(ignore, ignore)
  }

  /** The text of the graph of a called workflow that the job called before, or null. @throws Error where the file of a large graph cannot be read */
  async readGraph(workflow_id: string): Promise<string | null> {
    const { user, context } = this.#parts
    const kept = this.current.graphs.get(workflow_id) ?? null
    if (kept === null || typeof kept === 'string') return kept
    try {
      return await context.slices.run(user, LazyValue.resolveSteps<string | LazyValue>(kept))
    } catch (cause) {
      throw this.#onUnreadable(cause)
    }
  }

  #onUnreadable(cause: unknown): unknown {
    const { row, context, writer, onLost } = this.#parts
    const transientFault = toTransientFault(cause)
    if (transientFault) {
      writer.fail(transientFault)
      return transientFault
    }
    context.log.error({ err: cause, job_id: row.id }, 'what a job remembers cannot be read')
    onLost(createInterruptedEnding(UNREADABLE_JOURNAL))
    return cause
  }

  remember(entry: JournalEntry): void {
    this.#isIdleSinceRecovery = false
    this.#parts.writer.recordEntry(entry)
    if (entry[0] === 'wait' && entry[2].until !== null) this.#parts.onDelay(entry[1], entry[2].until)
  }

  rememberDurably(entry: JournalEntry): Promise<void> {
    this.remember(entry)
    return this.#parts.writer.whenWritten()
  }

  remembered(): Promise<void> | null {
    return this.#parts.writer.whenJournalWritten()
  }

  /** Records a recovery after a crash. So many recoveries without progress end a job. */
  rememberRecovery(): void {
    this.remember(['recovery'])
    this.#isIdleSinceRecovery = true
  }

  /** Records that the job has made progress since its recovery by publishing an output, which has no other entry. */
  rememberProgress(): void {
    if (this.#isIdleSinceRecovery) this.remember(['told'])
  }
}
