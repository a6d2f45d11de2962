// Refused upgrades leak no descriptor, whatever their clients do. The server is a process of its own, so that only its descriptors are counted.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { dial, handshake, upgrade } from './raw.ts'

const AT_ONCE = 100
const REFUSED = { headers: { Host: 'evil.example' } }
const BARE = 'HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'

describe('refused upgrades', { skip: !existsSync('/proc/self/fd') && 'no /proc' }, () => {
  let folder: string
  let server: ServingProcess
  let least = 0
  before(async () => {
    folder = temporaryFolder()
    server = await serve(folder)
    for (let at = 0; at < 20; at++) await upgrade(server.url, '/ws', REFUSED)
    least = descriptors()
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The number of open files and sockets of the server. */
  const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length

  const untilFree = () => until('the descriptors', () => descriptors() <= least)

  function refusedSockets(count: number, then: (socket: Socket) => void): Socket[] {
    return Array.from({ length: count }, () => {
      const socket = dial(new URL(server.url))
      socket.on('error', () => {})
      socket.once('connect', () => {
        socket.write(handshake(new URL(server.url), '/ws', REFUSED))
        then(socket)
      })
      return socket
    })
  }

  test('leak no descriptor: thousands, with and without a principal, answered and closed', async () => {
    for (let at = 0; at < scaled(1_000); at += AT_ONCE) {
      const [path, how, status] = at % 200 === 0 ? ['/ws', REFUSED, '401'] : ['/ws/agent', {}, '404']
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => upgrade(server.url, path, how)))
      for (const answer of answers) assert.equal(answer.split(' ')[1], status)
    }
    await untilFree()
  })

  test('leak no descriptor: clients that never close their side, and keep sending', async () => {
    const heard: string[] = []
    const sockets = refusedSockets(AT_ONCE, (socket) => {
      socket.on('data', (data) => heard.push(data.toString()))
      socket.write('more')
    })
    await until('the answers', () => heard.length === AT_ONCE)
    assert.deepEqual(new Set(heard), new Set([BARE]))
    await untilFree()
    for (const socket of sockets) socket.destroy()
  })

  test('leak no descriptor: clients that never read', async () => {
    let sent = 0
    const sockets = refusedSockets(AT_ONCE, (socket) => {
      socket.pause()
      sent++
    })
    await until('the upgrades', () => sent === AT_ONCE)
    // Later connections are answered later.
    assert.equal(await upgrade(server.url, '/ws', REFUSED), BARE)
    await untilFree()
    for (const socket of sockets) socket.destroy()
  })

  test('leak no descriptor: clients that reset the connection', async () => {
    const sockets = refusedSockets(AT_ONCE, (socket) => socket.resetAndDestroy())
    await until('their ends', () => sockets.every((socket) => socket.closed))
    assert.equal(await upgrade(server.url, '/ws', REFUSED), BARE)
    await untilFree()
  })
})
