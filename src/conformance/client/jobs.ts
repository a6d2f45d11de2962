// A job of the reference server: its whole life is written beforehand, and as much of it counts as is stored.
import type { JobEvent, JobSnapshot } from '../../../generated/types.ts'
import { isTerminal, terminalSnapshot } from './ends.ts'
import type { Life, LifeItem } from './life.ts'

const START = Date.parse('2026-01-15T09:30:00.000Z')

export interface JobFacts {
  readonly job_id: string
  readonly workflow_id: string
  readonly workflow_etag: string
  readonly inputs: Readonly<Record<string, unknown>>
  readonly life: Life
  /** The sequence before the first event. */
  readonly base?: number
}

export class Job {
  readonly facts: JobFacts
  readonly base: number
  readonly events: JobEvent[] = []
  /** How many events are persisted. */
  stored = 0
  /** The sequence up to which the client has everything, by events or by a snapshot that stands for them. */
  #held: number
  readonly #delivered = new Set<number>()

  constructor(facts: JobFacts) {
    this.facts = facts
    this.base = facts.base ?? 0
    this.#held = this.base
    this.extend(facts.life)
  }

  get job_id(): string {
    return this.facts.job_id
  }

  get last_sequence(): number {
    return this.stored === 0 ? 0 : this.base + this.stored
  }

  get terminal(): boolean {
    return this.stored > 0 && this.events[this.stored - 1]!.type === 'job_terminal'
  }

  /** Writes more of its life. */
  extend(life: Life): void {
    for (const item of life) this.events.push(this.#event(item, this.events.length + 1))
  }

  /** The events at these positions, counted from 1. They are stored with that. */
  take(positions: readonly number[]): JobEvent[] {
    this.stored = Math.max(this.stored, ...positions)
    return positions.map((position) => this.events[position - 1]!)
  }

  /** Positions after a sequence. */
  positionsAfter(sequence: number): number[] {
    return this.events.map((_event, index) => index + 1).filter((position) => this.base + position > sequence)
  }

  get held(): number {
    return this.#held
  }

  /** The client has been sent this event. */
  delivered(sequence: number): void {
    this.#delivered.add(sequence)
    while (this.#delivered.has(this.#held + 1)) this.#held += 1
  }

  /** The client has been sent a snapshot that stands for everything up to this sequence. */
  covered(sequence: number): void {
    this.#held = Math.max(this.#held, sequence)
    while (this.#delivered.has(this.#held + 1)) this.#held += 1
  }

  snapshot(stored = this.stored): JobSnapshot {
    const last = this.events.slice(0, stored).findLast(({ type }) => type === 'job_status' || type === 'job_terminal')
    if (last?.type === 'job_terminal') return last.snapshot
    const status = last?.type === 'job_status' ? last.status : 'accepted'
    const queue_position = last?.type === 'job_status' && status === 'queued' ? (last.queue_position ?? 1) : null
    const waiting =
      status === 'suspended'
        ? [{ node_id: 'ask', kind: 'approval', name: null, message: 'Shall it go on?', schema: null }]
        : []
    return {
      ...this.#base(stored),
      status,
      queue_position,
      finished_at: null,
      result: null,
      error: null,
      waiting,
    } as JobSnapshot
  }

  #base(stored: number) {
    const { job_id, workflow_id, workflow_etag } = this.facts
    return {
      version: 1,
      job_id,
      workflow_id,
      workspace_id: null,
      workflow_etag,
      created_at: at(0),
      updated_at: at(stored),
      started_at: stored > 1 ? at(2) : null,
      last_sequence: stored === 0 ? 0 : this.base + stored,
      preflight: null,
    } as const
  }

  #event(item: LifeItem, position: number): JobEvent {
    const { job_id, workflow_id } = this.facts
    const common = { sequence: this.base + position, job_id, workflow_id, workspace_id: null, timestamp: at(position) }
    if (!isTerminal(item)) return { ...common, ...item } as JobEvent
    const snapshot = terminalSnapshot(item, this.#base(position), at(position), this.facts.inputs)
    return { ...common, type: item.type, status: item.status, snapshot } as JobEvent
  }
}

function at(position: number): string {
  return new Date(START + position * 10).toISOString()
}
