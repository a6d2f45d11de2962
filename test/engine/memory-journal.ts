// A journal in memory: a list of records, each kept as text. This proves that records are plain data, and lets a test cut the list
// anywhere, as an interruption would.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type {
  FailedAttempts,
  FiringEnd,
  FiringHistory,
  Journal,
  RecordedStep,
  WaitRequest,
} from '../../src/engine/durability/journal.ts'
import type { OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { RunError } from '../../src/engine/runtime/run/observer.ts'

export type Record =
  | ['start', string]
  | ['attempt', string, FailedAttempts]
  | ['item', string, OutputValues]
  /** A step by its name, with its call and whether it begins (the default); and its result. */
  | ['step', string, string, number, boolean?]
  | ['done', string, string, unknown]
  | ['end', string, FiringEnd]
  | ['wait', string, WaitRequest]
  | ['answer', string, unknown]
  /** The failure of the run whose firings have names with this prefix. */
  | ['failure', string, RunError]

interface Known {
  started: boolean
  attempts: FailedAttempts | null
  items: OutputValues[]
  steps: Map<string, RecordedStep>
  end: FiringEnd | null
  wait: WaitRequest | null
  answer: { value: unknown } | null
}

function unknown(): Known {
  return { started: false, attempts: null, items: [], steps: new Map(), end: null, wait: null, answer: null }
}

/** A record as text. A journal need not keep what text cannot express. */
function written(record: Record): string {
  const text = JSON.stringify(record)
  assert.deepEqual(JSON.parse(text), record)
  return text
}

export class MemoryJournal {
  readonly #records: string[]
  readonly #ready = new Map<string, string[]>()
  /** Called before a record is kept. */
  onRecord: (record: Record) => void = () => {}
  /** The last firing that was recalled: its code begins next, unless it has to wait for its start. */
  asked = ''
  /** Resolves when the start of a firing is committed. */
  commit: () => Promise<void> = async () => {}
  /** Resolves when all present records are durable; null: they already are. */
  durable: () => Promise<void> | null = () => null
  /** Whether reading the history of a firing takes a while, as if its values lay in files. */
  isSlow = (firing: string): boolean => firing.length % 2 === 0

  constructor(records: readonly string[] = []) {
    this.#records = [...records]
  }

  /** Notes that the code of a firing may begin, as its start is committed. */
  started(node_id: string, name: string): void {
    this.#ready.set(node_id, [...(this.#ready.get(node_id) ?? []), name])
  }

  /** The firing, not retry-safe, of a node whose code begins now: firings begin in the order of their commits. */
  begins(node_id: string): string {
    return this.#ready.get(node_id)!.shift()!
  }

  get size(): number {
    return this.#records.length
  }

  get records(): Record[] {
    return this.#records.map((text) => JSON.parse(text) as Record)
  }

  /** A journal that has only the first records. */
  cut(size: number): MemoryJournal {
    return new MemoryJournal(this.#records.slice(0, size))
  }

  /** Answers a waiting firing. */
  answer(firing: string, value: unknown): void {
    this.keep(['answer', firing, value])
  }

  /** Records of one kind, by firing. */
  of(kind: Record[0]): string[] {
    return this.records.filter((record) => record[0] === kind).map((record) => record[1])
  }

  /** The journal of one run, with all earlier records. */
  open(): Journal {
    const failures = new Map(this.records.flatMap(([kind, run, error]) => (kind === 'failure' ? [[run, error]] : [])))
    return new Opened({ journal: this, known: this.#known(), failures, asked: new Set(), ended: new Set() }, '')
  }

  keep(record: Record): void {
    this.onRecord(record)
    this.#records.push(written(record))
  }

  #known(): Map<string, Known> {
    const known = new Map<string, Known>()
    for (const record of this.records) {
      const [kind, firing] = record
      if (kind === 'failure') continue
      const one = known.get(firing) ?? unknown()
      known.set(firing, one)
      if (kind === 'start') one.started = true
      else if (kind === 'attempt') {
        for (const [name, { end }] of one.steps) if (!end) one.steps.delete(name)
        Object.assign(one, { started: false, attempts: record[2] })
      } else if (kind === 'step') one.steps.set(record[2], { call: record[3], begun: record[4] ?? true, end: null })
      else if (kind === 'done') one.steps.set(record[2], { ...one.steps.get(record[2])!, end: { value: record[3] } })
      else if (kind === 'item') one.items.push(record[2])
      else if (kind === 'end') one.end = record[2]
      else if (kind === 'wait') one.wait = record[2]
      else one.answer = { value: record[2] }
    }
    return known
  }
}

/** State shared by the journals of one run, including called workflows. */
interface Shared {
  readonly journal: MemoryJournal
  readonly known: ReadonlyMap<string, Known>
  readonly failures: Map<string, RunError>
  readonly asked: Set<string>
  readonly ended: Set<string>
}

/** The journal of one run. It enforces the contract: calls that repeat, or follow the end, fail. */
class Opened implements Journal {
  readonly #shared: Shared
  readonly #scope: string

  constructor(shared: Shared, scope: string) {
    this.#shared = shared
    this.#scope = scope
  }

  recallFailure(): RunError | null {
    return this.#shared.failures.get(this.#scope) ?? null
  }

  fail(error: RunError): void {
    const { journal, failures } = this.#shared
    assert.ok(!failures.has(this.#scope), 'a run fails twice')
    failures.set(this.#scope, error)
    journal.keep(['failure', this.#scope, error])
  }

  prepareRecall(node_id: string, path: string): Promise<void> | null {
    const { journal, known, asked } = this.#shared
    const name = this.formatName(node_id, path)
    assert.ok(!asked.has(name), `${name} is read after it was asked for`)
    return known.has(name) && journal.isSlow(name) ? setImmediate() : null
  }

  recall(node_id: string, path: string): FiringHistory | null {
    const { journal, known, asked } = this.#shared
    const name = this.formatName(node_id, path)
    assert.ok(!asked.has(name), `${name} is asked for twice`)
    asked.add(name)
    journal.asked = name
    return known.get(name) ?? null
  }

  async start(node_id: string, path: string): Promise<void> {
    const { journal } = this.#shared
    const name = this.formatName(node_id, path)
    const told = journal.records.filter(([kind, firing]) => firing === name && (kind === 'start' || kind === 'attempt'))
    assert.notEqual(told.at(-1)?.[0], 'start', `${name} starts twice`)
    journal.keep(['start', name])
    await journal.commit()
    journal.started(node_id, name)
  }

  async step(node_id: string, path: string, name: string, call: number): Promise<void> {
    this.#keep(['step', this.formatName(node_id, path), name, call])
    await this.#shared.journal.commit()
  }

  async stepEnd(node_id: string, path: string, name: string, value: unknown): Promise<void> {
    this.#keep(['done', this.formatName(node_id, path), name, value])
    await this.#shared.journal.commit()
  }

  attempt(node_id: string, path: string, attempts: FailedAttempts): void {
    this.#keep(['attempt', this.formatName(node_id, path), attempts])
  }

  item(node_id: string, path: string, item: OutputValues): void {
    this.#keep(['item', this.formatName(node_id, path), item])
  }

  end(node_id: string, path: string, end: FiringEnd): void {
    this.#keep(['end', this.formatName(node_id, path), end])
  }

  wait(node_id: string, path: string, request: WaitRequest): void {
    assert.ok(!this.#shared.known.get(this.formatName(node_id, path))?.wait, 'a wait is told twice')
    this.#keep(['wait', this.formatName(node_id, path), request])
  }

  formatName(node_id: string, path: string): string {
    return `${this.#scope}${node_id}@${path}`
  }

  whenDurable(): Promise<void> | null {
    return this.#shared.journal.durable()
  }

  forCall(node_id: string, path: string, call: number): Journal {
    return new Opened(this.#shared, `${this.formatName(node_id, path)}#${call}/`)
  }

  #keep(record: Record): void {
    const { journal, known, ended } = this.#shared
    const [kind, name] = record
    assert.ok(!known.get(name)?.end && !ended.has(name), `${name} tells of its ${kind} after its end`)
    if (kind === 'end') ended.add(name)
    journal.keep(record)
  }
}
