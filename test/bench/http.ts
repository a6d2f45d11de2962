// Runs of a three-node workflow over HTTP, each job stored, beside a bare JSON echo: every server and the load in a process of its own.
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type RunningProcess, runProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { cpuMs } from './machine.ts'

const CONNECTIONS = [1, 10, 50]
const WARM_UP_SECONDS = 3
/** Echo and runs take turns, so that what disturbs one disturbs the other; the round with the middle proportion counts. */
const ROUNDS = 3
const SECONDS = 2
/** The example has an input, a template and an output. */
const RUN = '/api/workflows/greeting/run'
const BODY = JSON.stringify({ params: { name: 'Ada' } })

interface Target {
  url: string
  pid: number
}

interface Measured {
  per_second: number
  p99_ms: number
  cpu_ms: number | null
}

export async function benchHttp(): Promise<BenchRow[]> {
  const data_dir = temporaryFolder()
  try {
    await using echo = await startEcho()
    await using service = await serve(data_dir)
    const targets = {
      echo: { url: `${echo.url}/echo`, pid: echo.pid },
      run: { url: service.url + RUN, pid: service.pid },
    }
    for (const target of Object.values(targets)) await load(target, 10, WARM_UP_SECONDS)
    const rows: BenchRow[] = []
    for (const connections of CONNECTIONS) rows.push(...(await compare(targets, connections)))
    return rows
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function compare({ echo, run }: { echo: Target; run: Target }, connections: number): Promise<BenchRow[]> {
  const rounds: { bare: Measured; ours: Measured; proportion: number }[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const bare = await load(echo, connections, SECONDS)
    const ours = await load(run, connections, SECONDS)
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
    row('runs with the job stored', Math.round(ours.per_second), 'runs/s'),
    row('runs in proportion to the echo', rounded(proportion), ''),
    row('processor time of an echo', bare.cpu_ms, 'ms'),
    row('processor time of a run', ours.cpu_ms, 'ms'),
    row('slowest run in a hundred', ours.p99_ms, 'ms'),
  ]
}

const rounded = (value: number) => Math.round(value * 1000) / 1000

interface Report {
  requests: { total: number }
  latency: { p99: number }
  duration: number
  non2xx: number
  errors: number
}

/** Sends requests for some seconds. Fails where any answer is not a success. */
async function load({ url, pid }: Target, connections: number, seconds: number): Promise<Measured> {
  const script = createRequire(import.meta.url).resolve('autocannon')
  const headers = ['--header', 'content-type=application/json']
  const options = ['--json', '--connections', `${connections}`, '--duration', `${seconds}`, '--method', 'POST']
  const before = cpuMs(pid)
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...options, ...headers, '--body', BODY, url])
  const after = cpuMs(pid)
  const { requests, latency, duration, non2xx, errors } = JSON.parse(stdout) as Report
  if (non2xx + errors > 0 || requests.total === 0) throw new Error(`${url}: ${non2xx} refusals, ${errors} errors`)
  return {
    per_second: requests.total / duration,
    p99_ms: latency.p99,
    cpu_ms: before === null || after === null ? null : rounded((after - before) / requests.total),
  }
}

async function startEcho(): Promise<RunningProcess & { url: string }> {
  const running = runProcess(fileURLToPath(new URL('echo.ts', import.meta.url)), [], { NODE_ENV: 'production' })
  const url = await until('the echo to listen', () => /listens on (\S+)/.exec(running.stdout())?.[1], 20_000)
  return Object.assign(running, { url })
}
