// The memory of the service for long open streams: a thousand chats whose upstream sends a word now and then.
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { runProcess } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import type { Way } from './gateway.ts'
import type { Load } from './gateway-load.ts'
import { residentMb } from './machine.ts'
import { shown, sized } from './scale.ts'

const STREAMS = sized(1_000, 10)
/** The warm-up of the service begins a second after its start and has long ended by then. */
const IDLE_MS = 3_000
const OPEN_MS = 8_000
const EVERY_MS = 250

export async function heldStreams({ url, headers, pid, prefix }: Way): Promise<BenchRow[]> {
  await pause(IDLE_MS)
  const idle = residentMb(pid)
  const body = { model: `${prefix}slow`, messages: [{ role: 'user', content: 'Go on.' }], stream: true }
  const load: Load = { url, headers, body, connections: STREAMS, seconds: 0, holding: true }
  await using running = runProcess(fileURLToPath(new URL('gateway-load.ts', import.meta.url)), [JSON.stringify(load)])
  const begun = () => running.stdout().includes('ready') || failure(running.child.exitCode, running.stderr())
  await until('all streams to begin', begun, 60_000)
  let most = 0
  const end = performance.now() + OPEN_MS
  while (performance.now() < end) {
    most = Math.max(most, residentMb(pid))
    await pause(EVERY_MS)
  }
  running.kill('SIGTERM')
  const { stdout, stderr } = await running.ended()
  const chunks = Number(stdout.split('\n')[1])
  if (!(chunks > STREAMS)) throw new Error(`the streams gave ${chunks} chunks: ${stderr}`)
  const row = (name: string, value: number, unit: string) => ({ name: `gateway: ${name}`, value, unit })
  return [
    row(`memory of ${shown(STREAMS)} open streams, above idle`, most - idle, 'MB'),
    row('chunks that they gave, each in its place', chunks, ''),
  ]
}

function failure(code: number | null, text: string): false {
  if (code !== null) throw new Error(`the streams ended with ${code}: ${text}`)
  return false
}
