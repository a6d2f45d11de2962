// The time of a preflight of a workflow with 200 nodes over HTTP, at each level, one after the other, beside a minimal JSON echo.
import { rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node } from '../engine/kit.ts'
import { runProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { sized } from './scale.ts'
import { percentile, rounded } from './turns.ts'

const NODES = 200
const WARM_UP = sized(300, 20)
const ROUNDS = sized(500, 20)
/** Workflows without an earlier preflight. */
const FRESH = sized(50, 5)

const row = (name: string, value: number): BenchRow => ({
  name: `preflight: ${name}`,
  value: rounded(value),
  unit: 'ms',
})

export async function benchPreflight(): Promise<BenchRow[]> {
  const data_dir = temporaryFolder()
  try {
    using caller = new Caller()
    const { rows, unseen } = await known(data_dir, caller)
    // The server has already compiled its own workflows, so another one starts with the same data.
    await using another = await serve(data_dir)
    const first = await caller.create(another.url, chain(NODES, 'text.Template'))
    for (let at = 0; at < WARM_UP; at++) await caller.preflight(another.url, { workflow_id: first })
    const times = await timed(FRESH, (at) => caller.preflight(another.url, { workflow_id: unseen[at] }))
    return [...rows, ...shown(`${NODES} nodes that were never looked at, level static`, times)]
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

/** Workflows that the server has compiled, and the ids of others for a server that has not compiled them. */
async function known(data_dir: string, caller: Caller): Promise<{ rows: BenchRow[]; unseen: string[] }> {
  await using echo = await startEcho()
  await using service = await serve(data_dir)
  const plain = await caller.create(service.url, chain(NODES, 'text.Template'))
  const calling = await caller.create(service.url, chain(NODES, 'chat.Complete'))
  const at = (workflow_id: string, level: string) => ({ workflow_id, level, inputs: { text: 'asset://none' } })
  const ask = (body: object) => () => caller.preflight(service.url, body)
  const rows = [
    ...(await measured('bare echo of the request', () => caller.ask(`${echo.url}/echo`, at(plain, 'static')))),
    ...(await measured(`${NODES} nodes, level static`, ask(at(plain, 'static')))),
    ...(await measured(`${NODES} nodes, level availability`, ask(at(plain, 'availability')))),
    ...(await measured(`${NODES} nodes, level execution`, ask(at(plain, 'execution')))),
    ...(await measured(`${NODES} nodes that call models, level execution`, ask(at(calling, 'execution')))),
  ]
  const unseen: string[] = []
  for (let at = 0; at < FRESH; at++) {
    unseen.push(await caller.create(service.url, chain(NODES, 'text.Template', `text${at}`)))
  }
  return { rows, unseen }
}

/** An input, a chain of nodes, and an output. */
function chain(count: number, type: string, first = 'text'): Graph {
  const [into, out] = type === 'chat.Complete' ? ['system', 'usage'] : ['t', 'output']
  const data = type === 'chat.Complete' ? { model: 'builtin/echo', prompt: 'x' } : { template: '{{t}}.' }
  const types = Array.from({ length: count - 2 }, (_, at) => node(`n${at}`, type, data))
  // A usage is not a text, so nodes that call models are parallel.
  const sources = types.map((_, at) => (at === 0 || type === 'chat.Complete' ? 'in.output' : `n${at - 1}.${out}`))
  return graph(
    [node('in', 'input.String', { name: first, value: 'x' }), ...types, node('out', 'output.Output', { name: 'out' })],
    [...sources.map((source, at) => `${source}->n${at}.${into}`), `n${count - 3}.${out}->out.value`],
  )
}

async function measured(name: string, work: () => Promise<unknown>): Promise<BenchRow[]> {
  for (let at = 0; at < WARM_UP; at++) await work()
  return shown(name, await timed(ROUNDS, work))
}

async function timed(count: number, work: (at: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let at = 0; at < count; at++) {
    const from = performance.now()
    await work(at)
    times.push(performance.now() - from)
  }
  return times
}

function shown(name: string, times: readonly number[]): BenchRow[] {
  return [row(`${name}, middle`, percentile(times, 0.5)), row(`${name}, slowest in a hundred`, percentile(times, 0.99))]
}

/** Sends requests one after the other, over one connection to each server. */
class Caller implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  async create(url: string, of: Graph): Promise<string> {
    const made = (await this.ask(`${url}/api/workflows`, { name: 'bench', graph: of })) as { id: string }
    return made.id
  }

  /** Posts JSON. @throws for an error status */
  ask(url: string, body: object): Promise<unknown> {
    const text = JSON.stringify(body)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
    return new Promise((resolve, reject) => {
      const outgoing = request(url, { method: 'POST', agent: this.#agent, headers }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.once('error', reject)
        answer.once('end', () => {
          const got = Buffer.concat(chunks).toString()
          if (answer.statusCode! < 300) resolve(JSON.parse(got))
          else reject(new Error(`${url} answered ${answer.statusCode}: ${got}`))
        })
      })
      outgoing.once('error', reject)
      outgoing.end(text)
    })
  }

  preflight(url: string, body: object): Promise<unknown> {
    return this.ask(`${url}/api/sdk/v1/preflight`, body)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

async function startEcho(): Promise<AsyncDisposable & { url: string }> {
  const running = runProcess(fileURLToPath(new URL('echo.ts', import.meta.url)), [])
  const url = await until('the echo to listen', () => /listens on (http:\S+)\n/.exec(running.stdout())?.[1], 20_000)
  return Object.assign(running, { url })
}
