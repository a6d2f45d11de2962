// Completions through the service beside direct ones, and beside another gateway: whole answers and streams. The upstream, the load and
// each gateway are separate processes, and take turns.
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type RunningProcess, runProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { CHUNKS } from './gateway-answers.ts'
import type { Load, Seen } from './gateway-load.ts'
import { peerHeaders, startPeer } from './gateway-peer.ts'
import { cpuMs } from './machine.ts'
import { sized } from './scale.ts'
import { heldStreams } from './streams.ts'
import { rounded } from './turns.ts'

const WHOLE = [1, 10, 50]
const STREAMS = [10, 100]
const ROUNDS = 3
const SECONDS = sized(20) / 10
const MESSAGES = [
  { role: 'system', content: 'You count words, and nothing else.' },
  { role: 'user', content: 'How many words has this question?' },
]
const LOAD = fileURLToPath(new URL('gateway-load.ts', import.meta.url))

/** One way to the upstream. */
export interface Way {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly pid: number
  /** The prefix of the upstream's model names. */
  readonly prefix: string
}

type Measured = Seen & { readonly cpu_ms: number }
/** The pace of the upstream's stream. Absent: the answer is not streamed. */
type Streamed = 'fast' | 'calm'
type Name = 'direct' | 'ours' | 'peer'
type Ways = Readonly<Partial<Record<Name, Way>> & { direct: Way; ours: Way }>
type Round = Partial<Record<Name, Measured>> & { direct: Measured; ours: Measured }

export async function benchGateway(): Promise<BenchRow[]> {
  const data_dir = temporaryFolder()
  try {
    await using upstream = await startUpstream()
    const settings = { SVC_MODEL_SERVERS: `bench=${upstream.url}/v1`, SVC_RATE_LIMIT_DISABLED: 'true' }
    await using service = await serve(data_dir, settings)
    await using peer = await startPeer()
    const at = ({ url, pid }: RunningProcess & { url: string }) => ({ url: `${url}/v1/chat/completions`, pid })
    const ways: Ways = {
      direct: { ...at(upstream), headers: {}, prefix: '' },
      ours: { ...at(service), headers: {}, prefix: 'bench/' },
      ...(peer ? { peer: { ...at(peer), headers: peerHeaders(upstream.url), prefix: '' } } : {}),
    }
    const rows: BenchRow[] = await heldStreams(ways.ours)
    for (const connections of WHOLE) rows.push(...wholeRows(await turns(ways, connections), connections))
    for (const connections of STREAMS) rows.push(...streamRows(await turns(ways, connections, 'fast'), connections))
    rows.push(...firstRows(await turns(ways, 1, 'calm')))
    return peer ? rows : [...rows, row('another gateway is skipped: it cannot be installed here', Number.NaN)]
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

/** The round with the median proportion of ours to the direct way, after one that is not counted. */
async function turns(ways: Ways, connections: number, streamed?: Streamed): Promise<Round> {
  const rounds: Round[] = []
  for (let i = 0; i <= ROUNDS; i++) {
    const round: Partial<Record<Name, Measured>> = {}
    for (const [name, way] of Object.entries(ways)) round[name as Name] = await measured(way, connections, streamed)
    if (i > 0) rounds.push(round as Round)
  }
  const proportion = ({ direct, ours }: Round) => ours.per_second / direct.per_second
  return rounds.sort((a, b) => proportion(a) - proportion(b))[ROUNDS >> 1]!
}

async function measured(
  { url, headers, pid, prefix }: Way,
  connections: number,
  streamed?: Streamed,
): Promise<Measured> {
  const body = { model: `${prefix}${streamed ?? 'fast'}`, messages: MESSAGES, ...(streamed ? { stream: true } : {}) }
  const load: Load = { url, headers, body, connections, seconds: SECONDS }
  const before = cpuMs(pid)
  await using running = runProcess(LOAD, [JSON.stringify(load)])
  const { code, stdout, stderr } = await running.ended()
  if (code !== 0) throw new Error(`${url}: ${stderr}`)
  const seen = JSON.parse(stdout) as Seen
  return { ...seen, cpu_ms: (cpuMs(pid)! - before!) / seen.answers }
}

function wholeRows({ direct, ours, peer }: Round, connections: number): BenchRow[] {
  const of = (name: string, value: number, unit = '') => row(`${name}, ${connectionsText(connections)}`, value, unit)
  const rows = [
    of('whole answers from the upstream itself', Math.round(direct.per_second), 'requests/s'),
    of('whole answers through the service', Math.round(ours.per_second), 'requests/s'),
    of('the same in proportion', ours.per_second / direct.per_second),
    of('middle', ours.p50_ms, 'ms'),
    of('slowest in a hundred', ours.p99_ms, 'ms'),
    of('middle above the upstream', ours.p50_ms - direct.p50_ms, 'ms'),
    of('processor time of a request', ours.cpu_ms, 'ms'),
  ]
  if (!peer) return rows
  return [
    ...rows,
    of('whole answers through another gateway', Math.round(peer.per_second), 'requests/s'),
    of('the service in proportion to it', ours.per_second / peer.per_second),
    of('processor time of a request, another gateway', peer.cpu_ms, 'ms'),
  ]
}

function firstRows({ direct, ours, peer }: Round): BenchRow[] {
  const of = (name: string, value: number) => row(`first byte of a stream above the upstream, ${name}`, value, 'ms')
  const added = (p50_ms: number) => p50_ms - direct.first_p50_ms
  return [
    of('middle, one after the other', added(ours.first_p50_ms)),
    of('slowest in a hundred, one after the other', ours.first_p99_ms - direct.first_p99_ms),
    ...(peer ? [of('middle, one after the other, another gateway', added(peer.first_p50_ms))] : []),
  ]
}

function streamRows({ direct, ours, peer }: Round, connections: number): BenchRow[] {
  const of = (name: string, value: number, unit = '') => row(`${name}, ${connections} at once`, value, unit)
  const chunks = (cpu_ms: number) => (cpu_ms * 1_000) / CHUNKS
  const rows = [
    of(`streams of ${CHUNKS} chunks from the upstream itself`, direct.per_second, 'streams/s'),
    of('streams through the service', ours.per_second, 'streams/s'),
    of('the same in proportion', ours.per_second / direct.per_second),
    of('first byte above the upstream, middle', ours.first_p50_ms - direct.first_p50_ms, 'ms'),
    of('first byte above the upstream, slowest in a hundred', ours.first_p99_ms - direct.first_p99_ms, 'ms'),
    of('processor time of 1,000 chunks', chunks(ours.cpu_ms), 'ms'),
  ]
  if (!peer) return rows
  return [
    ...rows,
    of('streams through another gateway', peer.per_second, 'streams/s'),
    of('the service in proportion to it', ours.per_second / peer.per_second),
    of('first byte above the upstream, middle, another gateway', peer.first_p50_ms - direct.first_p50_ms, 'ms'),
    of('processor time of 1,000 chunks, another gateway', chunks(peer.cpu_ms), 'ms'),
  ]
}

function row(name: string, value: number, unit = ''): BenchRow {
  return { name: `gateway: ${name}`, value: rounded(value), unit }
}

function connectionsText(count: number): string {
  return `${count} connection${count === 1 ? '' : 's'}`
}

async function startUpstream(): Promise<RunningProcess & { url: string }> {
  const script = fileURLToPath(new URL('gateway-upstream.ts', import.meta.url))
  const running = runProcess(script, [], { NODE_ENV: 'production' })
  const url = await until('the upstream to listen', () => /listens on (\S+)/.exec(running.stdout())?.[1], 20_000)
  return Object.assign(running, { url })
}
