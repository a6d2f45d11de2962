// The errors that clients get when the server itself fails: only the catalogue's messages.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { call, type ErrorBody } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { created, greeting } from './kit.ts'

/** A log that collects its lines. */
function memoryLog() {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return { lines, log: pino({ level: 'error', base: null }, stream) }
}

const TELLING = [
  /\bat /,
  /\.[jt]s\b/,
  /node_modules/,
  /select|insert|update /i,
  /sqlite|database|store/i,
  /\/tmp/,
  /Error:/,
]

function saysNothing(server: TestServer, text: string): void {
  for (const pattern of TELLING) assert.doesNotMatch(text, pattern)
  assert.ok(!text.includes(server.data_dir))
}

const CALLS: [string, string, object | null][] = [
  ['GET', '/api/workflows', null],
  ['GET', '/api/workflows?q=x', null],
  ['POST', '/api/workflows', greeting()],
  ['GET', '/api/workflows/x', null],
  ['PUT', '/api/workflows/x', greeting()],
  ['DELETE', '/api/workflows/x', null],
  ['GET', '/api/workflows/x/versions', null],
  ['GET', '/api/workflows/x/interface', null],
  ['POST', '/api/workflows/x/share', null],
  ['DELETE', '/api/workflows/x/share', null],
  ['GET', '/api/workflows/public', null],
  ['GET', '/api/workflows/public/x', null],
  ['GET', '/api/shared-workflows/x', null],
  ['POST', '/api/workflows/greeting/run', { params: { name: 'x' } }],
  ['POST', '/api/workflows/greeting/run', { params: { name: 'x' }, background: true }],
]

describe('a store that fails', () => {
  test('INTERNAL_ERROR: every operation answers 5xx without the cause, which is logged under the request id', async (t) => {
    const { lines, log } = memoryLog()
    await using server = await startServer({ log })
    const { store } = server.context
    t.mock.method(store, 'read', () => {
      throw new Error('the store is out of order')
    })
    t.mock.method(store, 'writeThen', (_unit: unknown, done: (error: unknown, value: undefined) => void) =>
      setImmediate(done, new Error('the store is out of order'), undefined),
    )
    for (const [method, path, body] of CALLS) {
      const id = `req-${method}-${path.length}-${lines.length}`
      const answer = await call<ErrorBody>(server, method, path, {
        ...(body ? { body } : {}),
        headers: { 'X-Request-Id': id },
      })
      assert.ok([500, 503].includes(answer.status), `${method} ${path}: ${answer.status} ${answer.text}`)
      assert.ok(['internal_error', 'service_unavailable'].includes(answer.body.error.type))
      saysNothing(server, answer.text)
      assert.ok(
        lines.some((line) => line.includes(id)),
        `${method} ${path} is not in the log`,
      )
    }
    for (const path of [
      '/ready',
      '/api/health',
      '/api/config',
      '/api/nodes/metadata',
      '/api/workflows/examples/greeting',
    ]) {
      assert.equal((await call(server, 'GET', path)).status, 200, path)
    }
  })

  test('SERVICE_UNAVAILABLE: a run whose history cannot be written gives 503, and the server keeps running', async () => {
    const { log } = memoryLog()
    await using server = await startServer({ log })
    const { id } = await created(server, greeting())
    const { store } = server.context
    const write = store.writeThen.bind(store)
    store.writeThen = (_unit, done) =>
      write(() => {
        throw new Error('disk I/O error in /tmp/secret.db')
      }, done)
    for (const background of [false, true]) {
      const answer = await call<ErrorBody>(server, 'POST', `/api/workflows/${id}/run`, {
        body: { params: { name: 'x' }, background },
      })
      assert.equal(answer.status, 503, answer.text)
      assert.equal(answer.body.error.type, 'service_unavailable')
      saysNothing(server, answer.text)
    }
    store.writeThen = write
    const again = await call(server, 'POST', `/api/workflows/${id}/run`, { body: { params: { name: 'x' } } })
    assert.equal(again.status, 200)
  })
})
