// The options in the row of a job: those that the client chose, and those that decide how the job runs after a restart.
import type { JobTable } from '../../db/tables/jobs.ts'

export interface JobOptions {
  persistence: 'job' | 'session'
  event_detail: 'full' | 'outputs' | 'terminal'
  asset_persistence: 'auto' | 'temporary'
}

/** The options of a request; null where the request does not set them. */
export type RequestedOptions = { readonly [Name in keyof JobOptions]: JobOptions[Name] | null }

export interface StoredOptions extends JobOptions {
  /** False: the job waits behind a running job of the same workflow. */
  concurrent: boolean
  /** Seconds from the start of the job; null for no limit. */
  timeout_seconds: number | null
  /** Whether clients may send values to the streamed inputs. */
  fed: boolean
}

/** The service's own defaults. */
export const DEFAULT_JOB_OPTIONS: StoredOptions = {
  persistence: 'job',
  event_detail: 'full',
  asset_persistence: 'auto',
  concurrent: true,
  timeout_seconds: null,
  fed: false,
}

/** The stored options with the deadline, by the steady clock. It is absent until the job has begun, and in rows of older versions. */
interface StoredOptionsColumn extends Partial<StoredOptions> {
  deadline?: number
}

export function parseStoredOptions(row: JobTable): StoredOptions {
  const { deadline: _, ...options } = JSON.parse(row.options) as StoredOptionsColumn
  return { ...DEFAULT_JOB_OPTIONS, ...options }
}

/** Limits the timeout to the operator's limit: `limit` seconds, or null for no limit. */
export function limitTimeout(options: StoredOptions, limit: number | null): StoredOptions {
  if (limit === null) return options
  return { ...options, timeout_seconds: Math.min(options.timeout_seconds ?? limit, limit) }
}

/** The clocks and deadlines of jobs. */
interface DeadlineClocks {
  readonly platform: { now(): number }
  readonly steady: { now(): number }
  /** Deadlines of jobs whose rows do not keep them yet. */
  readonly deadlines: Map<number, number>
}

/**
 * The deadline of a job, by the steady clock; null: it has no limit, or has not begun. The deadline is kept in the options of the row, which the next event
 * of the job writes. For a job of an older version it is derived from the system clock, once in each process. It is never longer than the limit from then
 * on.
 */
export function resolveDeadline(
  row: JobTable,
  { platform, steady, deadlines }: DeadlineClocks,
  { timeout_seconds } = parseStoredOptions(row),
): number | null {
  if (timeout_seconds === null || row.started_at === null) return null
  const kept = JSON.parse(row.options) as StoredOptionsColumn
  if (kept.deadline !== undefined) return kept.deadline
  const limit = timeout_seconds * 1000
  const left = Math.min(Date.parse(row.started_at) + limit - platform.now(), limit)
  const deadline = deadlines.get(row.key) ?? steady.now() + left
  deadlines.set(row.key, deadline)
  row.options = JSON.stringify({ ...kept, deadline } satisfies StoredOptionsColumn)
  return deadline
}
