// A journal in memory: a list of records, each kept as text, which proves that it is plain data and lets a test cut the list anywhere,
// as an interruption would.
import assert from 'node:assert/strict'
import type { FiringEnd, Journal, Remembered, WaitRequest } from '../../src/engine/journal.ts'
import type { Outputs } from '../../src/engine/node-type.ts'

export type Record =
  | ['start', string]
  | ['item', string, Outputs]
  | ['end', string, FiringEnd]
  | ['wait', string, WaitRequest]
  | ['answer', string, unknown]

interface Known {
  started: boolean
  items: Outputs[]
  end: FiringEnd | null
  wait: WaitRequest | null
  answer: { value: unknown } | null
}

/** What is not written down is not there: `undefined` becomes null on its way back, and is left out of outputs. */
function written(record: Record): string {
  const text = JSON.stringify(record)
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(JSON.parse(text))))
  return text
}

export class MemoryJournal {
  readonly #records: string[]
  /** Called before a record is kept. */
  onRecord: (record: Record) => void = () => {}
  /** Resolves when the start of a firing is committed. */
  commit: () => Promise<void> = async () => {}

  constructor(records: readonly string[] = []) {
    this.#records = [...records]
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

  /** Gives a firing what it waits for. */
  answer(firing: string, value: unknown): void {
    this.keep(['answer', firing, value])
  }

  /** Records of one kind, by firing. */
  of(kind: Record[0]): string[] {
    return this.records.filter((record) => record[0] === kind).map((record) => record[1])
  }

  /** The journal of one run, with all that was recorded before. */
  open(): Journal {
    return new Opened(this, this.#known(), '')
  }

  keep(record: Record): void {
    this.onRecord(record)
    this.#records.push(written(record))
  }

  #known(): Map<string, Known> {
    const known = new Map<string, Known>()
    for (const record of this.records) {
      const [kind, firing] = record
      const one = known.get(firing) ?? { started: false, items: [], end: null, wait: null, answer: null }
      known.set(firing, one)
      if (kind === 'start') one.started = true
      else if (kind === 'item') one.items.push(record[2])
      else if (kind === 'end') one.end = record[2]
      else if (kind === 'wait') one.wait = record[2]
      else one.answer = { value: record[2] }
    }
    return known
  }
}

class Opened implements Journal {
  readonly #journal: MemoryJournal
  readonly #known: Map<string, Known>
  readonly #scope: string
  readonly #asked: Set<string>
  readonly #started: Set<string>

  constructor(
    journal: MemoryJournal,
    known: Map<string, Known>,
    scope: string,
    asked = new Set<string>(),
    started = new Set<string>(),
  ) {
    this.#journal = journal
    this.#known = known
    this.#scope = scope
    this.#asked = asked
    this.#started = started
  }

  recall(node_id: string, path: string): Remembered | null {
    const name = this.name(node_id, path)
    assert.ok(!this.#asked.has(name), `${name} is asked for twice`)
    this.#asked.add(name)
    return this.#known.get(name) ?? null
  }

  async start(node_id: string, path: string): Promise<void> {
    const name = this.name(node_id, path)
    assert.ok(!this.#started.has(name) && !this.#known.get(name)?.started, `${name} starts twice`)
    this.#started.add(name)
    this.#journal.keep(['start', name])
    await this.#journal.commit()
  }

  item(node_id: string, path: string, item: Outputs): void {
    this.#keep(['item', this.name(node_id, path), item])
  }

  end(node_id: string, path: string, end: FiringEnd): void {
    this.#keep(['end', this.name(node_id, path), end])
  }

  wait(node_id: string, path: string, request: WaitRequest): void {
    this.#keep(['wait', this.name(node_id, path), request])
  }

  name(node_id: string, path: string): string {
    return `${this.#scope}${node_id}@${path}`
  }

  within(node_id: string, path: string, call: number): Journal {
    const scope = `${this.name(node_id, path)}#${call}/`
    return new Opened(this.#journal, this.#known, scope, this.#asked, this.#started)
  }

  /** A firing that has ended tells nothing more, in this run or in an earlier one. */
  #keep(record: Record): void {
    const name = record[1]
    const ended = this.#known.get(name)?.end ?? this.#ends.has(name)
    assert.ok(!ended, `${name} tells of "${record[0]}" after its end`)
    if (record[0] === 'end') this.#ends.add(name)
    this.#journal.keep(record)
  }

  readonly #ends = new Set<string>()
}
