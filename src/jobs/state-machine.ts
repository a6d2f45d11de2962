// The states of a job: what is stored, what is shown, and the one table of legal transitions.
import type { JobStatus, JobUpdateFrame } from '../../generated/types.ts'
import type { StoredStatus } from '../db/schema.ts'

/** What can happen to a job. */
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

/** From state and trigger to state. What is missing is refused. `settle` ends a cancelled job once nothing of it runs any more. */
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

/** The state that `trigger` leads to, or null where it is not legal. */
export function nextStatus(status: StoredStatus, trigger: JobTrigger): StoredStatus | null {
  return TRANSITIONS[status][trigger] ?? null
}

/** As `next`, for what the caller knows to be legal. @throws where it is not */
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

/** The state as the lifecycle profile names it. */
export function toPublicStatus(status: StoredStatus): JobStatus {
  return PUBLIC_STATUSES[status]
}

/** The states that are shown as `status`; all of them for null. */
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

/** The state as `job_update` frames name it. */
export function toSocketStatus(status: StoredStatus): SocketStatus {
  return SOCKET_STATUSES[PUBLIC_STATUSES[status]]
}

/** Whether nothing follows. */
export function isTerminal(status: StoredStatus): boolean {
  return TRANSITIONS[status] === TERMINAL
}
