// All that the harness knows of one job for the verdict, as plain data. The judges use nothing else.
import type { JobEvent, JobSnapshot, RunResult } from '../../generated/types.ts'
import type { Frame } from '../helpers/socket.ts'
import type { CallRecord } from './counter.ts'
import type { SavedAsset } from './files/saved.ts'
import type { Work } from './work.ts'

/** The events of one follower, in the order of arrival. */
export interface Tape {
  readonly follower: string
  readonly events: readonly JobEvent[]
  /** Whether it followed the job to its end. */
  readonly whole: boolean
}

/** The frames of one socket about a job, after one answer to `reconnect_job` or `run_job`. */
export interface SocketTape {
  readonly socket: string
  /** The requested `after_sequence`. Null where the socket started the job. */
  readonly asked: number | null
  readonly frames: readonly Frame[]
  /** Whether it stayed open until the end of the job. */
  readonly whole: boolean
}

/** A kill after the job's submission: the stored status of the job then, and the time from the signal to the end of the server. */
export interface Killed {
  readonly at: number
  readonly until: number
  readonly status: string | null
}

export interface Evidence {
  readonly job_id: string
  /** Null for a job whose submission was interrupted. Only its stored data is known. */
  readonly work: Work | null
  readonly acknowledged: boolean
  /** The last state. Null where the server knows no such job. */
  readonly snapshot: JobSnapshot | null
  /** The answer to the request that waited for the job, where there was one. */
  readonly result: RunResult | null
  /** Snapshots that were read meanwhile. */
  readonly seen: readonly JobSnapshot[]
  /** The whole log at the end. */
  readonly log: readonly JobEvent[]
  readonly tapes: readonly Tape[]
  readonly sockets: readonly SocketTape[]
  /** The calls of this job: those under its label from its submission to its retry. */
  readonly calls: readonly CallRecord[]
  /** Values with an acknowledged push, and values that may have been accepted. */
  readonly pushed: readonly string[]
  readonly maybe_pushed: readonly string[]
  readonly kills: readonly Killed[]
  /** The assets that it has saved. */
  readonly saved: readonly SavedAsset[]
  /** Whether its cancellation was acknowledged with a snapshot. */
  readonly cancelled: boolean
  /** Whether a client has requested its cancellation. */
  readonly cancel_wanted: boolean
  /** The evidence of the job that this one retries. */
  readonly retry_of: Evidence | null
  /** Whether another job under the same label may exist, whose submission was interrupted. */
  readonly shadowed: boolean
  /** Whether a disk was full during its life. */
  readonly short: boolean
}

/** `loss`: acknowledged data is gone. `double`: an action or event happened twice. `gap`: an event is missing. */
export type FaultKind = 'loss' | 'gap' | 'double' | 'contradiction'

export interface Fault {
  readonly kind: FaultKind
  readonly job_id: string | null
  readonly what: string
}

export type Judge = (evidence: Evidence) => Iterable<Fault>

export function fault({ job_id }: Evidence, kind: FaultKind, what: string): Fault {
  return { kind, job_id, what }
}

/** Equal values have one text, whatever the order of keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    one !== null && typeof one === 'object' && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
}

export function isTerminalStatus(status: string): boolean {
  return ['completed', 'failed', 'cancelled'].includes(status)
}

/** The values of each output in order, from the events up to a sequence. */
export function outputsUpTo(log: readonly JobEvent[], sequence: number): Map<string, unknown[]> {
  const values = new Map<string, unknown[]>()
  for (const event of log) {
    if (event.type !== 'output_update' || event.sequence > sequence) continue
    const list = values.get(event.output_name) ?? []
    values.set(event.output_name, [...list, 'value' in event ? event.value : event.asset])
  }
  return values
}

/** The status from the events up to a sequence. */
export function statusAt(log: readonly JobEvent[], sequence: number): string | null {
  let status: string | null = null
  for (const event of log) {
    if (event.sequence > sequence) break
    if (event.type === 'job_status' || event.type === 'job_terminal') status = event.status
  }
  return status
}
