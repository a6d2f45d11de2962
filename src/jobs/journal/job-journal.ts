// The journal of one job: its parameters, its firings, and the inputs that it was sent. Pages are encrypted and written in the transactions that
// write the job's row and events; a job that is recovered or resumed reads them. Large values get files of their own before (see
// spilled-value-store.ts), and are read when they are needed.
import { countJournalPages } from '../../db/jobs/journal.ts'
import { deleteCompletedJournal } from '../../db/jobs/removal.ts'
import { hasSpilledValues } from '../../db/jobs/spilled-values.ts'
import type { Store, Tx } from '../../db/store.ts'
import type {
  FailedAttempts,
  FiringEnd,
  FiringHistory,
  NodeUpdate,
  RecordedStep,
  WaitRequest,
} from '../../engine/durability/journal.ts'
import type { OutputValues } from '../../engine/node-api/node-type.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import { forEachSteps, mapSteps, type Steps } from '../../shared/time-slices.ts'
import { estimateUpdateWeight } from '../run/job-inputs.ts'
import { JobModelUsage } from '../run/model-usage.ts'
import { LazyPageValues } from '../values/lazy-page-values.ts'
import { decodePageEntries, EagerReadBudget, type JobParams, LazyValue, readParamsSteps } from '../values/lazy-value.ts'
import type { EventWithFrame, JournalEntry } from './entry.ts'
import {
  estimateEntryBytes,
  estimateFiringBytes,
  type FiringMemoryReservation,
  isFiringEntry,
  measureEntrySteps,
} from './firing-memory-account.ts'
import { MergedNodeUpdates } from './merged-node-updates.ts'
import { forEachPage } from './page-reader.ts'
import { JournalPageWriter, type JournalStorage } from './page-writer.ts'

/** A firing, built from its entries. Large values may still be in their files. */
interface MutableJournaledFiring {
  started: boolean
  attempts: FailedAttempts | null
  items: (OutputValues | LazyValue)[]
  steps: Map<string, RecordedStep>
  end: FiringEnd | LazyValue | null
  wait: WaitRequest | null
  answer: { value: unknown } | null
  /** Bytes that count in the memory account. */
  bytes: number
}

/** A firing for callers that do not read its values. */
export type JournaledFiring = Omit<FiringHistory, 'items' | 'end'> & {
  readonly items: readonly unknown[]
  readonly end: object | null
}

/** Most firings have no items and no steps, and share these empty collections. No code adds to the two collections. */
const NO_ITEMS: MutableJournaledFiring['items'] = []
const NO_STEPS: MutableJournaledFiring['steps'] = new Map()

function createJournaledFiring(): MutableJournaledFiring {
  const [items, steps] = [NO_ITEMS, NO_STEPS]
  return { started: false, attempts: null, items, steps, end: null, wait: null, answer: null, bytes: 0 }
}

function addItem(known: MutableJournaledFiring, item: OutputValues): void {
  if (known.items === NO_ITEMS) known.items = [item]
  else known.items.push(item)
}

function setStep(known: MutableJournaledFiring, name: string, step: RecordedStep): void {
  if (known.steps === NO_STEPS) known.steps = new Map()
  known.steps.set(name, step)
}

/** Resolves the lazy values of a firing; items are resolved by `read` when the run takes them. @throws Error where a value cannot be read */
function toRemembered(
  { items, steps, end, answer, bytes: _, ...rest }: MutableJournaledFiring,
  read: (value: LazyValue) => unknown,
): FiringHistory {
  const whole = ([name, step]: [string, RecordedStep]): [string, RecordedStep] => [
    name,
    { ...step, end: step.end && { value: LazyValue.resolve(step.end.value) } },
  ]
  return {
    ...rest,
    items: items.map((item) => LazyValue.toUnread(item, read)),
    steps: new Map([...steps].map(whole)),
    end: LazyValue.resolve(end),
    answer: answer && { value: LazyValue.resolve(answer.value) },
  }
}

function hasLazyValues({ items, steps, end, answer }: MutableJournaledFiring): boolean {
  if (end instanceof LazyValue || answer?.value instanceof LazyValue || items.some((item) => item instanceof LazyValue))
    return true
  for (const [, step] of steps) if (step.end?.value instanceof LazyValue) return true
  return false
}

/** Replaces lazy values by their content. Of the items it reads only as many as `EagerReadBudget` allows. */
function* readLazyValues(known: MutableJournaledFiring): Steps<void> {
  const { items, steps, answer } = known
  const budget = new EagerReadBudget()
  for (let at = 0; at < items.length; at++)
    if (!budget.shouldLeaveUnread(items[at])) items[at] = yield* LazyValue.resolveSteps(items[at]!)
  for (const [name, step] of steps)
    if (step.end) steps.set(name, { ...step, end: { value: yield* LazyValue.resolveSteps(step.end.value) } })
  if (answer) known.answer = { value: yield* LazyValue.resolveSteps(answer.value) }
  known.end = yield* LazyValue.resolveSteps(known.end)
}

/** Drops the values of a recalled firing that has not ended: `readLazyValues` may have brought many of them into memory. */
function dropValues(known: MutableJournaledFiring): void {
  known.items = NO_ITEMS
  known.steps = NO_STEPS
  if (known.answer) known.answer = { value: null }
}

/**
 * What a new run takes over of a firing. `all`: its end or its answer. `begun`: failed attempts, steps and the items of its stream.
 */
export type FiringReuse = 'all' | 'begun' | 'nothing'

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

export class JobJournal implements Disposable {
  readonly #tools: JournalStorage
  readonly #job_key: number
  /** Counts the memory of firings; null: it does not count. */
  #firingMemory: FiringMemoryReservation | null
  #params: JobParams
  readonly #firings = new Map<string, MutableJournaledFiring>()
  /** The inputs that the job was sent, in order. */
  readonly inputs: (readonly ['push', string, unknown] | readonly ['close', string])[] = []
  readonly updates: NodeUpdate[] = []
  /** Graphs of called workflows, as JSON text. */
  readonly graphs = new Map<string, string | LazyValue>()
  /** The failures of the job's own run and of called workflows, by scope. */
  readonly failures = new Map<string, RunError>()
  readonly spending = new JobModelUsage()
  /** The message for a journal that cannot be read; null where it can. */
  fault: string | null = null
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
  #hasBegun = false
  #isUnloaded = false
  /** How many inputs were resolved so far, while the journal is being loaded. */
  #inputsReadCount = 0
  readonly #inputReadBudget = new EagerReadBudget()
  /** How many property changes were read from pages. */
  #updatesReadCount = 0
  readonly #mergedUpdates = new MergedNodeUpdates(this.updates)
  /** Output events to publish where the job ends while it is suspended. */
  suspendedOutputs: readonly EventWithFrame[] = []
  /** Consecutive recoveries after which the job neither recorded an entry nor published an output. */
  idle_recoveries = 0

  private constructor(
    tools: JournalStorage,
    job_key: number,
    params: JobParams,
    reservation: FiringMemoryReservation | null = null,
  ) {
    this.#tools = tools
    this.#firingMemory = reservation
    this.#job_key = job_key
    this.#params = params
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
    const journal = new JobJournal(tools, job_key, {})
    journal.fault = fault
    return journal
  }

  get isReadable(): boolean {
    return this.fault === null
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
        yield* journal.#applySteps(
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

  /** Whether this is still all that is stored: between the steps of loading, pages may have been added, or all removed. */
  isWhole(tx: Tx): boolean {
    return !this.isReadable || countJournalPages(tx, this.#job_key) === this.#pageCount
  }

  /** Applies the entries of a page. Some inputs, and property changes, are needed at once; other values are read later. */
  *#applySteps(entries: readonly JournalEntry[]): Steps<void> {
    if (this.#firingMemory) for (const steps of yield* mapSteps(entries, measureEntrySteps)) if (steps) yield* steps
    yield* forEachSteps(entries, (entry) => this.#apply(entry))
    for (let at = this.#inputsReadCount; at < this.inputs.length; at++) {
      const [kind, name, value] = this.inputs[at]!
      if (kind === 'push' && !this.#inputReadBudget.shouldLeaveUnread(value))
        this.inputs[at] = ['push', name, yield* LazyValue.resolveSteps(value)]
    }
    this.#inputsReadCount = this.inputs.length
    for (const { properties, ...of } of this.updates.splice(this.#updatesReadCount)) {
      this.#mergedUpdates.add({ ...of, properties: yield* LazyValue.resolveSteps(properties) })
      yield
    }
    this.#updatesReadCount = this.updates.length
  }

  /** The weight of all property changes: those that were read, and those that came since. */
  get updates_weight(): number {
    const since = this.updates.slice(this.#updatesReadCount)
    return since.reduce((sum, { properties }) => sum + estimateUpdateWeight(properties), this.#mergedUpdates.weight)
  }

  get params(): JobParams {
    return this.#params
  }

  /** Reads the large values of a firing for `recall`; null: none is in a file. @throws Error where a value cannot be read */
  readSteps(firing: string): Steps<void> | null {
    const known = this.#firings.get(firing)
    return known && hasLazyValues(known) ? readLazyValues(known) : null
  }

  /**
   * The history of a firing. Each firing is recalled once, so its values are dropped here. `read` gives items that are taken later.
   * @throws Error where the file of a large value cannot be read
   */
  recall(firing: string, read: (value: LazyValue) => unknown = LazyValue.resolve): FiringHistory | null {
    const known = this.#firings.get(firing)
    if (!known) return null
    const whole = toRemembered(known, read)
    if (known.end) this.#firings.delete(firing)
    else dropValues(known)
    this.#firingMemory?.giveBack(known.bytes)
    known.bytes = 0
    return whole
  }

  /** The run has taken over the inputs. From here on the journal keeps in memory only what its waits need. */
  markRunBegun(): void {
    this.#hasBegun = true
    this.inputs.length = 0
    this.updates.length = 0
  }

  /** Whether unloading would save too little. */
  get isSmall(): boolean {
    return this.#byteCount <= SMALL_JOURNAL_BYTES && !this.#has_files
  }

  /** Whether the stored content is not in memory, so that the journal can only be written. */
  get isUnloaded(): boolean {
    return this.#isUnloaded
  }

  /** Drops the content, all of which is stored: the job may wait for long. */
  unload(): void {
    this.#isUnloaded = true
    this.releaseMemory()
    this.#params = {}
    this.inputs.length = 0
    this.updates.length = 0
    this.#firings.clear()
    this.graphs.clear()
    this.failures.clear()
    this.spending.clear()
    this.suspendedOutputs = []
  }

  /** Stops counting the firings: they will not be recalled. */
  releaseMemory(): void {
    this.#firingMemory?.release()
    this.#firingMemory = null
  }

  [Symbol.dispose](): void {
    this.releaseMemory()
  }

  /** Takes over the content of `stored`, which was just read. */
  reload(stored: JobJournal): void {
    this.#isUnloaded = false
    this.#firingMemory = stored.#firingMemory
    this.#params = stored.#params
    for (const input of stored.inputs) this.inputs.push(input)
    for (const update of stored.updates) this.updates.push(update)
    for (const [firing, known] of stored.#firings) this.#firings.set(firing, known)
    for (const [workflow_id, body] of stored.graphs) this.graphs.set(workflow_id, body)
    for (const [scope, error] of stored.failures) this.failures.set(scope, error)
    for (const use of stored.spending.uses) this.spending.add(use)
    this.suspendedOutputs = stored.suspendedOutputs
    this.fault = stored.fault
  }

  /** Firings that wait for time alone, and have not been answered yet. */
  get delays(): { firing: string; until: number }[] {
    const delays: { firing: string; until: number }[] = []
    for (const [firing, { wait, answer, end }] of this.#firings)
      if (wait?.until != null && !answer && !end) delays.push({ firing, until: wait.until })
    return delays
  }

  /** Stages an entry for the next commit. It returns about how many characters the entry has in its page. */
  stage(entry: JournalEntry): number {
    const staged = this.#pageWriter.boundEntry(entry)
    this.#staged.push(staged)
    // Inputs are needed at once, unless another job has left them in files.
    const isSent = (entry[0] === 'push' || entry[0] === 'update') && !(entry.at(-1) instanceof LazyValue)
    const known = isSent ? entry : this.#pageWriter.withLazyValue(staged)
    if (!this.#hasBegun || ALWAYS_APPLIED_KINDS.has(entry[0])) this.#apply(known)
    else if (entry[0] === 'end') this.#firings.get(entry[1])?.steps.clear()
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
    if (!this.isReadable) return null
    const params = this.#pageCount === 0 ? this.#params : null
    const spilled = this.#pageWriter.spill(params, [...this.#staged.slice(0, entries), ...sent], signal)
    if (spilled) this.#has_files = true
    return spilled
  }

  /**
   * Writes the first `entries` staged entries and the commands' entries `sent`; the first page gets the parameters. It may be called again before
   * `markCommitted`.
   */
  write(tx: Tx, attempt: number, entries: number, sent: readonly JournalEntry[] = []): void {
    if (!this.isReadable) return
    const written = this.#pageWriter.write(tx, attempt, {
      from: this.#pageCount,
      params: this.#params,
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
    else if (!this.#hasBegun) for (const entry of sent) this.#apply(entry)
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

  /** Whether the journal has neither firings nor failures. */
  get isBlank(): boolean {
    return this.#firings.size === 0 && this.failures.size === 0
  }

  /** The firings, by their names. */
  get firings(): ReadonlyMap<string, JournaledFiring> {
    return this.#firings
  }

  /**
   * The entries that a new run of the same graph takes over. `reuse` decides for each firing, and `same` for the graphs of called workflows. Inputs and model
   * usage are always reused. Large values stay in place until the new job stages them. Each firing is dropped from memory once it is listed.
   */
  *reusableEntries(
    reuse: (firing: string) => FiringReuse,
    same: (workflow_id: string) => boolean,
  ): Generator<JournalEntry> {
    for (const [firing, known] of this.#firings) {
      this.#firings.delete(firing)
      this.#firingMemory?.giveBack(known.bytes)
      yield* listReusableEntries(firing, known, reuse(firing))
    }
    yield* this.inputs
    for (const { properties, ...of } of this.updates) yield ['update', of, properties]
    for (const [workflow_id, body] of this.graphs) if (same(workflow_id)) yield ['graph', workflow_id, body]
    for (const use of this.spending.uses) yield ['use', use]
  }

  #firingOf(firing: string): MutableJournaledFiring {
    const known = this.#firings.get(firing) ?? createJournaledFiring()
    this.#firings.set(firing, known)
    return known
  }

  /** @throws MemoryUnavailableError, JournalTooLargeError */
  #countMemory(reservation: FiringMemoryReservation, entry: JournalEntry): void {
    if (!isFiringEntry(entry)) return
    const known = this.#firingOf(entry[1])
    const bytes = estimateEntryBytes(entry) + (known.bytes === 0 ? estimateFiringBytes(entry[1]) : 0)
    known.bytes += bytes
    reservation.take(bytes)
  }

  #apply(entry: JournalEntry): void {
    if (this.#isUnloaded) return
    if (entry[0] === 'recovery') {
      this.idle_recoveries++
      return
    }
    this.idle_recoveries = 0
    if (this.#firingMemory && !this.#hasBegun) this.#countMemory(this.#firingMemory, entry)
    ENTRY_APPLIERS[entry[0]](this, entry as never, (firing) => this.#firingOf(firing))
  }
}

function* listReusableEntries(
  firing: string,
  known: MutableJournaledFiring,
  reuse: FiringReuse,
): Generator<JournalEntry> {
  if (reuse === 'nothing') return
  const { started, attempts, items, steps, end, wait, answer } = known
  if (attempts) yield ['attempt', firing, { ...attempts, forgiven: attempts.failed, next_at: 0 }]
  if (reuse === 'all' && started) yield ['start', firing]
  for (const [name, { call, end: over }] of steps) {
    yield ['step', firing, name, { call, begun: over !== null }]
    if (over) yield ['done', firing, name, over.value]
  }
  for (const item of items) yield ['item', firing, item as OutputValues]
  if (reuse === 'begun') return
  if (end) yield ['end', firing, end as FiringEnd]
  else if (wait && answer) {
    yield ['wait', firing, wait]
    yield ['answer', firing, answer.value]
  }
}

type EntryApplier<Kind extends JournalEntry[0]> = (
  journal: JobJournal,
  entry: Extract<JournalEntry, readonly [Kind, ...unknown[]]>,
  of: (firing: string) => MutableJournaledFiring,
) => void

const ENTRY_APPLIERS: { [Kind in Exclude<JournalEntry[0], 'recovery'>]: EntryApplier<Kind> } = {
  rest: (journal, [, outputs]) => {
    journal.suspendedOutputs = outputs
  },
  told: () => {},
  start: (_, [, firing], of) => {
    of(firing).started = true
  },
  attempt: (_, [, firing, attempts], of) => {
    const known = of(firing)
    for (const [name, { end }] of known.steps) if (!end) known.steps.delete(name)
    Object.assign(known, { started: false, attempts })
  },
  step: (_, [, firing, name, step], of) => {
    setStep(of(firing), name, { ...step, end: null })
  },
  done: (_, [, firing, name, value], of) => {
    const known = of(firing)
    setStep(known, name, { ...known.steps.get(name)!, end: { value } })
  },
  item: (_, [, firing, item], of) => {
    addItem(of(firing), item)
  },
  end: (_, [, firing, end], of) => {
    const known = of(firing)
    known.end = end
    // The steps of a firing that has ended are not read again.
    known.steps = NO_STEPS
  },
  wait: (_, [, firing, request], of) => {
    of(firing).wait = request
  },
  answer: (_, [, firing, value], of) => {
    of(firing).answer = { value }
  },
  failure: (journal, [, scope, error]) => journal.failures.set(scope, error),
  push: (journal, entry) => journal.inputs.push(entry),
  close: (journal, entry) => journal.inputs.push(entry),
  update: (journal, [, update, properties]) => {
    journal.updates.push(properties === undefined ? (update as NodeUpdate) : ({ ...update, properties } as NodeUpdate))
  },
  graph: (journal, [, workflow_id, body]) => journal.graphs.set(workflow_id, body as string | LazyValue),
  use: (journal, [, use]) => journal.spending.add(use),
}
