// A minimal file server as a separate process. PUT writes the body to a file and syncs it; GET returns a file or a range of it. The
// argument is its folder; a path is the name of a file in it.
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

const [folder = '.'] = process.argv.slice(2)

const server = createServer((request, response) => {
  const path = join(folder, request.url!.slice(1))
  const answered = request.method === 'PUT' ? put(path, request, response) : get(path, request, response)
  answered.catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => {
  console.log(`listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

async function put(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  await pipeline(request, createWriteStream(path, { flush: true }))
  response.writeHead(201).end()
}

async function get(path: string, { headers }: IncomingMessage, response: ServerResponse): Promise<void> {
  const { size } = await stat(path)
  const [, start = '0', end = String(size - 1)] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
  response.writeHead(headers.range ? 206 : 200, { 'Content-Length': Number(end) - Number(start) + 1 })
  await pipeline(createReadStream(path, { start: Number(start), end: Number(end) }), response)
}
