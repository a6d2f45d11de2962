// What of a request the local gate believes: its target and its one Host header; and what it says in the log.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { localGate } from '../../src/access/local.ts'
import type { Log } from '../../src/log.ts'
import { startServer } from '../helpers/server.ts'

/** Sends one request as it stands and gives the status of the answer. */
function status(url: string, head: string): Promise<number> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(`${head}\r\nConnection: close\r\n\r\n`))
    let text = ''
    socket.on('data', (data) => {
      text += String(data)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(Number(text.split(' ')[1])))
  })
}

describe('the local gate', () => {
  test('judges the one Host header, or the host of an absolute target', async () => {
    await using server = await startServer()
    const cases: [string, number][] = [
      ['GET /api/workflows HTTP/1.1\r\nHost: localhost', 200],
      ['GET /api/workflows HTTP/1.1\r\nHost: evil.example', 401],
      ['GET /api/workflows HTTP/1.1\r\nHost: localhost\r\nHost: evil.example', 401],
      ['GET /api/workflows HTTP/1.1\r\nHost: evil.example\r\nHost: localhost', 401],
      ['GET http://evil.example/api/workflows HTTP/1.1\r\nHost: localhost', 401],
      ['GET http://localhost/api/workflows HTTP/1.1\r\nHost: evil.example', 200],
    ]
    for (const [head, expected] of cases) assert.equal(await status(server.url, head), expected, head)
  })

  test('says once that a proxy on this host is not believed', () => {
    const said: string[] = []
    const log = { warn: (text: string) => said.push(text) } as unknown as Log
    const gate = localGate({ allowed_hosts: [], allowed_origins: [], local_client_token: null }, log)
    const headers = { host: 'localhost', 'x-forwarded-for': '203.0.113.7' }
    const rawHeaders = Object.entries(headers).flat()
    const request = {
      url: '/',
      headers,
      rawHeaders,
      socket: { remoteAddress: '127.0.0.1' },
    } as unknown as IncomingMessage
    assert.equal(gate(request), null)
    assert.equal(gate(request), null)
    assert.equal(said.length, 1)
    assert.match(said[0]!, /forwarding headers/)
  })
})
