// The cost of a job while more and more jobs are stored, and the time of a server's start with all of them. Stored jobs are copies of a
// real one with other ids, written in bulk. The directly inserted rows go into the same database, so that they use the same indexes.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { refreshChecksums } from '../helpers/checksums.ts'
import { serve } from '../helpers/process.ts'
import type { BenchRow } from './engine.ts'
import { ENDS_AT_ONCE, inFolder, rawJobsPerSecond, startWide, storedSample, submissionsPerSecond } from './jobs.ts'
import { RawDatabase } from './raw.ts'
import { shown, sized } from './scale.ts'
import { percentile, rounded } from './turns.ts'

const SIZES = [0, sized(100_000, 100), sized(1_000_000, 1_000)]
const CALLERS = 100
const ROUNDS = 5
const ROUND_MS = sized(800, 50)
const WARM_UP_MS = sized(5_000, 100)
/** Rows in one transaction of the copies. */
const CHUNK = 50_000
/** One in so many jobs still has its events. */
const WITH_EVENTS = 10
const STARTS = 3

interface Cost {
  stored: number
  /** Microseconds of a job with so many callers. */
  ours: number
  bare: number
}

export async function benchGrowth(): Promise<BenchRow[]> {
  await inFolder(warmUp)
  return inFolder(async (folder) => {
    const costs: Cost[] = []
    for (const stored of SIZES) {
      if (stored > 0) fill(join(folder, 'svc.db'), stored)
      costs.push(await costOfAJob(folder, stored))
    }
    const start = await startMs(folder)
    const row = (name: string, value: number, unit: string) => ({ name: `growth: ${name}`, value, unit })
    const [empty] = costs
    return [
      ...costs.flatMap(({ stored, ours, bare }) => [
        row(`a submission where ${shown(stored)} jobs are stored`, Math.round(ours), 'µs'),
        row(`its rows barely where ${shown(stored)} jobs are stored`, Math.round(bare), 'µs'),
      ]),
      ...costs.slice(1).map(({ stored, ours }) => {
        return row(`cost at ${shown(stored)} to that at none`, rounded(ours / empty!.ours), '')
      }),
      row(`cost of the rows at ${shown(SIZES.at(-1)!)} to that at none`, rounded(costs.at(-1)!.bare / empty!.bare), ''),
      row(`start with ${shown(SIZES.at(-1)!)} jobs to the first healthy answer, middle of ${STARTS}`, start, 'ms'),
    ]
  })
}

/** Runs until the compiler has optimized the measured code, because all figures are compared with the first one. */
async function warmUp(folder: string): Promise<void> {
  await using server = await startWide(folder)
  await submissionsPerSecond(server, ENDS_AT_ONCE, CALLERS, WARM_UP_MS)
}

/** Both use the same database. The direct inserts come first, while the server is stopped. */
async function costOfAJob(folder: string, stored: number): Promise<Cost> {
  await using server = await startWide(folder)
  await submissionsPerSecond(server, ENDS_AT_ONCE, CALLERS, ROUND_MS)
  const sample = await storedSample(server, ENDS_AT_ONCE)
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rates.push(await submissionsPerSecond(server, ENDS_AT_ONCE, CALLERS, ROUND_MS))
  }
  await server.close(0)
  using raw = RawDatabase.at(join(folder, 'svc.db'))
  rawJobsPerSecond(raw, sample, CALLERS, ROUND_MS)
  const bare = Array.from({ length: ROUNDS }, () => rawJobsPerSecond(raw, sample, CALLERS, ROUND_MS))
  return { stored, ours: 1e6 / percentile(rates, 0.5), bare: 1e6 / percentile(bare, 0.5) }
}

/** Copies the first job until there are `count`. The copies need not survive an interruption. */
function fill(path: string, count: number): void {
  const db = new Database(path)
  try {
    for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -262144']) db.pragma(pragma)
    const [columns, copied] = copyOf(db)
    const insert = db.prepare(`with recursive n(key) as (select @from union all select key + 1 from n where key < @to)
      insert into job (${columns}) select ${copied} from n, (select * from job order by key limit 1)`)
    const events =
      db.prepare(`insert into job_event (job_key, sequence, type, payload, created_at) select job.key, sequence, type, payload, job_event.created_at from job
      join job_event on job_event.job_key = (select min(key) from job)
      where job.key between @from and @to and job.key % ${WITH_EVENTS} = 0 order by 1, 2`)
    const last = db.prepare('select max(key) from job').pluck()
    const stored = db.prepare('select count(*) from job').pluck()
    for (let left = count - (stored.get() as number); left > 0; left -= CHUNK) {
      const from = (last.get() as number) + 1
      const part = { from, to: from + Math.min(CHUNK, left) - 1 }
      db.transaction(() => {
        insert.run(part)
        events.run(part)
      })()
    }
    refreshChecksums(db)
  } finally {
    db.close()
  }
}

/** The columns of a job, and their values in a copy: it has its own key and id. */
function copyOf(db: Database.Database): [columns: string, copied: string] {
  const names = (db.pragma('table_info(job)') as { name: string }[]).map(({ name }) => `"${name}"`)
  // Ids begin with the time. Here each is a millisecond after the one before, long ago.
  const id = `printf('job_%012x', ${Date.parse('2026-01-01')} + n.key) || lower(hex(randomblob(10)))`
  const own: Readonly<Record<string, string>> = { '"key"': 'n.key', '"id"': id }
  return [names.join(', '), names.map((name) => own[name] ?? name).join(', ')]
}

/** The time from the start of `svc serve` to its first healthy answer. */
async function startMs(folder: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < STARTS; i++) {
    const from = performance.now()
    await using server = await serve(folder)
    const { status } = await fetch(`${server.url}/health`)
    if (status !== 200) throw new Error(`/health answered ${status}`)
    times.push(performance.now() - from)
    server.kill('SIGTERM')
    await server.ended()
  }
  return Math.round(percentile(times, 0.5))
}
