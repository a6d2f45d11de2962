// Rows whose owner is damaged: a read, change or delete gives an error, and not 404. Unknown ids still give 404.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { withoutTriggers } from '../helpers/checksums.ts'
import { inFolder } from '../helpers/folder.ts'
import { type CallOptions, call } from '../helpers/http.ts'
import { startServer, type TestServer, temporaryFolder } from '../helpers/server.ts'
import { fieldsForm } from './uploads-kit.ts'

const GRAPH = { nodes: [], edges: [] }
const RUN = { body: { params: { name: 'Ada' } } }
const TABLES = ['workflow', 'job', 'thread', 'asset', 'object', 'access_token', 'user_secret']

async function made<T>(server: TestServer, method: string, path: string, body: CallOptions): Promise<T> {
  const answer = await call<T>(server, method, path, body)
  assert.ok(answer.status < 300, answer.text)
  return answer.body
}

interface Made {
  readonly workflow: string
  readonly job: string
  readonly thread: string
  readonly asset: string
  readonly token: string
}

async function fill(data_dir: string): Promise<Made> {
  await using server = await startServer({ data_dir })
  const idOf = async (path: string, body: object) => (await made<{ id: string }>(server, 'POST', path, { body })).id
  await made(server, 'PUT', '/api/storage/1/a.txt', { raw: 'text', headers: { 'Content-Type': 'text/plain' } })
  await made(server, 'PUT', '/api/secrets/KEY', { body: { value: 'a secret that is long' } })
  return {
    job: (await made<{ job_id: string }>(server, 'POST', '/api/workflows/greeting/run', RUN)).job_id,
    workflow: await idOf('/api/workflows', { name: 'line', graph: GRAPH }),
    thread: await idOf('/api/threads', { title: 'a' }),
    asset: (await made<{ id: string }>(server, 'POST', '/api/assets', fieldsForm({ name: 'a' }, { content: 'a' }))).id,
    token: await idOf('/api/tokens', { name: 'small', scopes: ['read'] }),
  }
}

function damage(folder: string): void {
  const db = new Database(join(folder, 'svc.db'))
  withoutTriggers(db, () => {
    for (const table of TABLES)
      assert.equal(db.prepare(`update ${table} set user_id = user_id || '1'`).run().changes, 1, table)
  })
  db.close()
}

const REQUESTS: readonly (readonly [method: string, path: (given: Made) => string, body?: object | string])[] = [
  ['PUT', ({ workflow }) => `/api/workflows/${workflow}`, { name: 'x', graph: GRAPH }],
  ['POST', ({ workflow }) => `/api/workflows/${workflow}/share`, {}],
  ['DELETE', ({ workflow }) => `/api/workflows/${workflow}`],
  ['GET', ({ job }) => `/api/jobs/${job}`],
  ['GET', ({ job }) => `/api/jobs/${job}/events`],
  ['POST', ({ job }) => `/api/jobs/${job}/cancel`],
  ['POST', ({ job }) => `/api/jobs/${job}/retry`],
  ['DELETE', ({ job }) => `/api/jobs/${job}`],
  ['POST', ({ thread }) => `/api/threads/${thread}/messages`, { role: 'user', content: 'x' }],
  ['PUT', ({ thread }) => `/api/threads/${thread}`, { title: 'x' }],
  ['DELETE', ({ thread }) => `/api/threads/${thread}`],
  ['PUT', ({ asset }) => `/api/assets/${asset}`, { name: 'x' }],
  ['DELETE', ({ asset }) => `/api/assets/${asset}`],
  ['PUT', () => '/api/storage/1/a.txt', 'x'],
  ['DELETE', () => '/api/storage/1/a.txt'],
  ['DELETE', ({ token }) => `/api/tokens/${token}`],
  ['GET', () => '/api/secrets/KEY'],
  ['DELETE', () => '/api/secrets/KEY'],
]

/** An unknown id. */
const UNKNOWN: Made = { workflow: 'workflow_0', job: 'job_0', thread: 'thread_0', asset: 'asset_0', token: 'token_0' }
const UNKNOWN_REQUESTS: readonly (readonly [method: string, path: string, status?: number])[] = [
  ['GET', `/api/workflows/${UNKNOWN.workflow}`],
  ['GET', `/api/jobs/${UNKNOWN.job}`],
  ['DELETE', `/api/jobs/${UNKNOWN.job}`],
  ['DELETE', `/api/threads/${UNKNOWN.thread}`],
  ['DELETE', `/api/assets/${UNKNOWN.asset}`],
  ['DELETE', `/api/tokens/${UNKNOWN.token}`],
  ['DELETE', '/api/secrets/OTHER', 204],
]

describe('a row whose owner is damaged', () => {
  const folder = temporaryFolder()
  let given: Made
  let server: TestServer

  before(async () => {
    given = await fill(folder)
    damage(folder)
    server = await startServer({ data_dir: folder })
  })

  after(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [method, path, body] of REQUESTS)
    test(`gives an error and is unchanged: ${method} ${path(UNKNOWN)}`, async () => {
      const sent = typeof body === 'string' ? { raw: body } : body === undefined ? {} : { body }
      const { status, text } = await call(server, method, path(given), sent)
      assert.deepEqual([status, text.includes('data_damaged')], [500, true], `${status} ${text}`)
    })

  for (const [method, path, expected = 404] of UNKNOWN_REQUESTS)
    test(`does not affect unknown ids: ${method} ${path}`, async () => {
      const { status, text } = await call(server, method, path)
      assert.equal(status, expected, text)
    })

  test('does not affect the refusal of an unknown token', async () => {
    const headers = { Authorization: `Bearer ntk_${'0'.repeat(32)}_${'A'.repeat(43)}`, Origin: 'https://other.test' }
    const { status, text } = await call(server, 'GET', '/api/workflows', { headers })
    assert.equal(status, 401, text)
  })
})

describe('a token that is damaged while it is cached', () => {
  test(
    'is refused once somebody wanted to end it',
    inFolder(async (data_dir) => {
      await using server = await startServer({ data_dir })
      const body = { name: 'small', scopes: ['read'] }
      const { id, token } = await made<{ id: string; token: string }>(server, 'POST', '/api/tokens', { body })
      const headers = { Authorization: `Bearer ${token}` }
      assert.equal((await call(server, 'GET', '/api/workflows', { headers })).status, 200)
      const db = new Database(join(data_dir, 'svc.db'))
      withoutTriggers(db, () => db.exec("update access_token set user_id = user_id || '1'"))
      db.close()
      assert.equal((await call(server, 'DELETE', `/api/tokens/${id}`)).status, 500)
      assert.equal((await call(server, 'GET', '/api/workflows', { headers })).status, 500)
    }),
  )
})
