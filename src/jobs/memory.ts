// What one job remembers beyond its process: its parameters, what its run has done, and what it was sent. It is written in pages, encrypted,
// in the transactions that write the job's row and events, and read again when the job goes on after an interruption. Large values get files of
// their own before (spilling.ts), and are read when they are asked for.
import { journalLength } from '../db/job-journal.ts'
import { removeJournal } from '../db/job-removal.ts'
import { hasSpilledValues } from '../db/spilled-values.ts'
import type { Store, Tx } from '../db/store.ts'
import type {
  FailedAttempts,
  FiringEnd,
  NodeUpdate,
  Remembered,
  RememberedStep,
  WaitRequest,
} from '../engine/journal.ts'
import type { Outputs } from '../engine/node-type.ts'
import type { RunError } from '../engine/observer.ts'
import { forEachStep, mapStep, type Steps } from '../time-slices.ts'
import type { Entry, ToldOutput } from './entry.ts'
import { entryBytes, type FiringMemory, firingBytes, isOfFiring, measuring } from './firing-memory.ts'
import { weightOf } from './inlet.ts'
import { JoinedUpdates } from './joined-updates.ts'
import { eachPage } from './journal-reading.ts'
import { contentsOf, Later, LeftUnread, type Params, paramsSteps } from './later.ts'
import { PageValues } from './page-values.ts'
import { Spending } from './spending.ts'
import { type MemoryTools, Spilling } from './spilling.ts'

/** A firing as it is put together from its entries. Large values may still lie in their files. */
interface Known {
  started: boolean
  attempts: FailedAttempts | null
  items: (Outputs | Later)[]
  steps: Map<string, RememberedStep>
  end: FiringEnd | Later | null
  wait: WaitRequest | null
  answer: { value: unknown } | null
  /** How many bytes of it count. */
  bytes: number
}

/** What is known of a firing, whatever its values are. */
export type KnownFiring = Omit<Remembered, 'items' | 'end'> & {
  readonly items: readonly unknown[]
  readonly end: object | null
}

/** Most firings have no items and no steps: those have these in common, to which nothing is ever added. */
const NO_ITEMS: Known['items'] = []
const NO_STEPS: Known['steps'] = new Map()

function unknown(): Known {
  const [items, steps] = [NO_ITEMS, NO_STEPS]
  return { started: false, attempts: null, items, steps, end: null, wait: null, answer: null, bytes: 0 }
}

function addItem(known: Known, item: Outputs): void {
  if (known.items === NO_ITEMS) known.items = [item]
  else known.items.push(item)
}

function setStep(known: Known, name: string, step: RememberedStep): void {
  if (known.steps === NO_STEPS) known.steps = new Map()
  known.steps.set(name, step)
}

/** With the values that lie elsewhere, but for items of which there are many. @throws Error where one of them cannot be read */
function remembered(
  { items, steps, end, answer, bytes: _, ...rest }: Known,
  read: (value: Later) => unknown,
): Remembered {
  const whole = ([name, step]: [string, RememberedStep]): [string, RememberedStep] => [
    name,
    { ...step, end: step.end && { value: Later.now(step.end.value) } },
  ]
  return {
    ...rest,
    items: items.map((item) => Later.unread(item, read)),
    steps: new Map([...steps].map(whole)),
    end: Later.now(end),
    answer: answer && { value: Later.now(answer.value) },
  }
}

function liesInFiles({ items, steps, end, answer }: Known): boolean {
  if (end instanceof Later || answer?.value instanceof Later || items.some((item) => item instanceof Later)) return true
  for (const [, step] of steps) if (step.end?.value instanceof Later) return true
  return false
}

/** In place of what lies elsewhere, its value; some of the items alone, as `LeftUnread` says. */
function* readValues(known: Known): Steps<void> {
  const { items, steps, answer } = known
  const left = new LeftUnread()
  for (let at = 0; at < items.length; at++) if (!left.has(items[at])) items[at] = yield* Later.read(items[at]!)
  for (const [name, step] of steps)
    if (step.end) steps.set(name, { ...step, end: { value: yield* Later.read(step.end.value) } })
  if (answer) known.answer = { value: yield* Later.read(answer.value) }
  known.end = yield* Later.read(known.end)
}

/** What a firing that goes on was asked for: `readValues` may have brought much of it into memory. */
function forgetValues(known: Known): void {
  known.items = NO_ITEMS
  known.steps = NO_STEPS
  if (known.answer) known.answer = { value: null }
}

/**
 * What a new run takes over of a firing: all, so that it has ended or has its answer; what it had begun with, attempts that failed,
 * steps and the items of its stream; or nothing.
 */
export type Reuse = 'all' | 'begun' | 'nothing'

/** Kinds that are asked for while the run goes on. */
const LEARNT_ALWAYS: ReadonlySet<Entry[0]> = new Set<Entry[0]>(['wait', 'answer', 'graph', 'use'])

interface Writing {
  readonly entries: number
  readonly sent: readonly Entry[]
  readonly pages: number
  readonly bytes: number
  readonly forgets: boolean
  readonly released: boolean
}

/** Bytes in pages: what takes more is much for one of ten thousand jobs that wait. In memory, small values take about twenty times as much. */
const LITTLE = 1_024

const NOTHING_WRITTEN: Writing = { entries: 0, sent: [], pages: 0, bytes: 0, forgets: false, released: false }

export class JobMemory implements Disposable {
  readonly #tools: MemoryTools
  readonly #job_key: number
  /** Where what is known of firings counts; null: it does not. */
  #counts: FiringMemory | null
  #params: Params
  readonly #known = new Map<string, Known>()
  /** What it was sent, in order. */
  readonly inputs: (readonly ['push', string, unknown] | readonly ['close', string])[] = []
  readonly updates: NodeUpdate[] = []
  /** Graphs of called workflows, as JSON text. */
  readonly graphs = new Map<string, string | Later>()
  /** What the job's own run, and called workflows by their scope, had come to. */
  readonly failures = new Map<string, RunError>()
  /** What the job has used of models. */
  readonly spending = new Spending()
  /** Why it cannot be known; null: it is. */
  fault: string | null = null
  readonly #spilling: Spilling
  #staged: Entry[] = []
  /**
   * How many of them the commit under way writes, what else of commands, and how many pages and bytes; whether it forgets all, and releases files
   * by that.
   */
  #writing = NOTHING_WRITTEN
  /** How much is stored. */
  #pages = 0
  #bytes = 0
  /** Whether any value has got a file of its own. */
  #has_files = false
  #begun = false
  #away = false
  /** How many of the inputs have their values, while it is loaded. */
  #sent_read = 0
  readonly #sent_left = new LeftUnread()
  /** How many changes of properties those are that were read. */
  #updates_read = 0
  readonly #joined_updates = new JoinedUpdates(this.updates)
  /** What is to be told of outputs where it ends while it waits. */
  rest: readonly ToldOutput[] = []
  /** How often it went on after an interruption and had nothing to remember, and no output to tell, until the next one. */
  idle_recoveries = 0

  private constructor(tools: MemoryTools, job_key: number, params: Params, counts: FiringMemory | null = null) {
    this.#tools = tools
    this.#counts = counts
    this.#job_key = job_key
    this.#params = params
    this.#spilling = new Spilling(tools, job_key)
  }

  /** The memory of a job that has not begun. What it takes over of firings `counts`. */
  static fresh(tools: MemoryTools, job_key: number, params: Params, counts: FiringMemory | null = null): JobMemory {
    return new JobMemory(tools, job_key, params, counts)
  }

  /** The memory of a job whose own cannot be read, or is too much: it is empty, and nothing is written. */
  static unreadable(tools: MemoryTools, job_key: number, fault: string): JobMemory {
    const memory = new JobMemory(tools, job_key, {})
    memory.fault = fault
    return memory
  }

  get readable(): boolean {
    return this.fault === null
  }

  /**
   * The memory of a stored job, or null where there is none.
   * @throws VaultError where it was written under another key; Error where the file of a large value that is needed at once cannot be read; NoRoom and
   * TooMuchRemembered where `counts` has no room for it
   */
  static *loadSteps(
    store: Store,
    tools: MemoryTools,
    job_key: number,
    counts: FiringMemory | null = null,
  ): Steps<JobMemory | null> {
    try {
      const loaded = yield* JobMemory.#loadAll(store, tools, job_key, counts)
      counts?.settle()
      return loaded
    } catch (error) {
      counts?.release()
      throw error
    }
  }

  static *#loadAll(
    store: Store,
    tools: MemoryTools,
    job_key: number,
    counts: FiringMemory | null,
  ): Steps<JobMemory | null> {
    const { spilled } = tools
    const values = new PageValues(store, tools, job_key)
    let memory: JobMemory | null = null
    let bytes = 0
    const pages = yield* eachPage(store, tools, job_key, function* (content, page) {
      bytes += page.body.length
      if (memory === null) memory = new JobMemory(tools, job_key, yield* paramsSteps(content, spilled), counts)
      else yield* memory.#learnSteps(yield* values.known(page.page, page.body.length, contentsOf(content, spilled)))
    })
    const loaded = memory as JobMemory | null
    if (loaded) {
      loaded.#pages = pages
      loaded.#bytes = bytes
      loaded.#has_files = store.read((tx) => hasSpilledValues(tx, job_key))
    }
    return loaded
  }

  /** Whether it is all that is stored: in between steps more may have been written, or all removed. */
  isWhole(tx: Tx): boolean {
    return !this.readable || journalLength(tx, this.#job_key) === this.#pages
  }

  /** Some of what a job was sent is needed at once, other values are read when they are asked for. */
  *#learnSteps(entries: readonly Entry[]): Steps<void> {
    if (this.#counts) for (const steps of yield* mapStep(entries, measuring)) if (steps) yield* steps
    yield* forEachStep(entries, (entry) => this.#learn(entry))
    for (let at = this.#sent_read; at < this.inputs.length; at++) {
      const [kind, name, value] = this.inputs[at]!
      if (kind === 'push' && !this.#sent_left.has(value)) this.inputs[at] = ['push', name, yield* Later.read(value)]
    }
    this.#sent_read = this.inputs.length
    for (const { properties, ...of } of this.updates.splice(this.#updates_read)) {
      this.#joined_updates.add({ ...of, properties: yield* Later.read(properties) })
      yield
    }
    this.#updates_read = this.updates.length
  }

  /** What the changes of properties weigh that it was read with, or has got since. */
  get updates_weight(): number {
    const since = this.updates.slice(this.#updates_read)
    return since.reduce((sum, { properties }) => sum + weightOf(properties), this.#joined_updates.weight)
  }

  get params(): Params {
    return this.#params
  }

  /** Reads the large values of a firing, so that `recall` has them; null: it has none in files. @throws Error where one of them cannot be read */
  readSteps(firing: string): Steps<void> | null {
    const known = this.#known.get(firing)
    return known && liesInFiles(known) ? readValues(known) : null
  }

  /**
   * What is known of a firing. It is asked for once, so that its values are let go of. Items that are taken later are given by `read`.
   * @throws Error where the file of a large value cannot be read
   */
  recall(firing: string, read: (value: Later) => unknown = Later.now): Remembered | null {
    const known = this.#known.get(firing)
    if (!known) return null
    const whole = remembered(known, read)
    if (known.end) this.#known.delete(firing)
    else forgetValues(known)
    this.#counts?.give(known.bytes)
    known.bytes = 0
    return whole
  }

  /** The run has what it was sent until now: from here on only what it waits for is kept in memory. */
  begin(): void {
    this.#begun = true
    this.inputs.length = 0
    this.updates.length = 0
  }

  /** Whether it is not worth putting away. */
  get isLittle(): boolean {
    return this.#bytes <= LITTLE && !this.#has_files
  }

  /** Whether it only writes, and knows nothing of what is stored. */
  get isAway(): boolean {
    return this.#away
  }

  /** Lets go of all that it knows, which is stored: the job waits, maybe for long. */
  putAway(): void {
    this.#away = true
    this.letGo()
    this.#params = {}
    this.inputs.length = 0
    this.updates.length = 0
    this.#known.clear()
    this.graphs.clear()
    this.failures.clear()
    this.spending.clear()
    this.rest = []
  }

  /** What it knows counts no more: nobody will ask for it. */
  letGo(): void {
    this.#counts?.release()
    this.#counts = null
  }

  [Symbol.dispose](): void {
    this.letGo()
  }

  /** Knows again what is `stored`, as it was read. */
  bringBack(stored: JobMemory): void {
    this.#away = false
    this.#counts = stored.#counts
    this.#params = stored.#params
    for (const input of stored.inputs) this.inputs.push(input)
    for (const update of stored.updates) this.updates.push(update)
    for (const [firing, known] of stored.#known) this.#known.set(firing, known)
    for (const [workflow_id, body] of stored.graphs) this.graphs.set(workflow_id, body)
    for (const [scope, error] of stored.failures) this.failures.set(scope, error)
    for (const use of stored.spending.uses) this.spending.add(use)
    this.rest = stored.rest
    this.fault = stored.fault
  }

  /** Firings that wait for nothing but time, and have not been told that it has passed. */
  get delays(): { firing: string; until: number }[] {
    const delays: { firing: string; until: number }[] = []
    for (const [firing, { wait, answer, end }] of this.#known)
      if (wait?.until != null && !answer && !end) delays.push({ firing, until: wait.until })
    return delays
  }

  /** Keeps an entry, to be written with the next commit. Gives about how many characters it has in its page. */
  stage(entry: Entry): number {
    const staged = this.#spilling.bounded(entry)
    this.#staged.push(staged)
    // What it was sent is needed at once, but for what another job has left in files.
    const isSent = (entry[0] === 'push' || entry[0] === 'update') && !(entry.at(-1) instanceof Later)
    const known = isSent ? entry : this.#spilling.known(staged)
    if (!this.#begun || LEARNT_ALWAYS.has(entry[0])) this.#learn(known)
    else if (entry[0] === 'end') this.#known.get(entry[1])?.steps.clear()
    return this.#spilling.weightOf(staged)
  }

  /** How many entries are staged. */
  get staged(): number {
    return this.#staged.length
  }

  /** How many of the staged entries, from the first on, one transaction should write. */
  get due(): number {
    return this.#spilling.fitting(this.#staged)
  }

  /**
   * Gives what is large of the first `entries` of what is staged, or was `sent` by commands, files of its own; null: nothing is that has none yet, so that
   * all of it may be written. It rejects with what `signal` was aborted with, or what the file system throws; nothing is left of the files then.
   */
  spill(signal: AbortSignal, sent: readonly Entry[] = [], entries = this.staged): Promise<void> | null {
    if (!this.readable) return null
    const params = this.#pages === 0 ? this.#params : null
    const spilled = this.#spilling.spill(params, [...this.#staged.slice(0, entries), ...sent], signal)
    if (spilled) this.#has_files = true
    return spilled
  }

  /**
   * Writes the first `entries` of what is staged, and what was `sent` by commands, the parameters with the first page. It may be asked for more than
   * once before `written`.
   */
  write(tx: Tx, attempt: number, entries: number, sent: readonly Entry[] = []): void {
    if (!this.readable) return
    const written = this.#spilling.write(tx, attempt, {
      from: this.#pages,
      params: this.#params,
      entries: [...this.#staged.slice(0, entries), ...sent],
    })
    this.#writing = { entries, sent, ...written, forgets: false, released: false }
  }

  /** Has what is stored removed, when nobody will ask for it again, nor for what is staged, or `sent` by commands. */
  forget(tx: Tx, sent: readonly Entry[] = []): void {
    const released = this.#pages > 0 && removeJournal(tx, this.#job_key, this.#bytes) > 0
    this.#writing = { ...NOTHING_WRITTEN, entries: this.#staged.length, sent, forgets: true, released }
  }

  /** What `write` wrote, or `forget` removed, is committed. */
  written(): void {
    const { entries, sent, pages, bytes, forgets, released } = this.#writing
    const staged = this.#staged.splice(0, entries)
    this.#pages += pages
    this.#bytes += bytes
    this.#writing = NOTHING_WRITTEN
    this.#spilling.settle(staged)
    if (forgets) this.#spilling.drop([...staged, ...sent])
    else if (!this.#begun) for (const entry of sent) this.#learn(entry)
    if (released) this.#tools.spilled.removeSoon()
  }

  /** What commands `sent` is not written. */
  drop(sent: readonly Entry[]): void {
    this.#spilling.drop(sent)
  }

  /** The job is not taken in: nothing that is staged will be written. */
  discard(): void {
    this.letGo()
    this.#spilling.drop(this.#staged.splice(0))
  }

  /** Whether nothing is known of any firing. */
  get blank(): boolean {
    return this.#known.size === 0 && this.failures.size === 0
  }

  /** What is known of firings, by their names. */
  get firings(): ReadonlyMap<string, KnownFiring> {
    return this.#known
  }

  /**
   * What a new run of the same graph takes over: what it was given and sent, of firings what `reuse` says, the graphs that are the `same`, and
   * what was used of models. Large values stay where they lie until they are staged there. Of each firing it lets go then.
   */
  *reusable(reuse: (firing: string) => Reuse, same: (workflow_id: string) => boolean): Generator<Entry> {
    for (const [firing, known] of this.#known) {
      this.#known.delete(firing)
      this.#counts?.give(known.bytes)
      yield* reusableOf(firing, known, reuse(firing))
    }
    yield* this.inputs
    for (const { properties, ...of } of this.updates) yield ['update', of, properties]
    for (const [workflow_id, body] of this.graphs) if (same(workflow_id)) yield ['graph', workflow_id, body]
    for (const use of this.spending.uses) yield ['use', use]
  }

  #of(firing: string): Known {
    const known = this.#known.get(firing) ?? unknown()
    this.#known.set(firing, known)
    return known
  }

  /** @throws NoRoom, TooMuchRemembered */
  #count(counts: FiringMemory, entry: Entry): void {
    if (!isOfFiring(entry)) return
    const known = this.#of(entry[1])
    const bytes = entryBytes(entry) + (known.bytes === 0 ? firingBytes(entry[1]) : 0)
    known.bytes += bytes
    counts.take(bytes)
  }

  #learn(entry: Entry): void {
    if (this.#away) return
    if (entry[0] === 'recovery') {
      this.idle_recoveries++
      return
    }
    this.idle_recoveries = 0
    if (this.#counts && !this.#begun) this.#count(this.#counts, entry)
    LEARN[entry[0]](this, entry as never, (firing) => this.#of(firing))
  }
}

function* reusableOf(firing: string, known: Known, reuse: Reuse): Generator<Entry> {
  if (reuse === 'nothing') return
  const { started, attempts, items, steps, end, wait, answer } = known
  if (attempts) yield ['attempt', firing, { ...attempts, forgiven: attempts.failed, next_at: 0 }]
  if (reuse === 'all' && started) yield ['start', firing]
  for (const [name, { call, end: over }] of steps) {
    yield ['step', firing, name, { call, begun: over !== null }]
    if (over) yield ['done', firing, name, over.value]
  }
  for (const item of items) yield ['item', firing, item as Outputs]
  if (reuse === 'begun') return
  if (end) yield ['end', firing, end as FiringEnd]
  else if (wait && answer) {
    yield ['wait', firing, wait]
    yield ['answer', firing, answer.value]
  }
}

type Learner<Kind extends Entry[0]> = (
  memory: JobMemory,
  entry: Extract<Entry, readonly [Kind, ...unknown[]]>,
  of: (firing: string) => Known,
) => void

const LEARN: { [Kind in Exclude<Entry[0], 'recovery'>]: Learner<Kind> } = {
  rest: (memory, [, told]) => {
    memory.rest = told
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
  graph: (memory, [, workflow_id, body]) => memory.graphs.set(workflow_id, body as string | Later),
  use: (memory, [, use]) => memory.spending.add(use),
}
