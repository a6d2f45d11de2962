// The states of a job: stored and public names, and the table of legal transitions.
import type { JobStatus, JobUpdateFrame } from '../../generated/types.ts'
import type { StoredStatus } from '../db/tables/jobs.ts'

/** An event that may change the state of a job. */
export type JobTrigger =
  | 'queue'
  | 'start'
  | 'suspend'
  | 'resume'
  | 'recover'
  | 'cancel'
  | 'complete'
  | 'fail'
  | 'time_out'
  | 'settle'

type TransitionRow = Readonly<Partial<Record<JobTrigger, StoredStatus>>>

const WAITING: TransitionRow = {
  queue: 'queued',
  start: 'running',
  cancel: 'cancelled',
  fail: 'failed',
  time_out: 'timed_out',
}
const ACTIVE: TransitionRow = { suspend: 'paused', complete: 'completed', fail: 'failed', time_out: 'timed_out' }
const TERMINAL: TransitionRow = {}

/** The next state by state and trigger. A missing entry is refused. `settle` ends a cancelled job once its run has stopped. */
const TRANSITIONS: Readonly<Record<StoredStatus, TransitionRow>> = {
  scheduled: WAITING,
  pending: WAITING,
  queued: { start: 'running', cancel: 'cancelled', fail: 'failed', time_out: 'timed_out' },
  running: { ...ACTIVE, recover: 'recovering', cancel: 'cancel_requested' },
  paused: { queue: 'queued', resume: 'running', cancel: 'cancel_requested', fail: 'failed', time_out: 'timed_out' },
  recovering: { ...ACTIVE, recover: 'recovering', resume: 'running', cancel: 'cancel_requested' },
  cancel_requested: {
    settle: 'cancelled',
    recover: 'cancel_requested',
    complete: 'completed',
    fail: 'failed',
    time_out: 'timed_out',
  },
  completed: TERMINAL,
  failed: TERMINAL,
  error: TERMINAL,
  timed_out: TERMINAL,
  cancelled: TERMINAL,
}

/** The state after `trigger`, or null where the trigger is not legal. */
export function nextStatus(status: StoredStatus, trigger: JobTrigger): StoredStatus | null {
  return TRANSITIONS[status][trigger] ?? null
}

/** `nextStatus` for a trigger that the caller knows to be legal. @throws Error where it is not */
export function requireNextStatus(status: StoredStatus, trigger: JobTrigger): StoredStatus {
  const to = nextStatus(status, trigger)
  if (to === null) throw new Error(`a job that is ${status} cannot ${trigger}`)
  return to
}

const PUBLIC_STATUSES: Readonly<Record<StoredStatus, JobStatus>> = {
  scheduled: 'accepted',
  pending: 'accepted',
  queued: 'queued',
  running: 'running',
  paused: 'suspended',
  recovering: 'recovering',
  cancel_requested: 'cancel_requested',
  completed: 'completed',
  failed: 'failed',
  error: 'failed',
  timed_out: 'failed',
  cancelled: 'cancelled',
}

/** The name of the state in the lifecycle profile. */
export function toPublicStatus(status: StoredStatus): JobStatus {
  return PUBLIC_STATUSES[status]
}

/** The stored states that are shown as `status`; all stored states for null. */
export function listStoredStatuses(status: JobStatus | null): StoredStatus[] {
  const all = Object.keys(PUBLIC_STATUSES) as StoredStatus[]
  return status === null ? all : all.filter((stored) => PUBLIC_STATUSES[stored] === status)
}

type SocketStatus = JobUpdateFrame['status']

const SOCKET_STATUSES: Readonly<Record<JobStatus, SocketStatus>> = {
  accepted: 'queued',
  queued: 'queued',
  running: 'running',
  recovering: 'running',
  cancel_requested: 'running',
  suspended: 'suspended',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** The name of the state in `job_update` frames. */
export function toSocketStatus(status: StoredStatus): SocketStatus {
  return SOCKET_STATUSES[PUBLIC_STATUSES[status]]
}

/** Whether the state has no transitions. */
export function isTerminal(status: StoredStatus): boolean {
  return TRANSITIONS[status] === TERMINAL
}
