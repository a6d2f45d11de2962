// Upgrades whose caller the identity provider has to identify: they wait, and their clients may be gone by then.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { AUTH_UNAVAILABLE, type AuthVerdict, admitPrincipal } from '../../src/access/auth-verdict.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { accepted, assertBare, dial, gatewayWith, handshake, upgrade } from './raw.ts'

let server: TestServer
before(async () => {
  server = await startServer()
})
after(() => server[Symbol.asyncDispose]())

describe('while the identity provider is asked', () => {
  /** An authenticator that answers when the test says so. */
  function slowGate() {
    const asked: ((verdict: AuthVerdict | Error) => void)[] = []
    const gate = () =>
      new Promise<AuthVerdict>((resolve, reject) =>
        asked.push((verdict) => (verdict instanceof Error ? reject(verdict) : resolve(verdict))),
      )
    const answer = async (verdict: AuthVerdict | Error) => (await until('the question', () => asked.shift()))(verdict)
    return { gate, answer, asked }
  }

  test('the upgrade waits; an outage gives 503, a failing authenticator 500', async () => {
    const { gate, answer } = slowGate()
    await using door = await gatewayWith(server.context, gate)
    const cases: [AuthVerdict | Error, (text: string) => void][] = [
      [admitPrincipal(LOCAL_PRINCIPAL), accepted],
      [AUTH_UNAVAILABLE, (text) => assertBare(text, '503 Service Unavailable')],
      [new Error('the gate is broken'), (text) => assertBare(text, '500 Internal Server Error')],
    ]
    for (const [verdict, check] of cases) {
      const waiting = upgrade(door.url, '/ws')
      await answer(verdict)
      check(await waiting)
    }
  })

  test('a client that disconnects, by a close or a reset, leaves nothing behind', async () => {
    const { gate, answer, asked } = slowGate()
    await using door = await gatewayWith(server.context, gate, { linger_ms: 50 })
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      for (const verdict of [admitPrincipal(LOCAL_PRINCIPAL), AUTH_UNAVAILABLE, new Error('the gate is broken')]) {
        const at = new URL(door.url)
        const socket = dial(at)
        socket.on('error', () => {})
        socket.write(handshake(at, '/ws'))
        await until('the question', () => asked.length === 1)
        socket.resume()
        socket[leave]()
        await answer(verdict)
        await until('the end', () => socket.destroyed || socket.readableEnded)
        socket.destroy()
        await until('the end of its connection', async () => (await door.connections()) === 0)
      }
    }
    const waiting = upgrade(door.url, '/ws')
    await answer(admitPrincipal(LOCAL_PRINCIPAL))
    accepted(await waiting)
  })

  test('the shutdown waits neither for upgrades nor for refused clients that stay connected', async () => {
    const { gate, answer, asked } = slowGate()
    const door = await gatewayWith(server.context, gate, { linger_ms: 100_000 })
    const at = new URL(door.url)
    const [refused, waiting] = [dial(at), dial(at)]
    for (const socket of [refused, waiting]) socket.on('error', () => {})
    refused.write(handshake(at, '/ws'))
    await answer(AUTH_UNAVAILABLE)
    await until('the refusal', () => refused.bytesRead > 0)
    waiting.write(handshake(at, '/ws'))
    await until('the question', () => asked.length === 1)
    assert.equal(await door.connections(), 2)
    await door[Symbol.asyncDispose]()
    for (const socket of [refused, waiting]) socket.destroy()
  })
})
