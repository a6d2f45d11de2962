// The speed of an upload into the temporary store, beside a minimal server that writes the same body to a file and syncs it. The client of
// both runs in this process; they take turns.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { startServer } from '../helpers/server.ts'
import { pattern } from '../http/storage-kit.ts'
import { END, FORM_TYPE, partHead, UPLOADS } from '../http/uploads-kit.ts'
import type { BenchRow } from './engine.ts'
import { inFolder } from './jobs.ts'
import { sized } from './scale.ts'
import { percentile, rounded } from './turns.ts'

const MIB = 1 << 20
const SIZE = sized(512, 16) * MIB
const ROUNDS = 5

export function benchUploads(): Promise<BenchRow[]> {
  return inFolder(async (folder) => {
    await using server = await startServer({ data_dir: join(folder, 'data') })
    await using bare = await startBare(join(folder, 'piped'))
    await uploaded(server.url + UPLOADS)
    const rounds: { own: number; piped: number }[] = []
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push({ own: await uploaded(server.url + UPLOADS), piped: await uploaded(bare.url) })
    rounds.sort((a, b) => a.own / a.piped - b.own / b.piped)
    const { own, piped } = rounds[Math.floor(ROUNDS / 2)]!
    const row = (name: string, value: number, unit: string) => ({
      name: `uploads: ${name}`,
      value: rounded(value),
      unit,
    })
    const smallest = percentile(await times(server.url + UPLOADS, 200, 1_000), 0.5)
    return [
      row(`a file of ${SIZE / MIB} MiB`, SIZE / MIB / (own / 1_000), 'MiB/s'),
      row('the same body piped into a file', SIZE / MIB / (piped / 1_000), 'MiB/s'),
      row('in proportion to that', piped / own, ''),
      row('a file of 1 kB, middle of 200', smallest, 'ms'),
    ]
  })
}

async function times(url: string, count: number, size: number): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < count; i += 1) all.push(await uploaded(url, size))
  return all
}

/** Milliseconds from the first byte of the request to the end of the answer. */
async function uploaded(url: string, size = SIZE): Promise<number> {
  const began = performance.now()
  const outgoing = send(url, { method: 'POST', headers: { 'Content-Type': FORM_TYPE } })
  const answered = once(outgoing, 'response')
  outgoing.write(partHead())
  for await (const piece of pattern(size)) if (!outgoing.write(piece)) await once(outgoing, 'drain')
  outgoing.end(END)
  const [answer] = (await answered) as [IncomingMessage]
  const text = Buffer.concat(await answer.toArray()).toString()
  if (answer.statusCode !== 201) throw new Error(text)
  return performance.now() - began
}

async function startBare(path: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(async (request, response) => {
    await pipeline(request, createWriteStream(path, { flush: true }))
    response.writeHead(201).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await rm(path, { force: true })
    },
  }
}
