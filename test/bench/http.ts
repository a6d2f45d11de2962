// Runs of a workflow with three nodes over HTTP, with each job stored, beside a
// minimal JSON echo. Every server and the load are separate processes.
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type RunningProcess, runProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { cpuMs } from './machine.ts'
import { rounded } from './turns.ts'

const CONNECTIONS = [1, 10, 50]
/** The number of callers that submit background jobs, which are answered as soon as they are stored. */
const SUBMITTING = [10, 100]
const WARM_UP_SECONDS = 3
/** Echo and runs take turns, so that a disturbance affects both. The round with the median proportion counts. */
const ROUNDS = 3
const SECONDS = 2
/** The example has an input, a template and an output. */
const RUN = '/api/workflows/greeting/run'
const RUN_BODY = { params: { name: 'Ada' } }

/** The target of requests, and their body. */
export interface Destination {
  url: string
  /** JSON text for a POST. Null: a GET. */
  body: string | null
  token?: string
}

export interface Target extends Destination {
  pid: number
}

export interface Measured {
  per_second: number
  p99_ms: number
  cpu_ms: number | null
}

export async function benchHttp(): Promise<BenchRow[]> {
  const data_dir = temporaryFolder()
  try {
    await using echo = await startEcho()
    await using service = await serve(data_dir)
    const body = JSON.stringify(RUN_BODY)
    const background = JSON.stringify({ ...RUN_BODY, background: true })
    const bare: Target = { url: `${echo.url}/echo`, pid: echo.pid, body }
    const run: Target = { url: service.url + RUN, pid: service.pid, body }
    for (const target of [bare, run, { ...run, body: background }]) await load(target, 10, WARM_UP_SECONDS)
    const rows: BenchRow[] = []
    for (const connections of CONNECTIONS) rows.push(...(await compare('runs', { bare, ours: run }, connections)))
    const submission = { bare, ours: { ...run, body: background } }
    for (const connections of SUBMITTING) rows.push(...(await compare('submissions', submission, connections)))
    return rows
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function compare(
  what: 'runs' | 'submissions',
  targets: { bare: Target; ours: Target },
  connections: number,
): Promise<BenchRow[]> {
  const rounds: { bare: Measured; ours: Measured; proportion: number }[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const bare = await load(targets.bare, connections, SECONDS)
    const ours = await load(targets.ours, connections, SECONDS)
    rounds.push({ bare, ours, proportion: ours.per_second / bare.per_second })
  }
  rounds.sort((a, b) => a.proportion - b.proportion)
  const { bare, ours, proportion } = rounds[ROUNDS >> 1]!
  const row = (name: string, value: number | null, unit: string) => ({
    name: `http: ${name}, ${connections} connection${connections === 1 ? '' : 's'}`,
    value: value ?? Number.NaN,
    unit,
  })
  return [
    row('bare echo', Math.round(bare.per_second), 'requests/s'),
    row(`${what} with the job stored`, Math.round(ours.per_second), `${what}/s`),
    row(`${what} in proportion to the echo`, rounded(proportion), ''),
    row('processor time of an echo', bare.cpu_ms, 'ms'),
    row(`processor time, ${what}`, ours.cpu_ms, 'ms'),
    row(`slowest in a hundred, ${what}`, ours.p99_ms, 'ms'),
  ]
}

interface Report {
  requests: { total: number }
  latency: { p99: number }
  duration: number
  non2xx: number
  errors: number
}

/** Sends requests for some seconds. */
export async function load({ pid, ...destination }: Target, connections: number, seconds: number): Promise<Measured> {
  const before = cpuMs(pid)
  const { requests, latency, duration } = await send(destination, connections, ['--duration', `${seconds}`])
  const after = cpuMs(pid)
  return {
    per_second: requests.total / duration,
    p99_ms: latency.p99,
    cpu_ms: before === null || after === null ? null : rounded((after - before) / requests.total),
  }
}

/** Sends requests with autocannon. `options` set their number. @throws where an answer is an error */
export async function send({ url, body, token }: Destination, connections: number, options: string[]): Promise<Report> {
  const script = createRequire(import.meta.url).resolve('autocannon')
  const how = ['--json', '--connections', `${connections}`, ...options]
  const content = body === null ? [] : ['--method', 'POST', '--header', 'content-type=application/json', '--body', body]
  if (token !== undefined) content.push('--header', `authorization=Bearer ${token}`)
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...how, ...content, url])
  const report = JSON.parse(stdout) as Report
  const { requests, non2xx, errors } = report
  if (non2xx + errors > 0 || requests.total === 0) throw new Error(`${url}: ${non2xx} refusals, ${errors} errors`)
  return report
}

async function startEcho(): Promise<RunningProcess & { url: string }> {
  const running = runProcess(fileURLToPath(new URL('echo.ts', import.meta.url)), [], { NODE_ENV: 'production' })
  const url = await until('the echo to listen', () => /listens on (\S+)/.exec(running.stdout())?.[1], 20_000)
  return Object.assign(running, { url })
}
