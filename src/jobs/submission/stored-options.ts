// The options of a job as its row keeps them: those that the client chose, and those that decide how it runs after a restart.
import type { JobTable } from '../../db/schema.ts'

export interface JobOptions {
  persistence: 'job' | 'session'
  event_detail: 'full' | 'outputs' | 'terminal'
  asset_persistence: 'auto' | 'temporary'
}

/** Options as a request gives them; null where it does not say. */
export type RequestedOptions = { readonly [Name in keyof JobOptions]: JobOptions[Name] | null }

export interface StoredOptions extends JobOptions {
  /** False: waits behind a running job of the same workflow. */
  concurrent: boolean
  /** From its start on, or null for no limit. */
  timeout_seconds: number | null
  /** Whether values may be sent to its streamed inputs. */
  fed: boolean
}

/** What counts where nobody says anything. */
export const DEFAULT_JOB_OPTIONS: StoredOptions = {
  persistence: 'job',
  event_detail: 'full',
  asset_persistence: 'auto',
  concurrent: true,
  timeout_seconds: null,
  fed: false,
}

/** What the options of a row keep besides: when its time is over, by the steady clock. Absent until it has begun, and in rows of older versions. */
interface StoredOptionsColumn extends Partial<StoredOptions> {
  deadline?: number
}

export function parseStoredOptions(row: JobTable): StoredOptions {
  const { deadline: _, ...options } = JSON.parse(row.options) as StoredOptionsColumn
  return { ...DEFAULT_JOB_OPTIONS, ...options }
}

/** The same, with no more time than the operator leaves any job: `limit` seconds, or null for no limit. */
export function limitTimeout(options: StoredOptions, limit: number | null): StoredOptions {
  if (limit === null) return options
  return { ...options, timeout_seconds: Math.min(options.timeout_seconds ?? limit, limit) }
}

/** What tells the time of a job. */
interface DeadlineClocks {
  readonly platform: { now(): number }
  readonly steady: { now(): number }
  /** Deadlines of jobs whose rows do not keep them yet. */
  readonly deadlines: Map<number, number>
}

/**
 * When the job's time is over, by the steady clock; null: it has no limit, or has not begun. The options of the row keep it from then on: they are
 * written with the next event of the job. Of a job that an older version began it is reckoned by the machine's clock, once in each process, and is
 * never longer than the limit from then on.
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
