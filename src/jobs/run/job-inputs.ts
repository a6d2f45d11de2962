// Accepts the inputs of a job, running or queued. Each input is checked when it comes, against the accepted inputs and those in transit, and is applied
// once it is stored.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import type { InputsInTransit, PushResult } from '../../engine/runtime/execution.ts'
import type { ActiveJobCommand } from '../commit/command-queue.ts'
import type { JournalEntry } from '../journal/entry.ts'

/** The receiver of inputs: the run, or its stand-in before the start. */
export interface InputReceiver {
  previewPush(name: string, value: unknown, handle: string | undefined, underway: InputsInTransit): PushResult
  previewEnd(name: string, handle: string | undefined): PushResult
  appendInput(name: string, value: unknown): void
  endInput(name: string): void
  updateProperties(node_id: string, values: InputValues): unknown
}

export interface JobInputsHost {
  /** The current receiver; null: the job cannot run now. */
  receiver(): InputReceiver | null
  /** The values in transit to an input, as the receiver counts them. */
  underway(name: string): InputsInTransit
  /** The accepted properties, converted; null: no such node. */
  changeable(node_id: string, properties: Record<string, unknown>): InputValues | null
  countBegunFirings(node_id: string): number
  command(command: ActiveJobCommand): Promise<void>
  /** Resolves when all changes so far are stored. */
  flushed(): Promise<void>
}

/** All property changes of one job have about this many characters at most, like the waiting values of an input. */
const MOST_CHANGED = 32 * 1024 * 1024
/** The weight of a change besides its values: it is kept until the job ends, and takes a few hundred bytes. */
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

  /** `full`: no more values are kept at present. */
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

  /** Returns the names of the accepted properties. They apply to firings that have not begun at the commit. `full`: no more changes are kept. */
  updateProperties(node_id: string, properties: Record<string, unknown>): string[] | 'unknown_node' | 'full' {
    const changed = this.#host.changeable(node_id, properties)
    if (changed === null) return 'unknown_node'
    const applied = Object.keys(changed)
    if (applied.length === 0) return applied
    const values = pickValues(properties, applied)
    const weight = estimateUpdateWeight(values)
    const takeBack = this.#counts.addChange(weight)
    if (takeBack === null) return 'full'
    // The entry is one object, so that its file is found again. `from` is the number of begun firings at the commit, when the entry is built last.
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

  /** Resolves when the last input is stored and applied. @throws SERVICE_UNAVAILABLE where it cannot be stored */
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

/** The weight of a property change. */
export const estimateUpdateWeight = (properties: Readonly<Record<string, unknown>>): number =>
  EACH_CHANGE + estimateSize(properties)

/** Picks properties by name. Where all are picked, the object itself is returned, since its size is cached. */
function pickValues(properties: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  if (names.length === Object.keys(properties).length) return properties
  return Object.fromEntries(names.map((name) => [name, properties[name]]))
}

/** Counts the values in transit to the inputs of one job, and the weight of its property changes. */
export class InputCounts {
  /** The approximate number of characters of all property changes. */
  #changesWeight = 0
  readonly #inputs = new Map<string, { values: number; weight: number; ends: number }>()
  #values = 0
  #weight = 0

  /** The values in transit to one input. */
  of(name: string): InputsInTransit {
    const { values = 0, weight = 0, ends = 0 } = this.#inputs.get(name) ?? {}
    return { values, weight, ended: ends > 0 }
  }

  /** The values in transit to all inputs; `ended` is that of one input. */
  total(name: string): InputsInTransit {
    return { values: this.#values, weight: this.#weight, ended: this.of(name).ended }
  }

  /** Counts a value until the returned function is called. */
  push(name: string, value: unknown): () => void {
    return this.#add(name, 1, estimateSize(value), 0)
  }

  end(name: string): () => void {
    return this.#add(name, 0, 0, 1)
  }

  /** Counts a property change, until the returned function is called; null: the changes are too many. */
  addChange(weight: number): (() => void) | null {
    if (this.#changesWeight + weight > MOST_CHANGED) return null
    this.#changesWeight += weight
    return () => {
      this.#changesWeight -= weight
    }
  }

  /** Counts the weight of changes that were stored before the job was loaded. */
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
