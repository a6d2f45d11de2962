// What is known of one job: its events in order, each once, and its state. Whoever follows the job fills it, whoever reads it waits for more.
import type { JobEvent, JobSnapshot, JobStatus } from '../../generated/types.ts'
import { isRecord } from './values.ts'
import { Bell } from './waiting.ts'

/** A range of sequences, both ends included. */
export interface SequenceRange {
  from: number
  to: number
}

const TERMINAL: readonly string[] = ['completed', 'failed', 'cancelled'] satisfies JobStatus[]
/** Types of events that this version knows. Others count, and are not handed on. */
const KNOWN: readonly string[] = [
  'job_status',
  'node_status',
  'output_update',
  'job_terminal',
] satisfies JobEvent['type'][]

export function isTerminal({ status }: { readonly status: string }): boolean {
  return TERMINAL.includes(status)
}

export class History {
  /** Rings at whatever changes. */
  readonly changed = new Bell()
  readonly events: JobEvent[] = []
  /** Events that are past their retention, or were never sent: the snapshot counts in their place. */
  readonly missed: SequenceRange[] = []
  /** The last sequence up to which everything is here, or known to be missing. */
  last: number
  status: JobStatus | null = null
  /** The terminal snapshot, as soon as there is one. */
  terminal: JobSnapshot | null = null
  /** Why nothing follows; null where something may. */
  failure: unknown = null
  readonly #job_id: string
  /** Events that came before one that is missing. */
  readonly #held = new Map<number, JobEvent>()
  /** The highest sequence that is known to exist. */
  #known: number

  constructor(job_id: string, after_sequence = 0) {
    this.#job_id = job_id
    this.last = after_sequence
    this.#known = after_sequence
  }

  /** Whether everything there is has come. */
  get complete(): boolean {
    return this.terminal !== null && !this.behind
  }

  /** Whether events exist that have not come. */
  get behind(): boolean {
    return this.last < this.#known
  }

  /** Whether events came after one that did not. */
  get torn(): boolean {
    return this.#held.size > 0
  }

  /** Takes an event as it came; nothing is known of its shape. */
  take(event: unknown): void {
    if (!isEvent(event) || event.job_id !== this.#job_id || event.sequence <= this.last) return
    this.#held.set(event.sequence, event)
    this.#known = Math.max(this.#known, event.sequence)
    // It brings the terminal snapshot, which needs nothing before it.
    if (event.type === 'job_terminal') this.#finish(event.snapshot)
    this.#drain()
    this.changed.ring()
  }

  /** Takes a snapshot. It is right, unless later events have been seen. */
  learn(snapshot: JobSnapshot): void {
    this.#known = Math.max(this.#known, snapshot.last_sequence)
    if (isTerminal(snapshot)) this.#finish(snapshot)
    else if (this.terminal === null && snapshot.last_sequence >= this.last) this.status = snapshot.status
    this.changed.ring()
  }

  /** Gives up what is missing before the events that are here, or up to the snapshot where none is: it will not come. */
  settle(snapshot: JobSnapshot): void {
    this.learn(snapshot)
    this.skip(this.torn ? this.#first() - 1 : snapshot.last_sequence)
  }

  /** Gives up what is missing up to `sequence`. */
  skip(sequence: number): void {
    if (this.last < sequence) for (const next of this.#heldUpTo(sequence)) this.#passTo(next)
    this.changed.ring()
  }

  /** The sequences that are held, up to this one, and the one after it. */
  #heldUpTo(sequence: number): number[] {
    const held = [...this.#held.keys()].filter((one) => one <= sequence)
    return [...held.sort((one, other) => one - other), sequence + 1]
  }

  /** Goes on with this sequence, unless it was drained already. */
  #passTo(next: number): void {
    if (next <= this.last) return
    if (next > this.last + 1) this.missed.push({ from: this.last + 1, to: next - 1 })
    this.last = next - 1
    this.#drain()
  }

  /** Nothing follows any more. */
  fail(error: unknown): void {
    this.failure ??= { error }
    this.changed.ring()
  }

  #drain(): void {
    for (let event = this.#next(); event; event = this.#next()) {
      this.#held.delete(event.sequence)
      this.last = event.sequence
      if (!KNOWN.includes(event.type)) continue
      if (event.type === 'job_status' && this.terminal === null) this.status = event.status
      this.events.push(event)
    }
  }

  /** The lowest sequence that is held; infinite where none is. */
  #first(): number {
    let first = Number.POSITIVE_INFINITY
    for (const sequence of this.#held.keys()) first = Math.min(first, sequence)
    return first
  }

  #next(): JobEvent | undefined {
    return this.#held.get(this.last + 1)
  }

  #finish(snapshot: JobSnapshot): void {
    // Terminal states never change: the first one counts.
    this.terminal ??= snapshot
    this.status = this.terminal.status
  }
}

function isEvent(event: unknown): event is JobEvent {
  if (!isRecord(event) || typeof event.type !== 'string') return false
  if (event.type === 'job_terminal' && !(isRecord(event.snapshot) && isTerminal(event.snapshot as { status: string })))
    return false
  return Number.isSafeInteger(event.sequence) && Number(event.sequence) > 0
}
