// One large file up and down, and parts of it, beside the minimal server, and the additional memory of the service.
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { BenchRow } from './engine.ts'
import { FileClient, fileOf, MIB, perSecond, row, type Servers, took, withServers } from './files-kit.ts'
import { residentMb } from './machine.ts'
import { sized } from './scale.ts'
import { takeTurns } from './turns.ts'

const SIZE = sized(1_024, 16) * MIB
const ROUNDS = 3
const RANGE_KIB = 64
const RANGES = sized(5_000, 50)
const CONNECTIONS = [1, 10]
/** The warm-up of the service begins a second after its start and has long ended by then. */
const IDLE_MS = 3_000
const SAMPLED_MS = 20

export function benchLargeFiles(): Promise<BenchRow[]> {
  return withServers(async (servers) => {
    await pause(IDLE_MS)
    const { pid } = servers.service
    const idle = residentMb(pid)
    const up = await mostMemory(pid, () => uploads(servers))
    const down = await mostMemory(pid, () => downloads(servers))
    const rows = [
      ...up.value,
      row('most memory above idle, up', up.most_mb - idle, 'MB'),
      ...down.value,
      row('most memory above idle, down', down.most_mb - idle, 'MB'),
    ]
    for (const connections of CONNECTIONS) rows.push(...(await ranges(servers, connections)))
    return rows
  })
}

const FILE = `a file of ${SIZE / MIB} MiB`

async function uploads({ ours, bare }: Servers): Promise<BenchRow[]> {
  using client = new FileClient(1)
  let round = 0
  const put = (url: string) => mibPerSecond(() => client.put(url, SIZE, fileOf(url, SIZE)))
  // The service does not write known bytes again, so each round uploads another file. The downloads read the first one.
  const up = await takeTurns(ROUNDS, { bare: () => put(`${bare}large`), ours: () => put(`${ours}large-${round++}`) })
  return compared(`${FILE} up`, up)
}

async function downloads({ ours, bare }: Servers): Promise<BenchRow[]> {
  using client = new FileClient(1)
  const get = (url: string) => mibPerSecond(() => client.get(url, SIZE))
  const down = await takeTurns(ROUNDS, { bare: () => get(`${bare}large`), ours: () => get(`${ours}large-0`) })
  return compared(`${FILE} down`, down)
}

async function ranges({ ours, bare }: Servers, connections: number): Promise<BenchRow[]> {
  using client = new FileClient(connections)
  const length = RANGE_KIB * 1_024
  const read = (url: string) =>
    perSecond(RANGES, connections, () => client.get(url, length, randomInt(SIZE - length + 1)))
  const turn = await takeTurns(ROUNDS, { bare: () => read(`${bare}large`), ours: () => read(`${ours}large-0`) })
  const name = `ranges of ${RANGE_KIB} KiB, ${connections} connection${connections === 1 ? '' : 's'}`
  return compared(name, turn, 'ranges/s')
}

type Turn = Awaited<ReturnType<typeof takeTurns>>

export function compared(name: string, turn: Turn, unit = 'MiB/s'): BenchRow[] {
  return [
    row(`${name}, bare`, turn.bare, unit),
    row(name, turn.ours, unit),
    row(`${name}, in proportion`, turn.proportion),
  ]
}

async function mibPerSecond(work: () => Promise<unknown>): Promise<number> {
  return (SIZE / MIB) * (1_000 / (await took(work)))
}

/** The peak memory of a process during `work`. */
async function mostMemory<T>(pid: number, work: () => Promise<T>): Promise<{ value: T; most_mb: number }> {
  let most_mb = residentMb(pid)
  const timer = setInterval(() => {
    most_mb = Math.max(most_mb, residentMb(pid))
  }, SAMPLED_MS)
  try {
    return { value: await work(), most_mb: Math.max(most_mb, residentMb(pid)) }
  } finally {
    clearInterval(timer)
  }
}
