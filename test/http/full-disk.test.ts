// A server whose database cannot be written, for its clients and its operator.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Health, RunResult } from '../../generated/types.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { cannotMount, damagePage, fill, memoryLog, rootPage, smallDisk, watchConnections } from '../db/kit.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { created, greeting } from './kit.ts'

const MIB = 1024 * 1024

const runOnce = (server: TestServer, id: string, name = 'Ada', background = false) =>
  call<RunResult & ErrorBody>(server, 'POST', `/api/workflows/${id}/run`, { body: { params: { name }, background } })

async function healthOf(server: TestServer) {
  const { status, body } = await call<Health>(server, 'GET', '/health')
  return [status, body.status, body.services.database]
}

/** Asserts a temporary refusal that does not reveal the cause. */
function refusedLater({ status, body, headers, text }: Awaited<ReturnType<typeof runOnce>>): void {
  assert.equal(status, 503, text)
  assert.equal(body.error.type, 'service_unavailable')
  assert.match(String(headers['retry-after']), /^\d+$/)
  assert.doesNotMatch(text, /disk|database|sqlite|svc\.db|damaged/i)
}

describe('a server with a full disk', () => {
  test('refuses writes with 503, logs the cause for its operator, and continues once there is space', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(4 * MIB)
    const { log, lines } = memoryLog()
    await using server = await startServer({ log, data_dir: disk.path })
    const { id } = await created(server, greeting())
    assert.equal((await runOnce(server, id)).status, 200)
    assert.deepEqual(await healthOf(server), [200, 'healthy', 'healthy'])
    const filled = fill(disk.path)
    const large = 'x'.repeat(MIB)
    for (let round = 0; round < 10; round++) refusedLater(await runOnce(server, id, large, round % 2 === 1))
    assert.deepEqual(await healthOf(server), [503, 'unhealthy', 'full'])
    const told = lines.filter(({ msg }) => /svc\.db cannot be written because the disk is full: make room/.test(msg))
    assert.equal(told.length, 1)
    filled[Symbol.dispose]()
    await until('health', async () => (await healthOf(server))[0] === 200)
    const { status, body } = await runOnce(server, id)
    assert.deepEqual([status, body.status], [200, 'completed'])
    assert.deepEqual(runToCompletion(server.context.runs.jobs.listActive({ user_id: '1', workspace_id: null })), [])
  })
})

describe('a server with a damaged database', () => {
  test('writes nothing more, and reports that until it is repaired', async () => {
    using watched = watchConnections()
    const { log, lines } = memoryLog()
    await using server = await startServer({ log })
    const { id } = await created(server, greeting())
    assert.equal((await runOnce(server, id)).status, 200)
    const db = watched.of(join(server.data_dir, 'svc.db'))
    db.pragma('wal_checkpoint(TRUNCATE)')
    damagePage(db.name, rootPage(db, 'job_event'))
    db.pragma('shrink_memory')
    for (let round = 0; round < 3; round++) refusedLater(await runOnce(server, id))
    assert.deepEqual(await healthOf(server), [503, 'unhealthy', 'damaged'])
    // Its own table is intact; nothing is written all the same.
    const other = await call<ErrorBody>(server, 'POST', '/api/workflows', { body: greeting() })
    assert.equal(other.status, 503)
    assert.deepEqual(await healthOf(server), [503, 'unhealthy', 'damaged'])
    const told = lines.filter(({ msg }) => /is damaged, and nothing more is written to it/.test(msg))
    assert.equal(told.length, 1)
    assert.equal((await call(server, 'GET', '/ready')).status, 200)
  })
})
