// A job of the reference server. Its whole life is written beforehand; the stored part has happened.
import type { JobEvent, JobSnapshot } from '../../../generated/types.ts'
import type { ScriptedEvent, ScriptedEvents } from './scripted-events.ts'
import { createTerminalSnapshot, isTerminalEvent } from './terminal-snapshots.ts'

const FIRST_EVENT_TIME = Date.parse('2026-01-15T09:30:00.000Z')

export interface SimulatedJobFacts {
  readonly job_id: string
  readonly workflow_id: string
  readonly workflow_etag: string
  readonly inputs: Readonly<Record<string, unknown>>
  readonly events: ScriptedEvents
  /** The sequence before the first event. */
  readonly base?: number
}

export class SimulatedJob {
  readonly facts: SimulatedJobFacts
  readonly base: number
  readonly events: JobEvent[] = []
  /** The number of stored events. */
  stored = 0
  /** The client has everything up to this sequence, by events or by a snapshot that replaces them. */
  #heldSequence: number
  readonly #delivered = new Set<number>()

  constructor(facts: SimulatedJobFacts) {
    this.facts = facts
    this.base = facts.base ?? 0
    this.#heldSequence = this.base
    this.extend(facts.events)
  }

  get job_id(): string {
    return this.facts.job_id
  }

  get last_sequence(): number {
    return this.stored === 0 ? 0 : this.base + this.stored
  }

  get isTerminal(): boolean {
    return this.stored > 0 && this.events[this.stored - 1]!.type === 'job_terminal'
  }

  /** Adds events to its life. */
  extend(life: ScriptedEvents): void {
    for (const item of life) this.events.push(this.#createEvent(item, this.events.length + 1))
  }

  /** Returns the events at these positions, counted from 1, and stores them. */
  storeEvents(positions: readonly number[]): JobEvent[] {
    this.stored = Math.max(this.stored, ...positions)
    return positions.map((position) => this.events[position - 1]!)
  }

  /** Returns the positions after a sequence. */
  positionsAfter(sequence: number): number[] {
    return this.events.map((_event, index) => index + 1).filter((position) => this.base + position > sequence)
  }

  get heldSequence(): number {
    return this.#heldSequence
  }

  /** Records that the client was sent this event. */
  markDelivered(sequence: number): void {
    this.#delivered.add(sequence)
    while (this.#delivered.has(this.#heldSequence + 1)) this.#heldSequence += 1
  }

  /** Records that the client was sent a snapshot that covers all events up to this sequence. */
  markCovered(sequence: number): void {
    this.#heldSequence = Math.max(this.#heldSequence, sequence)
    while (this.#delivered.has(this.#heldSequence + 1)) this.#heldSequence += 1
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
      ...this.#snapshotBase(stored),
      status,
      queue_position,
      finished_at: null,
      result: null,
      error: null,
      waiting,
    } as JobSnapshot
  }

  #snapshotBase(stored: number) {
    const { job_id, workflow_id, workflow_etag } = this.facts
    return {
      version: 1,
      job_id,
      workflow_id,
      workspace_id: null,
      workflow_etag,
      created_at: timestampAt(0),
      updated_at: timestampAt(stored),
      started_at: stored > 1 ? timestampAt(2) : null,
      last_sequence: stored === 0 ? 0 : this.base + stored,
      preflight: null,
    } as const
  }

  #createEvent(item: ScriptedEvent, position: number): JobEvent {
    const { job_id, workflow_id } = this.facts
    const common = {
      sequence: this.base + position,
      job_id,
      workflow_id,
      workspace_id: null,
      timestamp: timestampAt(position),
    }
    if (!isTerminalEvent(item)) return { ...common, ...item } as JobEvent
    const snapshot = createTerminalSnapshot(
      item,
      this.#snapshotBase(position),
      timestampAt(position),
      this.facts.inputs,
    )
    return { ...common, type: item.type, status: item.status, snapshot } as JobEvent
  }
}

function timestampAt(position: number): string {
  return new Date(FIRST_EVENT_TIME + position * 10).toISOString()
}
