// What one job remembers beyond its process: its parameters, what its run has done, and what it was sent. It is written in pages, encrypted,
// in the transactions that write the job's row and events, and read again when the job goes on after an interruption. Large values get files of
// their own before (spilling.ts), and are read when they are asked for.
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

/** A firing as it is put together from its entries. Large values may still lie in their files. */
interface MutableJournaledFiring {
  started: boolean
  attempts: FailedAttempts | null
  items: (OutputValues | LazyValue)[]
  steps: Map<string, RecordedStep>
  end: FiringEnd | LazyValue | null
  wait: WaitRequest | null
  answer: { value: unknown } | null
  /** How many bytes of it count. */
  bytes: number
}

/** What is known of a firing, whatever its values are. */
export type JournaledFiring = Omit<FiringHistory, 'items' | 'end'> & {
  readonly items: readonly unknown[]
  readonly end: object | null
}

/** Most firings have no items and no steps: those have these in common, to which nothing is ever added. */
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

/** With the values that lie elsewhere, but for items of which there are many. @throws Error where one of them cannot be read */
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

/** In place of what lies elsewhere, its value; some of the items alone, as `LeftUnread` says. */
function* readLazyValues(known: MutableJournaledFiring): Steps<void> {
  const { items, steps, answer } = known
  const left = new EagerReadBudget()
  for (let at = 0; at < items.length; at++)
    if (!left.shouldLeaveUnread(items[at])) items[at] = yield* LazyValue.resolveSteps(items[at]!)
  for (const [name, step] of steps)
    if (step.end) steps.set(name, { ...step, end: { value: yield* LazyValue.resolveSteps(step.end.value) } })
  if (answer) known.answer = { value: yield* LazyValue.resolveSteps(answer.value) }
  known.end = yield* LazyValue.resolveSteps(known.end)
}

/** What a firing that goes on was asked for: `readValues` may have brought much of it into memory. */
function dropValues(known: MutableJournaledFiring): void {
  known.items = NO_ITEMS
  known.steps = NO_STEPS
  if (known.answer) known.answer = { value: null }
}

/**
 * What a new run takes over of a firing: all, so that it has ended or has its answer; what it had begun with, attempts that failed,
 * steps and the items of its stream; or nothing.
 */
export type FiringReuse = 'all' | 'begun' | 'nothing'

/** Kinds that are asked for while the run goes on. */
const ALWAYS_APPLIED_KINDS: ReadonlySet<JournalEntry[0]> = new Set<JournalEntry[0]>(['wait', 'answer', 'graph', 'use'])

interface PendingCommit {
  readonly entries: number
  readonly sent: readonly JournalEntry[]
  readonly pages: number
  readonly bytes: number
  readonly forgets: boolean
  readonly released: boolean
}

/** Bytes in pages: what takes more is much for one of ten thousand jobs that wait. In memory, small values take about twenty times as much. */
const SMALL_JOURNAL_BYTES = 1_024

const NOTHING_WRITTEN: PendingCommit = { entries: 0, sent: [], pages: 0, bytes: 0, forgets: false, released: false }

export class JobJournal implements Disposable {
  readonly #tools: JournalStorage
  readonly #job_key: number
  /** Where what is known of firings counts; null: it does not. */
  #firingMemory: FiringMemoryReservation | null
  #params: JobParams
  readonly #firings = new Map<string, MutableJournaledFiring>()
  /** What it was sent, in order. */
  readonly inputs: (readonly ['push', string, unknown] | readonly ['close', string])[] = []
  readonly updates: NodeUpdate[] = []
  /** Graphs of called workflows, as JSON text. */
  readonly graphs = new Map<string, string | LazyValue>()
  /** What the job's own run, and called workflows by their scope, had come to. */
  readonly failures = new Map<string, RunError>()
  /** What the job has used of models. */
  readonly spending = new JobModelUsage()
  /** Why it cannot be known; null: it is. */
  fault: string | null = null
  readonly #pageWriter: JournalPageWriter
  #staged: JournalEntry[] = []
  /**
   * How many of them the commit under way writes, what else of commands, and how many pages and bytes; whether it forgets all, and releases files
   * by that.
   */
  #pendingCommit = NOTHING_WRITTEN
  /** How much is stored. */
  #pageCount = 0
  #byteCount = 0
  /** Whether any value has got a file of its own. */
  #has_files = false
  #hasBegun = false
  #isUnloaded = false
  /** How many of the inputs have their values, while it is loaded. */
  #inputsReadCount = 0
  readonly #inputReadBudget = new EagerReadBudget()
  /** How many changes of properties those are that were read. */
  #updatesReadCount = 0
  readonly #mergedUpdates = new MergedNodeUpdates(this.updates)
  /** What is to be told of outputs where it ends while it waits. */
  suspendedOutputs: readonly EventWithFrame[] = []
  /** How often it went on after an interruption and had nothing to remember, and no output to tell, until the next one. */
  idle_recoveries = 0

  private constructor(
    tools: JournalStorage,
    job_key: number,
    params: JobParams,
    counts: FiringMemoryReservation | null = null,
  ) {
    this.#tools = tools
    this.#firingMemory = counts
    this.#job_key = job_key
    this.#params = params
    this.#pageWriter = new JournalPageWriter(tools, job_key)
  }

  /** The memory of a job that has not begun. What it takes over of firings `counts`. */
  static createEmpty(
    tools: JournalStorage,
    job_key: number,
    params: JobParams,
    counts: FiringMemoryReservation | null = null,
  ): JobJournal {
    return new JobJournal(tools, job_key, params, counts)
  }

  /** The memory of a job whose own cannot be read, or is too much: it is empty, and nothing is written. */
  static createUnreadable(tools: JournalStorage, job_key: number, fault: string): JobJournal {
    const memory = new JobJournal(tools, job_key, {})
    memory.fault = fault
    return memory
  }

  get isReadable(): boolean {
    return this.fault === null
  }

  /**
   * The memory of a stored job, or null where there is none.
   * @throws VaultError where it was written under another key; Error where the file of a large value that is needed at once cannot be read; NoRoom and
   * TooMuchRemembered where `counts` has no room for it
   */
  static *loadSteps(
    store: Store,
    tools: JournalStorage,
    job_key: number,
    counts: FiringMemoryReservation | null = null,
  ): Steps<JobJournal | null> {
    try {
      const loaded = yield* JobJournal.#loadAll(store, tools, job_key, counts)
      counts?.settle()
      return loaded
    } catch (error) {
      counts?.release()
      throw error
    }
  }

  static *#loadAll(
    store: Store,
    tools: JournalStorage,
    job_key: number,
    counts: FiringMemoryReservation | null,
  ): Steps<JobJournal | null> {
    const { spilled } = tools
    const values = new LazyPageValues(store, tools, job_key)
    let memory: JobJournal | null = null
    let bytes = 0
    const pages = yield* forEachPage(store, tools, job_key, function* (content, page) {
      bytes += page.body.length
      if (memory === null) memory = new JobJournal(tools, job_key, yield* readParamsSteps(content, spilled), counts)
      else
        yield* memory.#applySteps(
          yield* values.replaceLargeValuesSteps(page.page, page.body.length, decodePageEntries(content, spilled)),
        )
    })
    const loaded = memory as JobJournal | null
    if (loaded) {
      loaded.#pageCount = pages
      loaded.#byteCount = bytes
      loaded.#has_files = store.read((tx) => hasSpilledValues(tx, job_key))
    }
    return loaded
  }

  /** Whether it is all that is stored: in between steps more may have been written, or all removed. */
  isWhole(tx: Tx): boolean {
    return !this.isReadable || countJournalPages(tx, this.#job_key) === this.#pageCount
  }

  /** Some of what a job was sent is needed at once, other values are read when they are asked for. */
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

  /** What the changes of properties weigh that it was read with, or has got since. */
  get updates_weight(): number {
    const since = this.updates.slice(this.#updatesReadCount)
    return since.reduce((sum, { properties }) => sum + estimateUpdateWeight(properties), this.#mergedUpdates.weight)
  }

  get params(): JobParams {
    return this.#params
  }

  /** Reads the large values of a firing, so that `recall` has them; null: it has none in files. @throws Error where one of them cannot be read */
  readSteps(firing: string): Steps<void> | null {
    const known = this.#firings.get(firing)
    return known && hasLazyValues(known) ? readLazyValues(known) : null
  }

  /**
   * What is known of a firing. It is asked for once, so that its values are let go of. Items that are taken later are given by `read`.
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

  /** The run has what it was sent until now: from here on only what it waits for is kept in memory. */
  markRunBegun(): void {
    this.#hasBegun = true
    this.inputs.length = 0
    this.updates.length = 0
  }

  /** Whether it is not worth putting away. */
  get isSmall(): boolean {
    return this.#byteCount <= SMALL_JOURNAL_BYTES && !this.#has_files
  }

  /** Whether it only writes, and knows nothing of what is stored. */
  get isUnloaded(): boolean {
    return this.#isUnloaded
  }

  /** Lets go of all that it knows, which is stored: the job waits, maybe for long. */
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

  /** What it knows counts no more: nobody will ask for it. */
  releaseMemory(): void {
    this.#firingMemory?.release()
    this.#firingMemory = null
  }

  [Symbol.dispose](): void {
    this.releaseMemory()
  }

  /** Knows again what is `stored`, as it was read. */
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

  /** Firings that wait for nothing but time, and have not been told that it has passed. */
  get delays(): { firing: string; until: number }[] {
    const delays: { firing: string; until: number }[] = []
    for (const [firing, { wait, answer, end }] of this.#firings)
      if (wait?.until != null && !answer && !end) delays.push({ firing, until: wait.until })
    return delays
  }

  /** Keeps an entry, to be written with the next commit. Gives about how many characters it has in its page. */
  stage(entry: JournalEntry): number {
    const staged = this.#pageWriter.boundEntry(entry)
    this.#staged.push(staged)
    // What it was sent is needed at once, but for what another job has left in files.
    const isSent = (entry[0] === 'push' || entry[0] === 'update') && !(entry.at(-1) instanceof LazyValue)
    const known = isSent ? entry : this.#pageWriter.withLazyValue(staged)
    if (!this.#hasBegun || ALWAYS_APPLIED_KINDS.has(entry[0])) this.#apply(known)
    else if (entry[0] === 'end') this.#firings.get(entry[1])?.steps.clear()
    return this.#pageWriter.estimateWeight(staged)
  }

  /** How many entries are staged. */
  get stagedCount(): number {
    return this.#staged.length
  }

  /** How many of the staged entries, from the first on, one transaction should write. */
  get dueCount(): number {
    return this.#pageWriter.countFitting(this.#staged)
  }

  /**
   * Gives what is large of the first `entries` of what is staged, or was `sent` by commands, files of its own; null: nothing is that has none yet, so that
   * all of it may be written. It rejects with what `signal` was aborted with, or what the file system throws; nothing is left of the files then.
   */
  spill(signal: AbortSignal, sent: readonly JournalEntry[] = [], entries = this.stagedCount): Promise<void> | null {
    if (!this.isReadable) return null
    const params = this.#pageCount === 0 ? this.#params : null
    const spilled = this.#pageWriter.spill(params, [...this.#staged.slice(0, entries), ...sent], signal)
    if (spilled) this.#has_files = true
    return spilled
  }

  /**
   * Writes the first `entries` of what is staged, and what was `sent` by commands, the parameters with the first page. It may be asked for more than
   * once before `written`.
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

  /** Has what is stored removed, when nobody will ask for it again, nor for what is staged, or `sent` by commands. */
  forget(tx: Tx, sent: readonly JournalEntry[] = []): void {
    const released = this.#pageCount > 0 && deleteCompletedJournal(tx, this.#job_key, this.#byteCount) > 0
    this.#pendingCommit = { ...NOTHING_WRITTEN, entries: this.#staged.length, sent, forgets: true, released }
  }

  /** What `write` wrote, or `forget` removed, is committed. */
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

  /** What commands `sent` is not written. */
  drop(sent: readonly JournalEntry[]): void {
    this.#pageWriter.drop(sent)
  }

  /** The job is not taken in: nothing that is staged will be written. */
  discard(): void {
    this.releaseMemory()
    this.#pageWriter.drop(this.#staged.splice(0))
  }

  /** Whether nothing is known of any firing. */
  get isBlank(): boolean {
    return this.#firings.size === 0 && this.failures.size === 0
  }

  /** What is known of firings, by their names. */
  get firings(): ReadonlyMap<string, JournaledFiring> {
    return this.#firings
  }

  /**
   * What a new run of the same graph takes over: what it was given and sent, of firings what `reuse` says, the graphs that are the `same`, and
   * what was used of models. Large values stay where they lie until they are staged there. Of each firing it lets go then.
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

  /** @throws NoRoom, TooMuchRemembered */
  #countMemory(counts: FiringMemoryReservation, entry: JournalEntry): void {
    if (!isFiringEntry(entry)) return
    const known = this.#firingOf(entry[1])
    const bytes = estimateEntryBytes(entry) + (known.bytes === 0 ? estimateFiringBytes(entry[1]) : 0)
    known.bytes += bytes
    counts.take(bytes)
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
  memory: JobJournal,
  entry: Extract<JournalEntry, readonly [Kind, ...unknown[]]>,
  of: (firing: string) => MutableJournaledFiring,
) => void

const ENTRY_APPLIERS: { [Kind in Exclude<JournalEntry[0], 'recovery'>]: EntryApplier<Kind> } = {
  rest: (memory, [, told]) => {
    memory.suspendedOutputs = told
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
    // Nobody asks for them any more.
    known.steps = NO_STEPS
  },
  wait: (_, [, firing, request], of) => {
    of(firing).wait = request
  },
  answer: (_, [, firing, value], of) => {
    of(firing).answer = { value }
  },
  failure: (memory, [, scope, error]) => memory.failures.set(scope, error),
  push: (memory, entry) => memory.inputs.push(entry),
  close: (memory, entry) => memory.inputs.push(entry),
  update: (memory, [, update, properties]) => {
    memory.updates.push(properties === undefined ? (update as NodeUpdate) : ({ ...update, properties } as NodeUpdate))
  },
  graph: (memory, [, workflow_id, body]) => memory.graphs.set(workflow_id, body as string | LazyValue),
  use: (memory, [, use]) => memory.spending.add(use),
}
