// The common parts of file benchmarks: the service and a minimal file server, each as a separate process, and a client of both.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RunningProcess, runProcess, type ServingProcess, serve } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { inFolder } from './jobs.ts'
import { rounded } from './turns.ts'

export const MIB = 1 << 20

export interface Servers {
  readonly service: ServingProcess
  /** `http://127.0.0.1:port/`, before the names of files. */
  readonly ours: string
  readonly bare: string
}

/** Runs `work` with both servers. They are removed afterwards with all their files. */
export function withServers<T>(work: (servers: Servers) => Promise<T>): Promise<T> {
  return inFolder(async (folder) => {
    const [data_dir, bare_dir] = [join(folder, 'data'), join(folder, 'bare')]
    mkdirSync(bare_dir)
    await using bare = await startBare(bare_dir)
    await using service = await serve(data_dir)
    return await work({ service, ours: `${service.url}/api/storage/1/`, bare: `${bare.url}/` })
  })
}

async function startBare(folder: string): Promise<RunningProcess & { url: string }> {
  const running = runProcess(fileURLToPath(new URL('files-bare.ts', import.meta.url)), [folder])
  const url = await until('the bare server to listen', () => /listens on (\S+)/.exec(running.stdout())?.[1], 20_000)
  return Object.assign(running, { url })
}

export function row(name: string, value: number, unit = ''): BenchRow {
  return { name: `files: ${name}`, value: rounded(value), unit }
}

/** Uploads and downloads files over persistent connections. */
export class FileClient implements Disposable {
  readonly #agent: Agent

  constructor(connections: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** @throws where the file is not stored */
  async put(url: string, size: number, pieces: Iterable<Uint8Array>): Promise<void> {
    const headers = { 'Content-Length': size }
    const outgoing = request(url, { agent: this.#agent, method: 'PUT', headers })
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
    for (const piece of pieces) if (!outgoing.write(piece)) await Promise.race([once(outgoing, 'drain'), answered])
    outgoing.end()
    const [answer] = await answered
    const text = Buffer.concat(await answer.toArray()).toString()
    if (answer.statusCode !== 201) throw new Error(`${url}: ${answer.statusCode} ${text}`)
  }

  /** Reads a file, or `length` bytes of it from `start`. @throws where it has another number of bytes */
  async get(url: string, length: number, start?: number): Promise<void> {
    const headers = start === undefined ? {} : { Range: `bytes=${start}-${start + length - 1}` }
    const outgoing = request(url, { agent: this.#agent, headers })
    outgoing.end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    let received = 0
    answer.on('data', (piece: Buffer) => {
      received += piece.length
    })
    await once(answer, 'end')
    if (received !== length) throw new Error(`${url}: ${answer.statusCode} with ${received} bytes of ${length}`)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

const FILLING = Buffer.alloc(MIB, createHash('sha512').update('filling').digest())

/** `size` bytes in pieces, unique to this file: `mark` is at their beginning. */
export function* fileOf(mark: string, size: number): Generator<Uint8Array> {
  const head = Buffer.from(mark.padEnd(Math.min(size, 64), '.')).subarray(0, size)
  yield head
  for (let left = size - head.length; left > 0; left -= MIB) yield left < MIB ? FILLING.subarray(0, left) : FILLING
}

/** Runs `work` `count` times, at most `at_once` at a time. Returns the rate per second. */
export async function perSecond(count: number, at_once: number, work: (at: number) => Promise<void>): Promise<number> {
  const from = performance.now()
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: at_once }, worker))
  return (count * 1_000) / (performance.now() - from)
}

/** Returns the milliseconds that `work` takes. */
export async function took(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}
