// What one job remembers beyond its process: its parameters, what its run has done, and what it was sent. It is written in pages, encrypted,
// in the transactions that write the job's row and events, and read again when the job goes on after an interruption.
import { deserialize, serialize } from 'node:v8'
import { insertJournalPage, journalPages, removeJournal } from '../db/job-journal.ts'
import type { Store, Tx } from '../db/store.ts'
import type { FailedAttempts, FiringEnd, NodeUpdate, Remembered, WaitRequest } from '../engine/journal.ts'
import { sizeOf } from '../engine/measure.ts'
import type { Outputs } from '../engine/node-type.ts'
import type { RunError } from '../engine/observer.ts'
import type { Cipher } from '../vault/vault.ts'

/** One thing to remember. A firing is named as `firing-names.ts` says. */
export type Entry =
  | readonly ['start', firing: string]
  /** An attempt failed, and another one follows: takes the place of the one before, and of the start. */
  | readonly ['attempt', firing: string, attempts: FailedAttempts]
  | readonly ['item', firing: string, item: Outputs]
  | readonly ['end', firing: string, end: FiringEnd]
  | readonly ['wait', firing: string, request: WaitRequest]
  | readonly ['answer', firing: string, value: unknown]
  /** The job's own run, or the called workflow of that scope, ends with a failure. It is the end of no firing: a retry has it run again. */
  | readonly ['failure', scope: string, error: RunError]
  /** A value for a streamed input, or its end. */
  | readonly ['push', input: string, value: unknown]
  | readonly ['close', input: string]
  | readonly ['update', update: NodeUpdate]
  /** The graph of a called workflow, as JSON text: the same one is called again. */
  | readonly ['graph', workflow_id: string, body: string]
  /** The job begins to go on after an interruption. */
  | readonly ['recovery']

/** A firing as it is put together from its entries. */
interface Known {
  started: boolean
  attempts: FailedAttempts | null
  items: Outputs[]
  end: FiringEnd | null
  wait: WaitRequest | null
  answer: { value: unknown } | null
}

function unknown(): Known {
  return { started: false, attempts: null, items: [], end: null, wait: null, answer: null }
}

/**
 * What a new run takes over of a firing: all, so that it has ended or has its answer; what it had begun with, attempts that failed and the
 * items of its stream; or nothing.
 */
export type Reuse = 'all' | 'begun' | 'nothing'

/** About how many characters of values a page holds: what is sealed at once must not hold up the process. */
const PAGE_WEIGHT = 4_000_000
/** What an entry counts besides its value, which stands last. */
const ENTRY_WEIGHT = 32

type Params = Readonly<Record<string, unknown>>

export class JobMemory {
  readonly #cipher: Cipher
  readonly #job_key: number
  readonly #params: Params
  readonly #known = new Map<string, Known>()
  /** What it was sent, in order. */
  readonly inputs: (readonly ['push', string, unknown] | readonly ['close', string])[] = []
  readonly updates: NodeUpdate[] = []
  readonly graphs = new Map<string, string>()
  /** What the job's own run, and called workflows by their scope, had come to. */
  readonly failures = new Map<string, RunError>()
  readable = true
  #staged: Entry[] = []
  /** How many of them, and how many pages, the commit under way writes. */
  #writing = { entries: 0, pages: 0 }
  #pages: number
  #begun = false
  /** How often it went on after an interruption and had nothing to remember until the next one. */
  idle_recoveries = 0

  private constructor(cipher: Cipher, job_key: number, params: Params, pages: number) {
    this.#cipher = cipher
    this.#job_key = job_key
    this.#params = params
    this.#pages = pages
  }

  /** The memory of a job that has not begun. */
  static fresh(cipher: Cipher, job_key: number, params: Params): JobMemory {
    return new JobMemory(cipher, job_key, params, 0)
  }

  /** The memory of a job whose own cannot be read: it is empty, and nothing is written. */
  static unreadable(cipher: Cipher, job_key: number): JobMemory {
    const memory = new JobMemory(cipher, job_key, {}, 0)
    memory.readable = false
    return memory
  }

  /** The memory of a stored job, or null where there is none. @throws VaultError where it was written under another key */
  static load(store: Store, cipher: Cipher, job_key: number): JobMemory | null {
    const [first, ...rest] = store.read((tx) => journalPages(tx, job_key))
    if (first?.page !== 0) return null
    const open = (body: Uint8Array, page: number) => deserialize(cipher.open(body, contextOf(job_key, page))) as unknown
    const memory = new JobMemory(cipher, job_key, open(first.body, 0) as Params, 1 + rest.length)
    for (const { body, page } of rest) for (const entry of open(body, page) as Entry[]) memory.#learn(entry)
    return memory
  }

  get params(): Params {
    return this.#params
  }

  /** What is known of a firing. It is asked for once, so that what had ended is let go of. */
  recall(firing: string): Remembered | null {
    const known = this.#known.get(firing)
    if (known?.end) this.#known.delete(firing)
    return known ?? null
  }

  /** The run has what it was sent until now: from here on only what it waits for is kept in memory. */
  begin(): void {
    this.#begun = true
    this.inputs.length = 0
    this.updates.length = 0
  }

  /** Firings that wait for nothing but time, and have not been told that it has passed. */
  get delays(): { firing: string; until: number }[] {
    return [...this.#known].flatMap(([firing, { wait, answer, end }]) =>
      wait?.until != null && !answer && !end ? [{ firing, until: wait.until }] : [],
    )
  }

  /** Keeps an entry, to be written with the next commit. */
  stage(entry: Entry): void {
    this.#staged.push(entry)
    if (!this.#begun || entry[0] === 'wait' || entry[0] === 'answer' || entry[0] === 'graph') this.#learn(entry)
  }

  /** Writes what is staged, the parameters with the first page. It may be asked for more than once before `written`. */
  write(tx: Tx, attempt: number): void {
    if (!this.readable) return
    let page = this.#pages
    if (page === 0) this.#insert(tx, page++, attempt, this.#params)
    for (const entries of pagesOf(this.#staged)) this.#insert(tx, page++, attempt, entries)
    this.#writing = { entries: this.#staged.length, pages: page - this.#pages }
  }

  /** What `write` wrote is committed. */
  written(): void {
    const { entries, pages } = this.#writing
    this.#pages += pages
    this.#staged.splice(0, entries)
    this.#writing = { entries: 0, pages: 0 }
  }

  /** Removes what is stored, when nobody will ask for it again. */
  forget(tx: Tx): void {
    if (this.#pages > 0) removeJournal(tx, this.#job_key)
  }

  /** Whether nothing is known of any firing. */
  get blank(): boolean {
    return this.#known.size === 0 && this.failures.size === 0
  }

  /** What is known of firings, by their names. */
  get firings(): ReadonlyMap<string, Remembered> {
    return this.#known
  }

  /** What a new run of the same graph takes over: what it was given and sent, of firings what `reuse` says, and the graphs that are the `same`. */
  *reusable(reuse: (firing: string) => Reuse, same: (workflow_id: string) => boolean): Generator<Entry> {
    for (const [firing, known] of this.#known) yield* reusableOf(firing, known, reuse(firing))
    yield* this.inputs
    for (const update of this.updates) yield ['update', update]
    for (const [workflow_id, body] of this.graphs) if (same(workflow_id)) yield ['graph', workflow_id, body]
  }

  #insert(tx: Tx, page: number, attempt: number, content: unknown): void {
    const body = this.#cipher.seal(serialize(content), contextOf(this.#job_key, page))
    insertJournalPage(tx, { job_key: this.#job_key, page, attempt, body })
  }

  #of(firing: string): Known {
    const known = this.#known.get(firing) ?? unknown()
    this.#known.set(firing, known)
    return known
  }

  #learn(entry: Entry): void {
    if (entry[0] === 'recovery') {
      this.idle_recoveries++
      return
    }
    this.idle_recoveries = 0
    LEARN[entry[0]](this, entry as never, (firing) => this.#of(firing))
  }
}

function* reusableOf(
  firing: string,
  { started, attempts, items, end, wait, answer }: Known,
  reuse: Reuse,
): Generator<Entry> {
  if (reuse === 'nothing') return
  if (attempts) yield ['attempt', firing, { ...attempts, forgiven: attempts.failed, next_at: 0 }]
  if (reuse === 'all' && started) yield ['start', firing]
  for (const item of items) yield ['item', firing, item]
  if (reuse === 'begun') return
  if (end) yield ['end', firing, end]
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
  start: (_, [, firing], of) => {
    of(firing).started = true
  },
  attempt: (_, [, firing, attempts], of) => {
    Object.assign(of(firing), { started: false, attempts })
  },
  item: (_, [, firing, item], of) => {
    of(firing).items.push(item)
  },
  end: (_, [, firing, end], of) => {
    of(firing).end = end
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
  update: (memory, [, update]) => memory.updates.push(update),
  graph: (memory, [, workflow_id, body]) => memory.graphs.set(workflow_id, body),
}

function contextOf(job_key: number, page: number): string {
  return `${job_key}/${page}`
}

function pagesOf(entries: readonly Entry[]): Entry[][] {
  const pages: Entry[][] = []
  let weight = PAGE_WEIGHT
  for (const [at, entry] of entries.entries()) {
    if (weight >= PAGE_WEIGHT) {
      pages.push([])
      weight = 0
    }
    pages.at(-1)!.push(entry)
    // Most commits have few entries, and of the last one nobody needs to know.
    if (at < entries.length - 1) weight += ENTRY_WEIGHT + sizeOf(entry.at(-1))
  }
  return pages
}
