// What the harness knows of one job when it is judged, however it came to know it. Only plain data: the judges look at nothing else.
import type { JobEvent, JobSnapshot, RunResult } from '../../generated/types.ts'
import type { Frame } from '../helpers/socket.ts'
import type { CallRecord } from './counter.ts'
import type { SavedAsset } from './files/saved.ts'
import type { Work } from './work.ts'

/** What one follower was given, in the order in which it came. */
export interface Tape {
  readonly follower: string
  readonly events: readonly JobEvent[]
  /** Whether it watched the job to its end. */
  readonly whole: boolean
}

/** What one socket was sent of a job, from one answer of `reconnect_job` or `run_job` on. */
export interface SocketTape {
  readonly socket: string
  /** The `after_sequence` that was asked; null where the job was started here. */
  readonly asked: number | null
  readonly frames: readonly Frame[]
  /** Whether it was left open until the end of the job. */
  readonly whole: boolean
}

/** A kill since the job was submitted: the stored status of the job then, and the time from the signal until nothing of the server was left. */
export interface Killed {
  readonly at: number
  readonly until: number
  readonly status: string | null
}

export interface Evidence {
  readonly job_id: string
  /** Null for a job whose submission was cut off: all that is known of it is what is stored. */
  readonly work: Work | null
  readonly acknowledged: boolean
  /** The last state; null where the server knows no such job. */
  readonly snapshot: JobSnapshot | null
  /** What the request that waited for it was answered, where it came through that door. */
  readonly result: RunResult | null
  /** Snapshots that were seen on the way. */
  readonly seen: readonly JobSnapshot[]
  /** The whole log at the end. */
  readonly log: readonly JobEvent[]
  readonly tapes: readonly Tape[]
  readonly sockets: readonly SocketTape[]
  /** Calls of this job: those under its label from its submission on, up to the one that tried it again. */
  readonly calls: readonly CallRecord[]
  /** Values whose push was acknowledged, and those that may have been taken. */
  readonly pushed: readonly string[]
  readonly maybe_pushed: readonly string[]
  readonly kills: readonly Killed[]
  /** Assets that it has left. */
  readonly saved: readonly SavedAsset[]
  /** Whether its cancellation was acknowledged with a snapshot. */
  readonly cancelled: boolean
  /** Whether anybody has asked for its cancellation. */
  readonly cancel_wanted: boolean
  /** The evidence of the job that this one tries again. */
  readonly retry_of: Evidence | null
  /** Whether another job under the same label may exist whose submission was cut off. */
  readonly shadowed: boolean
  /** Whether a disk was full while it lived. */
  readonly short: boolean
}

/** `loss`: something that was acknowledged is gone. `double`: something happened or was told twice. `gap`: something was left out. */
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

/** The same text for the same value, whatever the order of keys. */
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

/** The values of each output, in their order, by the events up to a sequence. */
export function outputsUpTo(log: readonly JobEvent[], sequence: number): Map<string, unknown[]> {
  const values = new Map<string, unknown[]>()
  for (const event of log) {
    if (event.type !== 'output_update' || event.sequence > sequence) continue
    const list = values.get(event.output_name) ?? []
    values.set(event.output_name, [...list, 'value' in event ? event.value : event.asset])
  }
  return values
}

/** The status by the events up to a sequence. */
export function statusAt(log: readonly JobEvent[], sequence: number): string | null {
  let status: string | null = null
  for (const event of log) {
    if (event.sequence > sequence) break
    if (event.type === 'job_status' || event.type === 'job_terminal') status = event.status
  }
  return status
}
