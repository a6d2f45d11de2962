// A server is killed with very many unfinished jobs. Measures how long the next one takes until it listens, and until all jobs run again,
// beside direct reads and writes of the same rows.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { serve, storedJobs } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { send } from './http.ts'
import { FED, inFolder, WIDE } from './jobs.ts'
import { openRaw } from './raw.ts'
import { shown, sized } from './scale.ts'
import { rounded } from './turns.ts'

/** The settings allow no more running jobs. */
const JOBS = Math.min(sized(10_000, 100), 10_000)
const CONNECTIONS = 50
const PATIENCE_MS = 120_000

export function benchRecovery(): Promise<BenchRow[]> {
  return inFolder(async (folder) => {
    await leaveBehind(folder)
    const bare_ms = barely(folder)
    const from = performance.now()
    await using server = await serve(folder, WIDE)
    const listening_ms = performance.now() - from
    await until('all jobs to run again', () => goneOn(folder) === JOBS, PATIENCE_MS)
    const running_ms = performance.now() - from
    const health = await fetch(`${server.url}/health`)
    if (health.status !== 200) throw new Error(`/health answered ${health.status}`)
    const row = (name: string, value: number, unit: string) => ({
      name: `recovery: ${shown(JOBS)} jobs under way, ${name}`,
      value,
      unit,
    })
    return [
      row('their rows barely', Math.round(bare_ms), 'ms'),
      row('from start to listening', Math.round(listening_ms), 'ms'),
      row('from start until all run again', Math.round(running_ms), 'ms'),
      row('all run again, in proportion to their rows', rounded(running_ms / bare_ms), ''),
    ]
  })
}

/** Starts jobs that run until their input ends, and kills their server. */
async function leaveBehind(folder: string): Promise<void> {
  await using server = await serve(folder, WIDE)
  const body = JSON.stringify({ name: 'fed', graph: FED })
  const headers = { 'content-type': 'application/json' }
  const created = await fetch(`${server.url}/api/workflows`, { method: 'POST', headers, body })
  if (created.status !== 201) throw new Error(`the workflow was answered with ${created.status}`)
  const { id } = (await created.json()) as { id: string }
  const run = { url: `${server.url}/api/workflows/${id}/run`, body: JSON.stringify({ background: true }) }
  await send(run, CONNECTIONS, ['--amount', `${JOBS}`])
  await until('all jobs to run', () => storedJobs(folder, 'running') === JOBS, PATIENCE_MS)
  server.kill('SIGKILL')
  await server.ended()
}

/** The number of jobs that run for the second time. */
function goneOn(folder: string): number {
  const db = new Database(join(folder, 'svc.db'), { readonly: true })
  try {
    return db.prepare("select count(*) from job where status = 'running' and attempt = 2").pluck().get() as number
  } finally {
    db.close()
  }
}

/** The reads and writes of recovery on a copy: each job, its journal and events, two updates of its row, two events and a page. */
function barely(folder: string): number {
  const copy = join(folder, 'raw.db')
  for (const end of ['', '-wal']) cpSync(join(folder, `svc.db${end}`), `${copy}${end}`)
  const from = performance.now()
  const db = openRaw(copy)
  try {
    const pages = db.prepare('select * from job_journal where job_key = ? order by page')
    const told = db.prepare('select type, payload from job_event where job_key = ?')
    const move = db.prepare('update job set status = ?, attempt = 2, last_sequence = last_sequence + 1 where key = ?')
    const event = db.prepare(
      "insert into job_event (job_key, sequence, type, payload, created_at) select ?, max(sequence) + 1, 'job_status', ?, max(created_at) from job_event where job_key = ?",
    )
    const page = db.prepare('insert into job_journal (job_key, page, attempt, body) values (?, ?, 2, ?)')
    const jobs = db.prepare("select * from job where status = 'running' order by key").all() as { key: number }[]
    for (const status of ['recovering', 'running']) {
      db.exec('BEGIN IMMEDIATE')
      for (const { key } of jobs) {
        if (status === 'running') told.all(key)
        else page.run(key, pages.all(key).length, Buffer.alloc(64))
        move.run(status, key)
        event.run(key, JSON.stringify({ status, queue_position: null, message: null }), key)
      }
      db.exec('COMMIT')
    }
    return performance.now() - from
  } finally {
    db.close()
    for (const end of ['', '-wal', '-shm']) rmSync(`${copy}${end}`, { force: true })
  }
}
