// Handshakes that are sent before the answers to earlier requests have come: nothing overtakes an answer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startServer, until } from '../helpers/server.ts'
import { created, GATED, gate } from '../http/kit.ts'
import { peer } from '../http/peer.ts'
import { handshake } from './raw.ts'

const HEALTH = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** The statuses of the answers in their order. */
function statuses(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status!)
}

describe('a handshake behind other requests', () => {
  test('is answered after them, as a plain request', async () => {
    await using server = await startServer()
    const at = new URL(server.url)
    for (const [before, upgrade, expected] of [
      [1, handshake(at, '/ws'), '404'],
      [3, handshake(at, '/ws'), '404'],
      [1, handshake(at, '/ws', { headers: { Host: 'evil.example' } }), '401'],
      [3, handshake(at, '/ws', { headers: { Host: 'evil.example' } }), '401'],
    ] as const) {
      using client = await peer(server, HEALTH.repeat(before) + upgrade)
      const all = [...Array<string>(before).fill('200'), expected]
      await until('all answers', () => statuses(client.text()).length === all.length)
      assert.deepEqual(statuses(client.text()), all)
      // The connection stays open.
      client.socket.write(HEALTH)
      await until('one more', () => statuses(client.text()).length === all.length + 1)
    }
  })

  test('waits for a request that takes long', async () => {
    const { registry, open } = gate()
    await using server = await startServer({ registry })
    const { id } = await created(server, GATED)
    const run = [
      `POST /api/workflows/${id}/run HTTP/1.1`,
      'Host: localhost',
      'Content-Type: application/json',
      'Content-Length: 2',
      '',
      '{}',
    ]
    using client = await peer(server, run.join('\r\n'))
    await until('the run', () => server.context.runs.jobs.load.running === 1)
    client.socket.write(handshake(new URL(server.url), '/ws'))
    // The server has read the bytes after it once another client was served.
    using other = await peer(server, HEALTH)
    await until('the answer to another', () => statuses(other.text()).length === 1)
    assert.equal(client.text(), '')
    open()
    await until('both answers', () => statuses(client.text()).length === 2)
    assert.deepEqual(statuses(client.text()), ['200', '404'])
  })

  test('is accepted once these are answered', async () => {
    await using server = await startServer()
    using client = await peer(server, HEALTH.repeat(2))
    await until('the answers', () => statuses(client.text()).length === 2)
    client.socket.write(handshake(new URL(server.url), '/ws'))
    await until('the acceptance', () => statuses(client.text()).length === 3)
    assert.deepEqual(statuses(client.text()), ['200', '200', '101'])
  })
})
