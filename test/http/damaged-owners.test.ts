// Rows whose owner is not what was written: whoever wants to change or delete one is told so, as a reader is, and not that there is none.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { withoutTriggers } from '../helpers/checksums.ts'
import { type CallOptions, call } from '../helpers/http.ts'
import { startServer, type TestServer, temporaryFolder } from '../helpers/server.ts'
import { fieldsForm } from './uploads-kit.ts'

const GRAPH = { nodes: [], edges: [] }
const TABLES = ['workflow', 'thread', 'asset', 'object', 'access_token', 'user_secret']

async function made<T>(server: TestServer, method: string, path: string, body: CallOptions): Promise<T> {
  const answer = await call<T>(server, method, path, body)
  assert.ok(answer.status < 300, answer.text)
  return answer.body
}

interface Made {
  readonly workflow: string
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

const WRITES: readonly (readonly [method: string, path: (given: Made) => string, body?: object | string])[] = [
  ['PUT', ({ workflow }) => `/api/workflows/${workflow}`, { name: 'x', graph: GRAPH }],
  ['POST', ({ workflow }) => `/api/workflows/${workflow}/share`, {}],
  ['DELETE', ({ workflow }) => `/api/workflows/${workflow}`],
  ['POST', ({ thread }) => `/api/threads/${thread}/messages`, { role: 'user', content: 'x' }],
  ['PUT', ({ thread }) => `/api/threads/${thread}`, { title: 'x' }],
  ['DELETE', ({ thread }) => `/api/threads/${thread}`],
  ['PUT', ({ asset }) => `/api/assets/${asset}`, { name: 'x' }],
  ['DELETE', ({ asset }) => `/api/assets/${asset}`],
  ['PUT', () => '/api/storage/1/a.txt', 'x'],
  ['DELETE', () => '/api/storage/1/a.txt'],
  ['DELETE', ({ token }) => `/api/tokens/${token}`],
  ['DELETE', () => '/api/secrets/KEY'],
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

  for (const [method, path, body] of WRITES)
    test(`is neither missing nor changed: ${method} ${path({ workflow: 'w', thread: 't', asset: 'a', token: 't' })}`, async () => {
      const sent = typeof body === 'string' ? { raw: body } : body === undefined ? {} : { body }
      const { status, text } = await call(server, method, path(given), sent)
      assert.deepEqual([status, text.includes('data_damaged')], [500, true], `${status} ${text}`)
    })
})
