// The known history of one job: its events in order, each once, and its state. A follower fills the history; readers wait for changes.
import type { JobEvent, JobSnapshot, JobStatus } from '../../../generated/types.ts'
import { ChangeNotifier } from '../abortable-waits.ts'
import { isRecord } from '../json-and-uuid.ts'

/** A range of sequences, both ends included. */
export interface SequenceRange {
  from: number
  to: number
}

const TERMINAL_STATUSES: readonly string[] = ['completed', 'failed', 'cancelled'] satisfies JobStatus[]
/** The types of events that this version knows. Other events count in the sequence, but readers do not get them. */
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
  /** Notifies of every change. */
  readonly changed = new ChangeNotifier()
  readonly events: JobEvent[] = []
  /** Ranges of events that are past their retention, or were never sent. The snapshot counts in their place. */
  readonly missingRanges: SequenceRange[] = []
  /** All events up to this sequence are here, or known to be missing. */
  last_sequence: number
  status: JobStatus | null = null
  /** The terminal snapshot, as soon as it is known. */
  terminal: JobSnapshot | null = null
  /** Why no more events follow. Null where more may follow. */
  failure: unknown = null
  readonly #job_id: string
  /** Events that came before a missing one. */
  readonly #outOfOrderEvents = new Map<number, JobEvent>()
  /** The highest sequence that is known to exist. */
  #highest_sequence: number

  constructor(job_id: string, after_sequence = 0) {
    this.#job_id = job_id
    this.last_sequence = after_sequence
    this.#highest_sequence = after_sequence
  }

  /** Whether all events have come. */
  get isComplete(): boolean {
    return this.terminal !== null && !this.isBehind
  }

  /** Whether events exist that have not come. */
  get isBehind(): boolean {
    return this.last_sequence < this.#highest_sequence
  }

  /** Whether an event has come whose predecessor has not. */
  get hasGap(): boolean {
    return this.#outOfOrderEvents.size > 0
  }

  /** Adds an event of unchecked shape. */
  addEvent(event: unknown): void {
    if (!isJobEvent(event) || event.job_id !== this.#job_id || event.sequence <= this.last_sequence) return
    this.#outOfOrderEvents.set(event.sequence, event)
    this.#highest_sequence = Math.max(this.#highest_sequence, event.sequence)
    // The event brings the terminal snapshot, which needs no earlier event.
    if (event.type === 'job_terminal') this.#finish(event.snapshot)
    this.#applyInOrder()
    this.changed.notify()
  }

  /** Applies a snapshot, unless later events are known. */
  applySnapshot(snapshot: JobSnapshot): void {
    this.#highest_sequence = Math.max(this.#highest_sequence, snapshot.last_sequence)
    if (isTerminal(snapshot)) this.#finish(snapshot)
    else if (this.terminal === null && snapshot.last_sequence >= this.last_sequence) this.status = snapshot.status
    this.changed.notify()
  }

  /** Skips the missing events before the known ones, or up to the snapshot where no event is known. */
  skipMissing(snapshot: JobSnapshot): void {
    this.applySnapshot(snapshot)
    this.skipTo(this.hasGap ? this.#lowestOutOfOrder() - 1 : snapshot.last_sequence)
  }

  /** Skips missing events up to `sequence`. */
  skipTo(sequence: number): void {
    if (this.last_sequence < sequence) for (const next of this.#outOfOrderUpTo(sequence)) this.#advanceTo(next)
    this.changed.notify()
  }

  /** The known sequences up to this one, and the one after it. */
  #outOfOrderUpTo(sequence: number): number[] {
    const held = [...this.#outOfOrderEvents.keys()].filter((one) => one <= sequence)
    return [...held.sort((one, other) => one - other), sequence + 1]
  }

  /** Continues with this sequence, unless it is already past. */
  #advanceTo(next: number): void {
    if (next <= this.last_sequence) return
    if (next > this.last_sequence + 1) this.missingRanges.push({ from: this.last_sequence + 1, to: next - 1 })
    this.last_sequence = next - 1
    this.#applyInOrder()
  }

  /** Ends the history with an error. */
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

  /** The lowest waiting sequence. Infinite where there is none. */
  #lowestOutOfOrder(): number {
    let first = Number.POSITIVE_INFINITY
    for (const sequence of this.#outOfOrderEvents.keys()) first = Math.min(first, sequence)
    return first
  }

  #nextEvent(): JobEvent | undefined {
    return this.#outOfOrderEvents.get(this.last_sequence + 1)
  }

  #finish(snapshot: JobSnapshot): void {
    // Terminal states never change, so the first one counts.
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
