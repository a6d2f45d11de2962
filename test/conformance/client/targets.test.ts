// Requests whose target is no path: a client may send them, and the judgement goes on.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { runScenario } from '../../../src/conformance/client/scenario-runner.ts'
import { scenarios } from '../../../src/conformance/client/scenarios.ts'

const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

async function statusOf(port: number, headers: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`GET *:99999/ws HTTP/1.1\r\nHost: x\r\n${headers}\r\n`)
  const [bytes] = await once(socket, 'data')
  socket.destroy()
  return String(bytes).slice(0, 12)
}

test('a target that is no path is refused, and the scenario goes on', { timeout: 10_000 }, async () => {
  const found: string[] = []
  const outcome = await runScenario(scenarios[0]!, {
    driver: async ({ url, token }) => {
      const port = Number(new URL(url).port)
      found.push(await statusOf(port, UPGRADE), await statusOf(port, `Authorization: Bearer ${token}\r\n`))
      found.push(await statusOf(port, ''))
      return 'done'
    },
    port: 0,
    pace: 0.01,
    timeout_ms: 5_000,
  })
  assert.deepEqual(found, ['HTTP/1.1 404', 'HTTP/1.1 404', 'HTTP/1.1 401'])
  assert.notEqual(outcome.verdict, 'pass')
})
