// The memory that a server keeps after load, beside one that has handled each request once, and one with twice the load. Each is a separate
// process, and all of them idle at the same time.
import { rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { COMPILE_CACHE } from '../../src/launch/pick.mjs'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { residentMb } from './machine.ts'
import { sized } from './scale.ts'
import { rounded } from './turns.ts'

const CONNECTIONS = 40
const LOAD_MS = sized(60_000, 500)
const REST_MS = sized(300_000, 500)
const RUN = '/api/workflows/greeting/run'
const FILE = Buffer.alloc(6 * 1024 * 1024, 7)
const LARGE = 'y'.repeat(900_000)
/** One in so many requests has large values or files. */
const RARE = 50

/** A file that was not stored yet is missing. */
const EXPECTED = [200, 201, 202, 404]

type Call = (method: string, path: string, body?: string | Buffer) => Promise<string>
/** One kind of request; `turn` counts up. */
type Way = (call: Call, turn: number) => Promise<unknown>

const run = (name: string, background = false) => JSON.stringify({ params: { name }, background })
const WAYS: readonly Way[] = [
  (call) => call('POST', RUN, run('Ada')),
  (call) => call('POST', RUN, run('b'.repeat(2_000), true)),
  (call, turn) => (turn % RARE === 0 ? call('POST', RUN, run(LARGE)) : call('GET', '/api/workflows')),
  (call, turn) => (turn % RARE === 0 ? call('PUT', `/api/storage/1/${turn % 7}.bin`, FILE) : call('GET', '/health')),
  (call, turn) => call('GET', turn % RARE === 0 ? `/api/storage/1/${turn % 7}.bin` : '/api/nodes'),
  (call) => call('GET', '/api/jobs'),
  async (call) => {
    const { job_id } = JSON.parse(await call('POST', RUN, run('c', true))) as { job_id: string }
    // Waits for the end of the job.
    await call('GET', `/api/jobs/${job_id}/events`)
  },
]

export async function benchRest(): Promise<BenchRow[]> {
  const folders = [0, 1, 2].map(() => temporaryFolder())
  try {
    await using servers = new AsyncDisposableStack()
    const environment = { NODE_COMPILE_CACHE: COMPILE_CACHE, SVC_RATE_LIMIT_MAX: '1000000000' }
    const start = async (folder: string) => servers.use(await serve(folder, environment))
    const [fresh, loaded, longer] = (await Promise.all(folders.map(start))) as [
      ServingProcess,
      ServingProcess,
      ServingProcess,
    ]
    for (const server of [fresh, loaded, longer]) await once(server)
    await load(longer, LOAD_MS)
    await load(longer, LOAD_MS)
    await load(loaded, LOAD_MS)
    const most = residentMb(loaded.pid)
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
    const [base, after, twice] = [fresh, loaded, longer].map(({ pid }) => residentMb(pid)) as [number, number, number]
    const row = (name: string, value: number, unit = 'MB') => ({ name: `rest: ${name}`, value, unit })
    return [
      row('resident after each thing was done once', base),
      row('resident at the end of load', most),
      row('resident after load and rest', after),
      row('resident after twice the load and rest', twice),
      row('after load and rest in proportion to done once', rounded(after / base), ''),
      row('after twice the load in proportion to after load', rounded(twice / after), ''),
    ]
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}

async function once(server: ServingProcess): Promise<void> {
  using client = new Client(server.url)
  for (const way of WAYS) for (const turn of [0, 1]) await way(client.call, turn)
}

async function load(server: ServingProcess, ms: number): Promise<void> {
  using client = new Client(server.url)
  const end = performance.now() + ms
  const caller = async (_: unknown, at: number) => {
    for (let turn = at; performance.now() < end; turn++) await WAYS[turn % WAYS.length]!(client.call, turn)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, caller))
}

class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  get call(): Call {
    return (method, path, body) => exchange(this.#agent, `${this.#url}${path}`, method, body)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

function exchange(agent: Agent, url: string, method: string, body?: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream'
    const headers = body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }
    const outgoing = request(url, { method, agent, headers }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      incoming.on('end', () => {
        const { statusCode: status } = incoming
        if (EXPECTED.includes(status!)) resolve(Buffer.concat(chunks).toString('latin1'))
        else reject(new Error(`${method} ${url} answered ${status}`))
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
