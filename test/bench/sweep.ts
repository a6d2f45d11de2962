// The delay of a cheap request while very many rows are removed: by retention, and with a deleted job of many events. Beside it are the
// times without a removal, and of one statement that removes all rows at once.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { refreshChecksums } from '../helpers/checksums.ts'
import { runProcess } from '../helpers/process.ts'
import { type TestServer, until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { counting, ENDS_AT_ONCE, inFolder, OWNER, runToEnd, startWide } from './jobs.ts'
import { openRaw } from './raw.ts'
import { shown, sized } from './scale.ts'
import { percentile, rounded } from './turns.ts'

/** Jobs past their retention; each has eleven rows. */
const JOBS = sized(9_000, 100)
const EVENTS = sized(100_000, 1_000)
const QUIET_MS = 1_500
/** The warm-up begins a second after the start and has ended by then. */
const SETTLED_MS = 3_000
const LONG_AGO = '2020-01-01T00:00:00.000Z'

export function benchSweep(): Promise<BenchRow[]> {
  return inFolder(async (folder) => {
    const { id } = await prepare(folder)
    const bare_ms = atOnce(folder)
    await using server = await startWide(folder)
    await pause(SETTLED_MS)
    const quiet = await probed(server, () => pause(QUIET_MS))
    const sweeping = await probed(server, () => server.context.runs.retention.sweep())
    const left = jobsOf(folder)
    if (left > 1) throw new Error(`${left - 1} jobs were not removed`)
    const deleting = await probed(server, () => deleteJob(server, id))
    const row = (name: string, value: number, unit = 'ms') => ({ name: `sweep: ${name}`, value: rounded(value), unit })
    return [
      row(`one bare statement that removes ${shown(EVENTS)} events`, bare_ms),
      row('an answer of /health, nothing else to do, slowest in a hundred', percentile(quiet.times, 0.99)),
      row('the same, slowest', percentile(quiet.times, 1)),
      row(
        `while ${shown(JOBS)} old jobs with their events are removed, slowest in a hundred`,
        percentile(sweeping.times, 0.99),
      ),
      row('the same, slowest', percentile(sweeping.times, 1)),
      row('the same, the slowest in proportion to the bare statement', percentile(sweeping.times, 1) / bare_ms, ''),
      row('the removal took', sweeping.took),
      row(`while a job with ${shown(EVENTS)} events is deleted, slowest`, percentile(deleting.times, 1)),
      row('the removal took', deleting.took),
    ]
  })
}

/** Creates a long job, and jobs that ended long ago. */
async function prepare(folder: string): Promise<{ id: string }> {
  await using server = await startWide(folder)
  const { jobs } = server.context.runs
  for (let left = JOBS; left > 0; left -= 100) {
    const some = Array.from({ length: Math.min(left, 100) }, () => jobs.submit(OWNER, ENDS_AT_ONCE).active!)
    await Promise.all(some.map((job) => job.settled()))
  }
  const { id } = await runToEnd(server, counting(EVENTS))
  await server.close(0)
  const db = new Database(join(folder, 'svc.db'))
  db.exec('drop trigger job_terminal_is_immutable')
  const trigger = 'create trigger job_terminal_is_immutable before update on job'
  db.prepare('update job set finished_at = ? where id <> ?').run(LONG_AGO, id)
  db.exec(`${trigger} when old.status in ('completed', 'failed', 'error', 'timed_out', 'cancelled')
    begin select raise(abort, 'a terminal job never changes'); end`)
  refreshChecksums(db)
  db.close()
  return { id }
}

/** The time of one statement that removes the events of the long job. It is rolled back. */
function atOnce(folder: string): number {
  const db = openRaw(join(folder, 'svc.db'))
  db.exec('BEGIN IMMEDIATE')
  const from = performance.now()
  db.prepare('delete from job_event where job_key = (select max(key) from job)').run()
  const took = performance.now() - from
  db.exec('ROLLBACK')
  db.close()
  return took
}

async function deleteJob({ url, context, data_dir }: TestServer, id: string): Promise<void> {
  const { status } = await fetch(`${url}/api/jobs/${id}`, { method: 'DELETE' })
  if (status !== 204) throw new Error(`the deletion was answered with ${status}`)
  await context.runs.retention.sweep()
  if (jobsOf(data_dir) > 0) throw new Error('the job is still there')
}

function jobsOf(folder: string): number {
  const db = new Database(join(folder, 'svc.db'), { readonly: true })
  try {
    return db.prepare('select (select count(*) from job) + (select count(*) from job_doomed)').pluck().get() as number
  } finally {
    db.close()
  }
}

/** The times of requests during `work`, and the duration of `work`. */
async function probed(
  { url }: TestServer,
  work: () => Promise<unknown>,
): Promise<{ times: readonly number[]; took: number }> {
  const script = fileURLToPath(new URL('prober.ts', import.meta.url))
  await using prober = runProcess(script, [`${url}/health`])
  await until('the prober', () => prober.stdout().includes('ready'), 20_000)
  const from = performance.now()
  await work()
  const took = performance.now() - from
  prober.kill('SIGTERM')
  const { stdout, stderr } = await prober.ended()
  const report = stdout.split('\n')[1]
  if (!report) throw new Error(`the prober gave no report: ${stderr}`)
  return { times: JSON.parse(report) as number[], took }
}
