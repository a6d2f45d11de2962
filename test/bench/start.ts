// The time from the start of `svc serve` to its first healthy answer, and its memory while it is idle.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { COMPILE_CACHE } from '../../src/launch/pick.mjs'
import { SVC, serve } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { residentMb } from './machine.ts'

const STARTS = 7
/** The warm-up begins a second after the start and has long ended by then. */
const IDLE_MS = 3_000

export async function benchStart(): Promise<BenchRow[]> {
  // The first start may fill Node's compile cache, so it is not counted.
  await coldStart()
  const times: number[] = []
  for (let i = 0; i < STARTS; i++) times.push(await coldStart())
  times.sort((a, b) => a - b)
  const row = (name: string, value: number) => ({
    name: `start: ${name} of ${STARTS}`,
    value: Math.round(value),
    unit: 'ms',
  })
  return [row('to the first healthy answer, middle', times[STARTS >> 1]!), row('the same, longest', times.at(-1)!)]
}

/** With the host's own `node` and an empty data folder, as after an installation. */
async function coldStart(): Promise<number> {
  const data_dir = temporaryFolder()
  const from = performance.now()
  const child = spawn('node', [SVC, 'serve', '--port', '0'], {
    env: { ...process.env, SVC_DATA_DIR: data_dir, SVC_LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const url = /http:\S+/.exec(line.toString())?.[0]
    const response = await fetch(`${url}/health`)
    if (response.status !== 200) throw new Error(`/health answered ${response.status}`)
    return performance.now() - from
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
    rmSync(data_dir, { recursive: true, force: true })
  }
}

export async function benchMemory(): Promise<BenchRow[]> {
  const data_dir = temporaryFolder()
  try {
    await using service = await serve(data_dir, { NODE_COMPILE_CACHE: COMPILE_CACHE })
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    return [{ name: 'memory: resident, idle', value: residentMb(service.pid), unit: 'MB' }]
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}
