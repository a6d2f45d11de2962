// Unfinished bodies and messages use only a limited part of the memory, and other users are served.
import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { type Peer, peer } from '../http/peer.ts'
import { handshake } from '../sockets/raw.ts'

/** More than the system buffers for a server that does not read. */
const LARGEST = 16_777_216
/** Far more than there is room for. There is room for eight of the largest bodies, and for six of one user. */
const MANY = 40
const FITTING = 8

const SETTINGS = {
  NODE_OPTIONS: '--max-old-space-size=256',
  SVC_MAX_BODY_BYTES: String(LARGEST),
  SVC_WS_MAX_MESSAGE_BYTES: String(LARGEST),
}

/** A body, and a frame of an ignored message. */
const BODY = `{"name":"Workflow","description":"${'x'.repeat(16_000_000)}"}`
const MESSAGE = encode({ type: 'nothing', filling: 'x'.repeat(16_000_000) })
/** The last bytes. */
const REST = 1_000

async function within(act: (server: ServingProcess) => Promise<void>): Promise<void> {
  const folder = temporaryFolder()
  const server = await serve(folder, SETTINGS)
  try {
    await act(server)
  } finally {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Megabytes, known only on Linux. */
function memoryOf({ pid }: ServingProcess): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_000
}

const isLinux = process.platform === 'linux'

const isTaken = ({ socket }: Peer) => socket.writableLength === 0

/** Starts bodies or messages on many connections. Some have room and the others are refused. Returns the connections that go on. */
async function assertBounded(
  server: ServingProcess,
  begun: readonly Peer[],
  isRefused: (one: Peer) => boolean,
): Promise<Peer[]> {
  const before = isLinux ? memoryOf(server) : 0
  // A body that waits for room is not read.
  await until('what is read', () => begun.filter(isTaken).length >= FITTING / 2)
  assert.ok(begun.filter(isTaken).length <= FITTING)
  await until('refusals', () => begun.filter(isRefused).length >= MANY - FITTING)
  if (isLinux) {
    const grown = memoryOf(server) - before
    assert.ok(grown < (MANY * LARGEST) / 2e6, `${grown} MB`)
  }
  assert.equal((await fetch(`${server.url}/health`)).status, 200)
  const others = begun.filter((one) => !isRefused(one))
  assert.ok(others.length > 0)
  return others
}

/** All connections with room are answered. Some of them may still have waited for it. */
async function assertMostAnswered(
  others: readonly Peer[],
  isAnswered: (one: Peer) => boolean,
  isRefused: (one: Peer) => boolean,
): Promise<void> {
  await until('answers', () => others.every((one) => isAnswered(one) || isRefused(one)))
  assert.ok(others.filter(isAnswered).length >= FITTING / 2)
}

const refusedBody = (one: Peer) => one.text().startsWith('HTTP/1.1 503 ')
/** The close code is 1013. */
const closed = (one: Peer) => one.text().includes('\x03\xf5no memory for large messages')

test('unfinished bodies are refused where there is no room, and other bodies are accepted', async () => {
  await within(async (server) => {
    const head = `POST /api/workflows HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`
    const begun = await Promise.all(Array.from({ length: MANY }, () => peer(server, head + BODY.slice(0, -REST))))
    const others = await assertBounded(server, begun, refusedBody)
    for (const one of others) one.socket.write(BODY.slice(-REST))
    await assertMostAnswered(others, (one) => one.text().startsWith('HTTP/1.1 400 '), refusedBody)
    for (const one of begun) one.socket.destroy()
    // Their memory is free again.
    const response = await fetch(`${server.url}/api/workflows`, { method: 'POST', body: BODY, headers: JSON_TYPE })
    assert.equal(response.status, 400)
  })
})

const JSON_TYPE = { 'Content-Type': 'application/json' }

/** A masked binary frame (RFC 6455, section 5.2) with a mask of zeros. */
function frameOf(data: Uint8Array): Buffer {
  const head = Buffer.alloc(14)
  head[0] = 0x82
  head[1] = 0xff
  head.writeBigUInt64BE(BigInt(data.length), 2)
  return Buffer.concat([head, data])
}

test('unfinished messages close their sockets where there is no room, and other messages are read', async () => {
  await within(async (server) => {
    const frame = frameOf(MESSAGE)
    const begun = await Promise.all(
      Array.from({ length: MANY }, async () => {
        const one = await peer(server, handshake(new URL(server.url), '/ws'))
        await until('the upgrade', () => one.text().startsWith('HTTP/1.1 101 '))
        one.socket.write(frame.subarray(0, -REST))
        return one
      }),
    )
    const others = await assertBounded(server, begun, closed)
    for (const one of others) {
      one.socket.write(frame.subarray(-REST))
      one.socket.write(frameOf(encode({ command: 'get_status', request_id: 'after', data: {} })))
    }
    await assertMostAnswered(others, (one) => one.text().includes('after'), closed)
    for (const one of begun) one.socket.destroy()
  })
})
