// The states of a job, and their legal transitions.
import { isSameJson, type JsonMap } from '../json.ts'

const ACTIVE_AND_TERMINAL_STATES = [
  'running',
  'suspended',
  'recovering',
  'cancel_requested',
  'completed',
  'failed',
  'cancelled',
]

/** The states that may follow a state. A state may also be seen again. */
const NEXT_STATES: Readonly<Record<string, readonly string[]>> = {
  accepted: ['queued', ...ACTIVE_AND_TERMINAL_STATES],
  queued: ['accepted', 'running', 'recovering', 'cancel_requested', 'cancelled', 'failed'],
  running: ['suspended', 'recovering', 'queued', 'cancel_requested', 'completed', 'failed', 'cancelled'],
  suspended: ['running', 'queued', 'recovering', 'cancel_requested', 'failed', 'cancelled', 'completed'],
  recovering: ACTIVE_AND_TERMINAL_STATES,
  cancel_requested: ['recovering', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

/** Returns the first illegal step as `from → to`, or null. */
export function findIllegalTransition(states: readonly string[]): string | null {
  for (const [index, to] of states.entries()) {
    const from = states[index - 1]
    if (!(to in NEXT_STATES)) return `${from ?? 'nothing'} → ${to}`
    if (from !== undefined && from !== to && !NEXT_STATES[from]!.includes(to)) return `${from} → ${to}`
  }
  return null
}

/** Returns the status of a history at a sequence. Undefined where the history has none. */
export function findStatusAt(events: readonly JsonMap[], sequence: number): unknown {
  const told = events.filter((event) => event.type === 'job_status' || event.type === 'job_terminal')
  return told.findLast((event) => Number(event.sequence) <= sequence)?.status
}

/** Whether `seen`, without repetitions, is contained in `all` in the same order. */
export function isSubsequence(seen: readonly string[], all: readonly string[]): boolean {
  let at = 0
  const distinct = seen.filter((state, index) => state !== seen[index - 1])
  for (const state of distinct) {
    at = all.indexOf(state, at) + 1
    if (at === 0) return false
  }
  return distinct.length > 0 || isSameJson(seen, all)
}
