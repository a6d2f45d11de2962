// Targets with a host, as for proxies (RFC 9112, section 3.2.2), and targets that are no URL.
// own-process: it listens for all warnings of its process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { startServer, type TestServer } from '../helpers/server.ts'

const BROKEN = [
  'http://[::1/health',
  'x://nothing-here',
  'http://[/health',
  'http://[x]/api/workflows',
  'http://127.0.0.1:1aaa/ws?api_key=a-secret',
  'http://localhost:99999/health',
  'http://%/health',
]

// Node gives each kind of warning once: the test listens from the beginning.
const warnings: string[] = []
process.on('warning', ({ message }) => void warnings.push(message))

async function asked({ url }: TestServer, target: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  const answer = await text(socket)
  if (!socket.destroyed) await once(socket, 'close')
  return answer
}

describe('a target with a host,', () => {
  test('is routed by its path', async () => {
    await using server = await startServer()
    assert.match(await asked(server, 'http://localhost/health'), /^HTTP\/1\.1 200 /)
    assert.match(await asked(server, 'http://localhost/api/workflows'), /^HTTP\/1\.1 200 /)
    assert.match(await asked(server, 'http://localhost/nothing-here'), /^HTTP\/1\.1 404 /)
  })

  test('if malformed, is not public, and is answered as an unknown path', async () => {
    await using server = await startServer()
    await using strict = await startServer({ environment: { SVC_TRUST_LOCALHOST: 'false' } })
    for (const target of BROKEN) {
      const [known, unknown] = [await asked(server, target), await asked(strict, target)]
      assert.match(known, /^HTTP\/1\.1 404 Not Found\r\nX-Request-Id: .*"type":"not_found"/s, target)
      assert.match(unknown, /^HTTP\/1\.1 401 Unauthorized\r\nX-Request-Id: .*\{"error":"Remote access/s, target)
    }
  })

  test('is never written to the log by Node', async () => {
    await using server = await startServer()
    for (const target of BROKEN) await asked(server, target)
    // Warnings are emitted in a turn of their own.
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(warnings, [])
  })
})
