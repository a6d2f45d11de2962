// Many clients connect at once while the service is busy.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { LISTEN_BACKLOG } from '../../src/http/connection/listen.ts'
import { serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

const CONNECTIONS = 1_500

/** How many waiting connections the system allows for any listener. */
function systemLimit(): number {
  return process.platform === 'linux' ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) : 0
}

const skip = systemLimit() < LISTEN_BACKLOG && 'the system lets fewer connections wait'

test('the system accepts connections while the service is busy, so that no client has to try again', {
  skip,
}, async () => {
  const folder = temporaryFolder()
  const server = await serve(folder)
  const sockets: Socket[] = []
  try {
    const { hostname, port } = new URL(server.url)
    server.kill('SIGSTOP')
    let connected = 0
    while (sockets.length < CONNECTIONS) {
      const socket = connect(Number(port), hostname).once('connect', () => connected++)
      sockets.push(socket.on('error', () => {}))
    }
    // Beyond the system's limit, no number of attempts lets a connection in.
    await until('all connections', () => connected === CONNECTIONS)
    server.kill('SIGCONT')
    const last = sockets.at(-1)!
    last.write('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    const [answer] = (await once(last, 'data')) as [Buffer]
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /)
  } finally {
    for (const socket of sockets) socket.destroy()
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  }
})
