// Metrics of jobs and of the database.
import { countUnfinishedJobsByStatus } from '../db/jobs/list-queries.ts'
import type { Store } from '../db/store.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import type { EventLog } from '../events/log.ts'
import { Counter, Histogram, type Metrics } from '../metrics.ts'
import type { JobService } from './service.ts'
import { isTerminal, listStoredStatuses, toPublicStatus } from './state-machine.ts'

interface JobMetricSources {
  readonly store: Store
  readonly events: Pick<EventLog, 'followers'>
  readonly jobs: Pick<JobService, 'load'>
}

const RUN_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400]
const COMMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1]
const COMMIT_UNITS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]

/** Returns the function to call after each commit, with its duration in milliseconds and its number of units of work. */
export function registerCommitMetrics(metrics: Metrics): (ms: number, units: number) => void {
  const seconds = new Histogram('svc_commit_seconds', 'How long commits of the database took.', COMMIT_SECONDS)
  const sizes = new Histogram('svc_commit_units', 'How many units of work shared a commit.', COMMIT_UNITS)
  metrics.add(seconds)
  metrics.add(sizes)
  return (ms, units) => {
    seconds.observe(ms / 1_000)
    sizes.observe(units)
  }
}

/** Returns the function to call with the row of each job that has ended. */
export function registerJobEndMetrics(metrics: Metrics): (row: JobTable) => void {
  const ended = metrics.add(new Counter('svc_jobs_ended_total', 'Jobs that have ended, by status.'))
  const help = 'From the first start of a job to its end, by status.'
  const seconds = metrics.add(new Histogram('svc_job_run_seconds', help, RUN_SECONDS, 'status'))
  return ({ status: stored, started_at, finished_at }) => {
    const status = toPublicStatus(stored)
    ended.add(status, () => ({ status }))
    if (started_at === null || finished_at === null) return
    seconds.observe((Date.parse(finished_at) - Date.parse(started_at)) / 1_000, status)
  }
}

/** Registers the gauges that are read at each scrape. */
export function registerJobMetrics(metrics: Metrics, { store, events, jobs }: JobMetricSources): void {
  metrics.gauge('svc_jobs', 'Jobs that have not ended, by status.', 'status', () => countUnfinishedJobs(store))
  metrics.gauge('svc_queue_jobs', 'Jobs that run, and jobs that wait for their turn.', 'state', () =>
    Object.entries(jobs.load),
  )
  const help = 'Bytes of the database: in use, free within the file, and in the write-ahead log.'
  metrics.gauge('svc_database_bytes', help, 'part', () => readDatabaseBytes(store))
  metrics.gauge('svc_job_followers', 'Who follows a job that has not ended.', null, () => [['', events.followers]])
}

function readDatabaseBytes(store: Store): [string, number][] {
  const { page_bytes, pages, free_pages, log_pages } = store.space
  const counts = { used: pages - free_pages, free: free_pages, log: log_pages }
  return Object.entries(counts).map(([part, count]) => [part, count * page_bytes])
}

/** Every status is listed, so that its time series does not end when the count is 0. */
function countUnfinishedJobs(store: Store): Map<string, number> {
  const active = listStoredStatuses(null).filter((status) => !isTerminal(status))
  const counts = new Map(active.map((status) => [toPublicStatus(status) as string, 0]))
  for (const { status, count } of store.read(countUnfinishedJobsByStatus)) {
    const shown = toPublicStatus(status)
    counts.set(shown, (counts.get(shown) ?? 0) + count)
  }
  return counts
}
