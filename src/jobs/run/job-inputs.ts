// Where a job takes what is sent to it, whether it runs already or waits for its turn. Each is judged as it comes, by what the job has taken and
// what is on its way, and taken once it is stored.

import type { InputValues } from '../../engine/node-api/node-type.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import type { InputsInTransit, PushResult } from '../../engine/runtime/execution.ts'
import type { ActiveJobCommand } from '../commit/command-queue.ts'
import type { JournalEntry } from '../journal/entry.ts'

/** What takes it: the run, or what stands for it until that begins. */
export interface InputReceiver {
  previewPush(name: string, value: unknown, handle: string | undefined, underway: InputsInTransit): PushResult
  previewEnd(name: string, handle: string | undefined): PushResult
  appendInput(name: string, value: unknown): void
  endInput(name: string): void
  updateProperties(node_id: string, values: InputValues): unknown
}

export interface JobInputsHost {
  /** What takes at this moment; null: nothing of the job can run now. */
  receiver(): InputReceiver | null
  /** What is on its way to an input, as the receiver counts it. */
  underway(name: string): InputsInTransit
  /** What may be changed, converted; null: no such node. */
  changeable(node_id: string, properties: Record<string, unknown>): InputValues | null
  /** How many firings of a node have begun. */
  countBegunFirings(node_id: string): number
  command(command: ActiveJobCommand): Promise<void>
  /** Resolves when everything that has happened so far is stored. */
  flushed(): Promise<void>
}

/** About how many characters all changes of properties of one job may have together, as the values that wait for an input. */
const MOST_CHANGED = 32 * 1024 * 1024
/** What each change counts besides its values: it is kept until the job ends, and takes a few hundred bytes. */
const EACH_CHANGE = 100

export class JobInputs {
  readonly #host: JobInputsHost
  readonly #counts: InputCounts
  readonly #receiver: InputReceiver
  #lastCommand: Promise<void> | null = null

  constructor(host: JobInputsHost, counts: InputCounts, receiver: InputReceiver) {
    this.#host = host
    this.#counts = counts
    this.#receiver = receiver
  }

  /** `full`: no more is kept at present. */
  pushInput(name: string, value: unknown, handle?: string): PushResult {
    const result = this.#receiver.previewPush(name, value, handle, this.#host.underway(name))
    if (result !== 'ok') return result
    const entry: JournalEntry = ['push', name, value]
    this.#send(entry, this.#counts.push(name, value), (receiver) => receiver.appendInput(name, value))
    return 'ok'
  }

  endInput(name: string, handle?: string): PushResult {
    const result = this.#receiver.previewEnd(name, handle)
    if (result !== 'ok') return result
    this.#send(['close', name], this.#counts.end(name), (receiver) => receiver.endInput(name))
    return 'ok'
  }

  /** The names that are applied, to firings that have not begun when it is stored. `full`: no more changes of this job are kept. */
  updateProperties(node_id: string, properties: Record<string, unknown>): string[] | 'unknown_node' | 'full' {
    const changed = this.#host.changeable(node_id, properties)
    if (changed === null) return 'unknown_node'
    const applied = Object.keys(changed)
    if (applied.length === 0) return applied
    const values = pickValues(properties, applied)
    const weight = estimateUpdateWeight(values)
    const takeBack = this.#counts.addChange(weight)
    if (takeBack === null) return 'full'
    // The entry is one object, so that its file is found again. `from` is how many firings had begun when it was asked for last: at the commit.
    const of = { node_id, from: 0 }
    const entry: JournalEntry = ['update', of, values]
    this.#lastCommand = this.#host.command({
      weight,
      journalEntry: () => {
        of.from = this.#host.countBegunFirings(node_id)
        return entry
      },
      apply: () => this.#host.receiver()?.updateProperties(node_id, changed),
      rollBack: takeBack,
    })
    return applied
  }

  /** Resolves when the last of what was sent here is stored and taken. @throws SERVICE_UNAVAILABLE where it cannot be */
  whenStored(): Promise<void> {
    return this.#lastCommand ?? this.#host.flushed()
  }

  #send(entry: JournalEntry, arrived: () => void, take: (receiver: InputReceiver) => void): void {
    this.#lastCommand = this.#host.command({
      journalEntry: () => entry,
      apply: () => {
        arrived()
        const receiver = this.#host.receiver()
        if (receiver) take(receiver)
      },
      rollBack: arrived,
    })
  }
}

/** What a change of properties counts. */
export const estimateUpdateWeight = (properties: Readonly<Record<string, unknown>>): number =>
  EACH_CHANGE + estimateSize(properties)

/** Those of the given names. Where that is all of them they are as they came: how large that is is known already. */
function pickValues(properties: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  if (names.length === Object.keys(properties).length) return properties
  return Object.fromEntries(names.map((name) => [name, properties[name]]))
}

/** What is on its way to the inputs of one job, and what its changes of properties weigh. */
export class InputCounts {
  /** About how many characters all of its changes of properties have together. */
  #changesWeight = 0
  readonly #inputs = new Map<string, { values: number; weight: number; ends: number }>()
  #values = 0
  #weight = 0

  /** To one input. */
  of(name: string): InputsInTransit {
    const { values = 0, weight = 0, ends = 0 } = this.#inputs.get(name) ?? {}
    return { values, weight, ended: ends > 0 }
  }

  /** To all of them together, for one whose end counts. */
  total(name: string): InputsInTransit {
    return { values: this.#values, weight: this.#weight, ended: this.of(name).ended }
  }

  /** Counts a value until what it gives is called. */
  push(name: string, value: unknown): () => void {
    return this.#add(name, 1, estimateSize(value), 0)
  }

  end(name: string): () => void {
    return this.#add(name, 0, 0, 1)
  }

  /** Counts changed properties by their weight, unless what it gives is called; null: they are too much. */
  addChange(weight: number): (() => void) | null {
    if (this.#changesWeight + weight > MOST_CHANGED) return null
    this.#changesWeight += weight
    return () => {
      this.#changesWeight -= weight
    }
  }

  /** Counts changes that were stored before the job was read, by their weight. */
  addEarlierChanges(weight: number): void {
    this.#changesWeight += weight
  }

  #add(name: string, values: number, weight: number, ends: number): () => void {
    const counts = this.#inputs.get(name) ?? { values: 0, weight: 0, ends: 0 }
    this.#inputs.set(name, counts)
    const change = (by: 1 | -1) => {
      counts.values += by * values
      counts.weight += by * weight
      counts.ends += by * ends
      this.#values += by * values
      this.#weight += by * weight
    }
    change(1)
    return () => change(-1)
  }
}
