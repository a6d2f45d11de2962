// What the journal of one job holds in memory: the parameters, the firings, and the inputs that the job was sent. Journal entries change it. A run takes it
// over, and may need thousands of firings, so their memory is counted until then.
import type { FiringHistory } from '../../engine/durability/journal.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'
import { JobModelUsage } from '../run/model-usage.ts'
import { type JobParams, LazyValue } from '../values/lazy-value.ts'
import {
  type EventWithFrame,
  type FiringEntry,
  isFiringEntry,
  isInputEntry,
  type JobEntry,
  type JournalEntry,
} from './entry.ts'
import {
  estimateEntryBytes,
  estimateFiringBytes,
  type FiringMemoryReservation,
  measureEntrySteps,
} from './firing-memory-account.ts'
import { JournaledInputs } from './journaled-inputs.ts'
import { type FiringReuse, type JournaledFiring, StoredFiring } from './stored-firing.ts'

export class JournalContent {
  /** Counts the memory of firings; null: it does not count. */
  #firingMemory: FiringMemoryReservation | null
  params: JobParams
  readonly #firings = new Map<string, StoredFiring>()
  /** The inputs that the job was sent. */
  readonly inputs = new JournaledInputs()
  /** Graphs of called workflows, as JSON text. */
  readonly graphs = new Map<string, string | LazyValue>()
  /** The failures of the job's own run and of called workflows, by scope. */
  readonly failures = new Map<string, RunError>()
  readonly spending = new JobModelUsage()
  /** Output events to publish where the job ends while it is suspended. */
  suspendedOutputs: readonly EventWithFrame[] = []
  /** Consecutive recoveries after which the job neither recorded an entry nor published an output. */
  idle_recoveries = 0
  /** Whether the run has taken over the inputs. */
  protected hasBegun = false
  #isUnloaded = false

  constructor(params: JobParams, reservation: FiringMemoryReservation | null) {
    this.params = params
    this.#firingMemory = reservation
  }

  /** The firings, by their names. */
  get firings(): ReadonlyMap<string, JournaledFiring> {
    return this.#firings
  }

  /** Whether the journal has neither firings nor failures. */
  get isBlank(): boolean {
    return this.#firings.size === 0 && this.failures.size === 0
  }

  /** Firings that wait for time alone, and have not been answered yet. */
  get delays(): { firing: string; until: number }[] {
    const delays: { firing: string; until: number }[] = []
    for (const [firing, { wait, answer, end }] of this.#firings)
      if (wait?.until != null && !answer && !end) delays.push({ firing, until: wait.until })
    return delays
  }

  /** Applies the entries of a page, and reads inputs that are needed at once. Other values are read later. */
  protected *applySteps(entries: readonly JournalEntry[]): Steps<void> {
    if (this.#firingMemory) for (const steps of yield* mapSteps(entries, measureEntrySteps)) if (steps) yield* steps
    yield* forEachSteps(entries, (entry) => this.apply(entry))
    yield* this.inputs.readSteps()
  }

  protected apply(entry: JournalEntry): void {
    if (this.#isUnloaded) return
    if (entry[0] !== 'recovery') this.idle_recoveries = 0
    if (isFiringEntry(entry)) this.#applyToFiring(entry)
    else if (isInputEntry(entry)) this.inputs.add(entry)
    else ENTRY_APPLIERS[entry[0]](this, entry as never)
  }

  /** @throws MemoryUnavailableError, JournalTooLargeError */
  #applyToFiring(entry: FiringEntry): void {
    const record = this.#firings.get(entry[1]) ?? new StoredFiring()
    this.#firings.set(entry[1], record)
    if (this.#firingMemory && !this.hasBegun) {
      const bytes = estimateEntryBytes(entry) + (record.bytes === 0 ? estimateFiringBytes(entry[1]) : 0)
      record.bytes += bytes
      this.#firingMemory.take(bytes)
    }
    record.apply(entry)
  }

  /** Reads the large values of a firing for `recall`; null: none is in a file. @throws Error where a value cannot be read */
  readSteps(firing: string): Steps<void> | null {
    const record = this.#firings.get(firing)
    return record?.hasLazyValues ? record.readLazyValues() : null
  }

  /**
   * The history of a firing. Each firing is recalled once, so its values are dropped here. `read` gives items that are taken later.
   * @throws Error where the file of a large value cannot be read
   */
  recall(firing: string, read: (value: LazyValue) => unknown = LazyValue.resolve): FiringHistory | null {
    const record = this.#firings.get(firing)
    if (!record) return null
    const history = record.toHistory(read)
    if (record.end) this.#firings.delete(firing)
    else record.dropValues()
    this.#firingMemory?.giveBack(record.bytes)
    record.bytes = 0
    return history
  }

  /** The run has taken over the inputs. From here on the journal keeps in memory only what its waits need. */
  markRunBegun(): void {
    this.hasBegun = true
    this.inputs.clear()
  }

  /** The steps of a firing that ends during the run are not read again. */
  protected dropSteps(firing: string): void {
    this.#firings.get(firing)?.steps.clear()
  }

  /** Whether the stored content is not in memory, so that the journal can only be written. */
  get isUnloaded(): boolean {
    return this.#isUnloaded
  }

  /** Drops the content, all of which is stored: the job may wait for long. */
  unload(): void {
    this.#isUnloaded = true
    this.releaseMemory()
    this.params = {}
    this.inputs.clear()
    this.#firings.clear()
    this.graphs.clear()
    this.failures.clear()
    this.spending.clear()
    this.suspendedOutputs = []
  }

  /** Takes over the content of `stored`, which was just read. */
  reload(stored: JournalContent): void {
    this.#isUnloaded = false
    this.#firingMemory = stored.#firingMemory
    this.params = stored.params
    this.inputs.addAll(stored.inputs)
    for (const [firing, record] of stored.#firings) this.#firings.set(firing, record)
    for (const [workflow_id, body] of stored.graphs) this.graphs.set(workflow_id, body)
    for (const [scope, error] of stored.failures) this.failures.set(scope, error)
    for (const use of stored.spending.uses) this.spending.add(use)
    this.suspendedOutputs = stored.suspendedOutputs
  }

  /** Stops counting the firings: they will not be recalled. */
  releaseMemory(): void {
    this.#firingMemory?.release()
    this.#firingMemory = null
  }

  /**
   * The entries that a new run of the same graph takes over. `reuse` decides for each firing, and `same` for the graphs of called workflows. Inputs and model
   * usage are always reused. Large values stay in place until the new job stages them. Each firing is dropped from memory once it is listed.
   */
  *reusableEntries(
    reuse: (firing: string) => FiringReuse,
    same: (workflow_id: string) => boolean,
  ): Generator<JournalEntry> {
    for (const [firing, record] of this.#firings) {
      this.#firings.delete(firing)
      this.#firingMemory?.giveBack(record.bytes)
      yield* record.reusableEntries(firing, reuse(firing))
    }
    yield* this.inputs.entries()
    for (const [workflow_id, body] of this.graphs) if (same(workflow_id)) yield ['graph', workflow_id, body]
    for (const use of this.spending.uses) yield ['use', use]
  }
}

type EntryApplier<Kind extends JobEntry[0]> = (
  content: JournalContent,
  entry: Extract<JobEntry, readonly [Kind, ...unknown[]]>,
) => void

const ENTRY_APPLIERS: { [Kind in JobEntry[0]]: EntryApplier<Kind> } = {
  rest: (content, [, outputs]) => {
    content.suspendedOutputs = outputs
  },
  recovery: (content) => {
    content.idle_recoveries++
  },
  told: () => {},
  failure: (content, [, scope, error]) => content.failures.set(scope, error),
  graph: (content, [, workflow_id, body]) => content.graphs.set(workflow_id, body as string | LazyValue),
  use: (content, [, use]) => content.spending.add(use),
}
