// Requests of a connection that come faster than they are answered.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { rejectExcessRequests, serializeRequests } from '../../../src/http/connection/pipelining.ts'
import { until } from '../../helpers/server.ts'

const COUNT = 20_000
/** As many as a read takes: those of three packets and of the kernel buffers. */
const PACKETS = 3 * 65_536

interface Echoing {
  readonly port: number
  readonly connections: readonly Socket[]
  /** All that were read. */
  readonly requests: readonly IncomingMessage[]
  close(): void
}

/** Answers with the path, or 429 if the request is refused. The first answer waits for `go`. */
async function echoing(go: Promise<void>, most?: number): Promise<Echoing> {
  const connections: Socket[] = []
  const requests: IncomingMessage[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let status = 200
    try {
      rejectExcessRequests(request as never, response as never, () => {})
    } catch {
      status = 429
    }
    if (request.url === '/0') await go
    response.writeHead(status).end(`${request.url}\n`)
  }
  const server = createServer().on(
    'request',
    serializeRequests((request, response) => void answer(request, response), most),
  )
  server.on('connection', (socket) => connections.push(socket)).on('request', (request) => requests.push(request))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, connections, requests, close: () => server.close() }
}

/** The number of read bytes, once reading has stopped. */
async function settled(socket: Socket): Promise<number> {
  for (let before = -1; ; ) {
    const { bytesRead } = socket
    if (bytesRead === before) return bytesRead
    before = bytesRead
    await pause(300)
  }
}

test('while too many requests wait nothing more is read, and in the end each is answered in order', async () => {
  const go = Promise.withResolvers<void>()
  const server = await echoing(go.promise)
  const client = connect(server.port, '127.0.0.1')
  try {
    let text = ''
    client.setEncoding('latin1').on('data', (piece: string) => {
      text += piece
    })
    for (let at = 0; at < COUNT; at++) client.write(`GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await until('a connection', () => server.connections[0])
    const read = await settled(server.connections[0]!)
    assert.ok(read > 0 && read <= PACKETS, `${read} bytes were read`)
    assert.equal(text, '')
    go.resolve()
    const answers = () => text.match(/^\/\d+$/gm) ?? []
    await until('all answers', () => answers().length === COUNT)
    assert.deepEqual(
      answers(),
      Array.from({ length: COUNT }, (_, at) => `/${at}`),
    )
    const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)
    // The first request, and those that may wait for it.
    assert.equal(statuses.indexOf('429'), 101)
  } finally {
    client.destroy()
    server.close()
  }
})

test('a connection that closes while too many requests wait leaves nothing behind', async () => {
  const go = Promise.withResolvers<void>()
  const server = await echoing(go.promise)
  const client = connect(server.port, '127.0.0.1').on('error', () => {})
  try {
    client.write('GET /0 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000))
    const socket = await until('a connection', () => server.connections[0])
    await settled(socket)
    client.resetAndDestroy()
    await pause(50)
    go.resolve()
    await until('the end of the connection', () => socket.destroyed)
  } finally {
    client.destroy()
    server.close()
  }
})

test('when a connection closes there is no work for each of its thousands of waiting requests', async () => {
  const go = Promise.withResolvers<void>()
  const server = await echoing(go.promise)
  const client = connect(server.port, '127.0.0.1').on('error', () => {})
  try {
    for (let at = 0; at < 2_000; at++) client.write(`GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const socket = await until('a connection', () => server.connections[0])
    await settled(socket)
    socket.destroy()
    await once(socket, 'close')
    assert.ok(server.requests.length > 1_000, `${server.requests.length} were read`)
    const destroyed = server.requests.filter((request) => request.destroyed)
    assert.deepEqual(
      destroyed.map(({ url }) => url),
      ['/0'],
    )
  } finally {
    go.resolve()
    client.destroy()
    server.close()
  }
})

test('if too many requests wait on all connections, a connection with more than its share is cut, and others are served', async () => {
  const go = Promise.withResolvers<void>()
  const server = await echoing(go.promise, 300)
  const clients = Array.from({ length: 20 }, () => connect(server.port, '127.0.0.1').on('error', () => {}))
  try {
    for (const client of clients) client.write('GET /0 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1_000))
    await until('all requests', () => server.connections.length === 20 && server.requests.length >= 20_000)
    const open = () => server.connections.filter(({ destroyed }) => !destroyed)
    assert.ok(open().length <= 1, `${open().length} of 20 connections are open`)
    let text = ''
    const other = connect(server.port, '127.0.0.1').setEncoding('latin1')
    clients.push(other)
    other.on('data', (piece: string) => {
      text += piece
    })
    other.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
    await until('both answers', () => text.includes('/1\n') && text.includes('/2\n'))
  } finally {
    go.resolve()
    for (const client of clients) client.destroy()
    server.close()
  }
})
