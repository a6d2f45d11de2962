// What is known of one job: its events in order, each once, and its state. Whoever follows the job fills it, whoever reads it waits for more.
import type { JobEvent, JobSnapshot, JobStatus } from '../../../generated/types.ts'
import { ChangeNotifier } from '../abortable-waits.ts'
import { isRecord } from '../json-and-uuid.ts'

/** A range of sequences, both ends included. */
export interface SequenceRange {
  from: number
  to: number
}

const TERMINAL_STATUSES: readonly string[] = ['completed', 'failed', 'cancelled'] satisfies JobStatus[]
/** Types of events that this version knows. Others count, and are not handed on. */
const KNOWN_EVENT_TYPES: readonly string[] = [
  'job_status',
  'node_status',
  'output_update',
  'job_terminal',
] satisfies JobEvent['type'][]

export function isTerminal({ status }: { readonly status: string }): boolean {
  return TERMINAL_STATUSES.includes(status)
}

export class JobHistory {
  /** Rings at whatever changes. */
  readonly changed = new ChangeNotifier()
  readonly events: JobEvent[] = []
  /** Events that are past their retention, or were never sent: the snapshot counts in their place. */
  readonly missingRanges: SequenceRange[] = []
  /** The last sequence up to which everything is here, or known to be missing. */
  last_sequence: number
  status: JobStatus | null = null
  /** The terminal snapshot, as soon as there is one. */
  terminal: JobSnapshot | null = null
  /** Why nothing follows; null where something may. */
  failure: unknown = null
  readonly #job_id: string
  /** Events that came before one that is missing. */
  readonly #outOfOrderEvents = new Map<number, JobEvent>()
  /** The highest sequence that is known to exist. */
  #highest_sequence: number

  constructor(job_id: string, after_sequence = 0) {
    this.#job_id = job_id
    this.last_sequence = after_sequence
    this.#highest_sequence = after_sequence
  }

  /** Whether everything there is has come. */
  get isComplete(): boolean {
    return this.terminal !== null && !this.isBehind
  }

  /** Whether events exist that have not come. */
  get isBehind(): boolean {
    return this.last_sequence < this.#highest_sequence
  }

  /** Whether events came after one that did not. */
  get hasGap(): boolean {
    return this.#outOfOrderEvents.size > 0
  }

  /** Takes an event as it came; nothing is known of its shape. */
  addEvent(event: unknown): void {
    if (!isJobEvent(event) || event.job_id !== this.#job_id || event.sequence <= this.last_sequence) return
    this.#outOfOrderEvents.set(event.sequence, event)
    this.#highest_sequence = Math.max(this.#highest_sequence, event.sequence)
    // It brings the terminal snapshot, which needs nothing before it.
    if (event.type === 'job_terminal') this.#finish(event.snapshot)
    this.#applyInOrder()
    this.changed.notify()
  }

  /** Takes a snapshot. It is right, unless later events have been seen. */
  applySnapshot(snapshot: JobSnapshot): void {
    this.#highest_sequence = Math.max(this.#highest_sequence, snapshot.last_sequence)
    if (isTerminal(snapshot)) this.#finish(snapshot)
    else if (this.terminal === null && snapshot.last_sequence >= this.last_sequence) this.status = snapshot.status
    this.changed.notify()
  }

  /** Gives up what is missing before the events that are here, or up to the snapshot where none is: it will not come. */
  skipMissing(snapshot: JobSnapshot): void {
    this.applySnapshot(snapshot)
    this.skipTo(this.hasGap ? this.#lowestOutOfOrder() - 1 : snapshot.last_sequence)
  }

  /** Gives up what is missing up to `sequence`. */
  skipTo(sequence: number): void {
    if (this.last_sequence < sequence) for (const next of this.#outOfOrderUpTo(sequence)) this.#advanceTo(next)
    this.changed.notify()
  }

  /** The sequences that are held, up to this one, and the one after it. */
  #outOfOrderUpTo(sequence: number): number[] {
    const held = [...this.#outOfOrderEvents.keys()].filter((one) => one <= sequence)
    return [...held.sort((one, other) => one - other), sequence + 1]
  }

  /** Goes on with this sequence, unless it was drained already. */
  #advanceTo(next: number): void {
    if (next <= this.last_sequence) return
    if (next > this.last_sequence + 1) this.missingRanges.push({ from: this.last_sequence + 1, to: next - 1 })
    this.last_sequence = next - 1
    this.#applyInOrder()
  }

  /** Nothing follows any more. */
  fail(error: unknown): void {
    this.failure ??= { error }
    this.changed.notify()
  }

  #applyInOrder(): void {
    for (let event = this.#nextEvent(); event; event = this.#nextEvent()) {
      this.#outOfOrderEvents.delete(event.sequence)
      this.last_sequence = event.sequence
      if (!KNOWN_EVENT_TYPES.includes(event.type)) continue
      if (event.type === 'job_status' && this.terminal === null) this.status = event.status
      this.events.push(event)
    }
  }

  /** The lowest sequence that is held; infinite where none is. */
  #lowestOutOfOrder(): number {
    let first = Number.POSITIVE_INFINITY
    for (const sequence of this.#outOfOrderEvents.keys()) first = Math.min(first, sequence)
    return first
  }

  #nextEvent(): JobEvent | undefined {
    return this.#outOfOrderEvents.get(this.last_sequence + 1)
  }

  #finish(snapshot: JobSnapshot): void {
    // Terminal states never change: the first one counts.
    this.terminal ??= snapshot
    this.status = this.terminal.status
  }
}

function isJobEvent(event: unknown): event is JobEvent {
  if (!isRecord(event) || typeof event.type !== 'string') return false
  if (event.type === 'job_terminal' && !(isRecord(event.snapshot) && isTerminal(event.snapshot as { status: string })))
    return false
  return Number.isSafeInteger(event.sequence) && Number(event.sequence) > 0
}
