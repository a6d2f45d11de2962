// Damaged rows are never served: a request for one gets an error with a code, lists skip them, and the health of the database shows them. All other
// rows are served and written.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Health, JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import { deleteAccessToken, findAccessToken, insertAccessToken } from '../../src/db/access-tokens.ts'
import { findOwnedObject, putObject } from '../../src/db/assets/objects.ts'
import { findOwnedAsset, findOwnedAssetByStorageKey, insertAsset, type NewAsset } from '../../src/db/assets/rows.ts'
import { runStatements } from '../../src/db/catalogue.ts'
import { openReadOnlyConnection } from '../../src/db/connection.ts'
import { readGraphText, saveGraph } from '../../src/db/graphs.ts'
import { DatabaseHealth } from '../../src/db/health/database-health.ts'
import {
  CHECKSUM_COLUMNS,
  computeRowChecksum,
  TABLE_NAMES,
  type TableName,
} from '../../src/db/integrity/row-checksum.ts'
import { findDamages } from '../../src/db/integrity/structure-damage.ts'
import { insertJobEvent } from '../../src/db/jobs/events.ts'
import { listTrimmedNodeStatuses, trimJobEvents } from '../../src/db/jobs/history-trimming.ts'
import { findIdempotentJob, saveIdempotencyKey } from '../../src/db/jobs/idempotency-keys.ts'
import { findOwnedJob } from '../../src/db/jobs/rows.ts'
import { insertSpilledValue, isSpilledValueStored } from '../../src/db/jobs/spilled-values.ts'
import { Store, type Tx } from '../../src/db/store.ts'
import { findOwnedThread, insertThread, renameThread } from '../../src/db/threads.ts'
import { findUserSecret, putUserSecret } from '../../src/db/user-secrets.ts'
import { findOwnedWorkflow, insertWorkflow } from '../../src/db/workflows.ts'
import { withoutTriggers } from '../helpers/checksums.ts'
import { inFolder } from '../helpers/folder.ts'
import { type Answer, call } from '../helpers/http.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { jobRow, listedWorkflows, openStore, putJob, workflowRow } from '../helpers/store.ts'

/** Changes a value without the service, as a flipped bit does: the checksum stays. */
const DAMAGES: Readonly<Record<string, string>> = {
  workflow: "update workflow set name = 'fine' where name = 'line'",
  job: "update job set result = replace(result, 'Ada', 'Bda') where key = 1",
  event: "update job_event set payload = replace(payload, 'completed', 'bompleted') where job_key = 2 and sequence = 4",
  thread: "update thread set title = 'b' where title = 'a'",
  message: "update message set content = replace(content, 'one', 'onf')",
  setting: `update user_setting set value = '"session"'`,
  secret: "update user_secret set updated_at = '2020-01-01T00:00:00.000Z'",
  token: `update access_token set scopes = '["read","write","admin"]' where name = 'small'`,
}

interface Given {
  readonly folder: string
  readonly token: string
  readonly workflows: Readonly<Record<string, string>>
  readonly jobs: readonly string[]
  readonly threads: Readonly<Record<string, string>>
}

const GRAPH = { nodes: [], edges: [] }
const LIST = { type: 'list' }

async function posted<T>(server: TestServer, path: string, body: object): Promise<T> {
  const answer = await call<T>(server, 'POST', path, { body })
  assert.ok(answer.status < 300, answer.text)
  return answer.body
}

async function fill(folder: string): Promise<Given> {
  await using server = await startServer({ data_dir: folder })
  const workflows: Record<string, string> = {}
  for (const name of ['line', 'other'])
    workflows[name] = (await posted<Workflow>(server, '/api/workflows', { name, graph: GRAPH })).id
  const jobs: string[] = []
  for (const name of ['Ada', 'Bob', 'Cyd']) {
    const run = await posted<{ job_id: string }>(server, '/api/workflows/greeting/run', { params: { name } })
    jobs.push(run.job_id)
  }
  const threads: Record<string, string> = {}
  for (const title of ['a', 'z']) threads[title] = (await posted<{ id: string }>(server, '/api/threads', { title })).id
  await posted(server, `/api/threads/${threads.z}/messages`, { role: 'user', content: 'one' })
  assert.equal(
    (await call(server, 'PUT', '/api/settings', { body: { values: { 'jobs.persistence': 'job' } } })).status,
    200,
  )
  await call(server, 'PUT', '/api/secrets/KEY', { body: { value: 'a secret that is long' } })
  const { token } = await posted<{ token: string }>(server, '/api/tokens', { name: 'small', scopes: ['read'] })
  return { folder, token, workflows, jobs, threads }
}

function damage(folder: string): void {
  const db = new Database(join(folder, 'svc.db'))
  withoutTriggers(db, () => {
    for (const [what, sql] of Object.entries(DAMAGES)) assert.equal(db.prepare(sql).run().changes, 1, what)
  })
  db.close()
}

describe('a damaged row', () => {
  let given: Given
  let server: TestServer
  const log = keptLog()
  const get = <T = unknown>(path: string, headers = {}): Promise<Answer<T>> => call<T>(server, 'GET', path, { headers })

  before(async () => {
    const folder = temporaryFolder()
    given = await fill(folder)
    damage(folder)
    server = await startServer({ data_dir: folder, log: log.log })
  })

  after(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(given.folder, { recursive: true, force: true })
  })

  async function isRefused(path: string, headers = {}): Promise<void> {
    const { status, body, text } = await get<{ error: { type: string; message: string } }>(path, headers)
    assert.deepEqual([status, body.error?.type], [500, 'data_damaged'], `${path}: ${text}`)
    assert.equal(body.error.message, 'The stored data is damaged and is not served.')
  }

  test('is an error with a code, in whatever table it is', async () => {
    await isRefused(`/api/workflows/${given.workflows.line}`)
    await isRefused(`/api/jobs/${given.jobs[0]}`)
    await isRefused(`/api/threads/${given.threads.a}`)
    await isRefused(`/api/threads/${given.threads.z}/messages`)
    await isRefused('/api/settings')
    await isRefused('/api/secrets/KEY')
    await isRefused('/api/workflows', { Authorization: `Bearer ${given.token}` })
    const events = await call(server, 'GET', `/api/jobs/${given.jobs[1]}/events`, {
      headers: { Accept: 'application/json' },
    })
    assert.deepEqual([events.status, events.text.includes('bompleted')], [500, false], events.text)
  })

  test('is left out of lists, and the others are in them', async () => {
    const workflows = (await get<Workflow[]>('/api/workflows')).body.map(({ name }) => name)
    assert.deepEqual([workflows.includes('other'), workflows.includes('fine')], [true, false])
    const jobs = (await get<JobSnapshot[]>('/api/jobs')).body
    assert.deepEqual(
      jobs.map(({ job_id }) => job_id),
      [given.jobs[2], given.jobs[1]],
    )
    const threads = (await get<{ title: string }[]>('/api/threads')).body
    assert.deepEqual(
      threads.map(({ title }) => title),
      ['z'],
    )
  })

  test('does not keep the rest from being read and written', async () => {
    assert.equal((await get(`/api/jobs/${given.jobs[2]}`)).status, 200)
    // A run must not use a default instead of the owner's setting.
    const run = await call(server, 'POST', '/api/workflows/greeting/run', { body: { params: { name: 'Dan' } } })
    assert.equal(run.status, 500, run.text)
    const settings = await call(server, 'PUT', '/api/settings', { body: { values: { 'jobs.persistence': 'job' } } })
    assert.equal(settings.status, 200, settings.text)
    await posted(server, '/api/workflows/greeting/run', { params: { name: 'Dan' } })
    const set = await call(server, 'PUT', '/api/secrets/KEY', { body: { value: 'set again, and long' } })
    assert.equal(set.status, 200, set.text)
    assert.equal((await get('/api/secrets/KEY')).status, 200)
  })

  test('is not changed by an update of other columns, which would make it look sound', async () => {
    const answer = await call(server, 'PUT', `/api/workflows/${given.workflows.line}`, {
      body: { name: 'new', graph: GRAPH },
    })
    assert.equal(answer.status, 500, answer.text)
    await isRefused(`/api/workflows/${given.workflows.line}`)
  })

  test('shows in health, and once in the log, which names it', async () => {
    const { body } = await get<Health>('/health')
    assert.equal(body.services.database, 'damaged')
    await until('the log', () => log.lines.some((line) => line.includes('"table":"job"')))
    assert.equal(log.lines.filter((line) => line.includes('"table":"workflow"')).length, 1)
    assert.ok(!log.lines.some((line) => line.includes('Bda')))
  })
})

describe('a text with half a character', () => {
  /** The checksums of short and long texts are computed differently. */
  const halves = ['a\ud83d', '\ude00b', '\ud83d\ud83d\ude00', '\ud83d\ude00 \udc00', '\ud83d'.repeat(300)]

  test('is no damage where a workflow has it stored', async () => {
    await using server = await startServer()
    const code = `return {texts: ${JSON.stringify(halves)}, vectors: ${JSON.stringify(halves.map((_, at) => [1, at]))}}`
    const nodes = [
      { id: 'make', type: 'code.JavaScript', data: { code }, dynamic_outputs: { texts: LIST, vectors: LIST } },
      { id: 'keep', type: 'vector.Index', data: { index: 'halves' } },
      { id: 'find', type: 'vector.Search', data: { index: 'halves', vector: [1, 0], top_k: 9 } },
      { id: 'found', type: 'output.Output', data: { name: 'found' } },
    ]
    const edge = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({
      ...{ source, sourceHandle, target, targetHandle },
    })
    const run = async (edges: readonly object[], used: readonly string[]) => {
      const graph = { nodes: nodes.filter(({ id }) => used.includes(id)), edges }
      const { id } = await posted<Workflow>(server, '/api/workflows', { name: 'Halves', graph })
      return posted<RunResult>(server, `/api/workflows/${id}/run`, {})
    }
    const kept = [edge('make', 'texts', 'keep', 'texts'), edge('make', 'vectors', 'keep', 'vectors')]
    assert.equal((await run(kept, ['make', 'keep'])).status, 'completed')
    const { outputs } = await run([edge('find', 'texts', 'found', 'value')], ['find', 'found'])
    assert.deepEqual(
      (outputs as { found: string[] }).found.toSorted(),
      halves.map((text) => text.toWellFormed()).toSorted(),
    )
    const { body } = await call<Health>(server, 'GET', '/health')
    assert.equal(body.services.database, 'healthy')
  })

  test('has the checksum of what SQLite keeps of it', () => {
    const sum = (text: string) => computeRowChecksum('meta', (place) => ['name', text][place])
    for (const text of halves) assert.equal(sum(text), sum(text.toWellFormed()))
  })
})

describe('a damaged row that is no JSON any more', () => {
  test(
    'is left out of a search that looks into it, and the others are found',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const tags = '["draft"]'
      {
        await using store = await Store.open(path)
        await store.write((tx) => {
          saveGraph(tx, 'g', '{}')
          for (const id of ['fine', 'torn']) insertWorkflow(tx, workflowRow(id, { tags, access: 'public' }))
        })
      }
      const db = new Database(path)
      withoutTriggers(db, () => db.exec("update workflow set tags = '[\"draft' where id = 'torn'"))
      db.close()
      await using store = await Store.open(path)
      for (const filter of [{ tag: 'draft' }, { q: 'draft' }])
        for (const scope of [{ user_id: '1', workspace_id: null }, null]) {
          const found = store.read((tx) => listedWorkflows(tx, { scope, ...filter }))
          assert.deepEqual(
            found.map(({ id }) => id),
            ['fine'],
          )
        }
    }),
  )
})

describe('a damaged event', () => {
  test(
    'is not counted as a sound one where a long history is trimmed',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      const event = (sequence: number) => {
        const payload = JSON.stringify({ node_id: 'node', status: 'running' })
        return { job_key: 1, sequence, type: 'node_status', payload, created_at: '2026-01-01T00:00:00.000Z' }
      }
      {
        await using store = await Store.open(path)
        await store.write((tx) => {
          putJob(tx, jobRow(1, { last_sequence: 3 }))
          for (const sequence of [1, 2, 3]) insertJobEvent(tx, event(sequence))
        })
      }
      const db = new Database(path)
      withoutTriggers(db, () =>
        db.exec("update job_event set payload = replace(payload, 'node\"', 'mode\"') where sequence = 2"),
      )
      db.close()
      await using store = await Store.open(path)
      const trim = (below: number) =>
        store.write((tx) => trimJobEvents(tx, 1, below, { events: 1, bytes: 0 }, () => true))
      await trim(2)
      await assert.rejects(trim(4), { code: 'DATA_DAMAGED' })
      assert.deepEqual(
        store.read((tx) => listTrimmedNodeStatuses(tx, 1)),
        [{ node_id: 'node', status: 'running' }],
      )
    }),
  )
})

describe('the checksum of a row', () => {
  test('covers every column of every table but itself, and keys that SQLite gives', async () => {
    await using opened = await openStore()
    const given: Partial<Record<TableName, string>> = {
      thread: 'key',
      asset: 'key',
      vector_index: 'key',
      vector_entry: 'key',
    }
    await opened.store[Symbol.asyncDispose]()
    const db = new Database(opened.path, { readonly: true })
    const tables = db
      .prepare(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite%' and name not like 'kysely%'",
      )
      .pluck()
      .all() as string[]
    assert.deepEqual(TABLE_NAMES.toSorted(), tables.filter((name) => !name.startsWith('asset_name')).toSorted())
    for (const table of TABLE_NAMES) {
      const columns = db.prepare('select name from pragma_table_info(?)').pluck().all(table) as string[]
      const covered = columns.filter((name) => name !== 'checksum' && name !== given[table])
      assert.deepEqual([...CHECKSUM_COLUMNS[table]], covered, table)
    }
    db.close()
  })

  test('is another for each change of a value, of its place and of its table', () => {
    const rows: readonly (readonly unknown[])[] = [
      [1, 2, 'a', 'b'.repeat(300), 'c'],
      [1, 2, 'a', 'b'.repeat(300), 'd'],
      [1, 2, 'a', `${'b'.repeat(299)}c`, 'c'],
      [2, 1, 'a', 'b'.repeat(300), 'c'],
      [1, 2, 'b'.repeat(300), 'a', 'c'],
      [1, 2, 'ab', 'b'.repeat(299), 'c'],
      [1, 2 + 2 ** 32, 'a', 'b'.repeat(300), 'c'],
      [1, 2.5, 'a', 'b'.repeat(300), 'c'],
      [1, 2, null, 'b'.repeat(300), 'c'],
      [1, 2, '', 'b'.repeat(300), 'c'],
      [1, 2, 'a', Buffer.from('b'.repeat(300)), 'c'],
    ]
    const sums = rows.map((row) => computeRowChecksum('job_event', (place) => row[place]))
    const other = computeRowChecksum('message', (place) => rows[0]![place])
    assert.equal(new Set([...sums, other]).size, rows.length + 1)
  })
})

describe('a row whose owner or key is damaged', () => {
  const OWNER = { user_id: '1', workspace_id: null }
  const AT = '2026-01-01T00:00:00.000Z'
  const asset: NewAsset = {
    ...{ id: 'a', ...OWNER, parent_id: null, name: 'a.txt', content_type: 'text/plain', size: 1, sha256: 'x' },
    ...{ storage_key: '1/a.txt', content_key: 'c', thumb_key: null, metadata: '{}', previewed: 1 },
    ...{ workflow_id: null, job_id: null, node_id: null, created_at: AT, updated_at: AT },
  }
  const object = { ...OWNER, storage_key: '1/o', content_key: 'c', content_type: 'text/plain', size: 1, sha256: 'x' }
  const secret = { user_id: '1', workspace: '', name: 'KEY', body: new Uint8Array([1]), updated_at: AT }
  const thread = {
    id: 't',
    ...OWNER,
    title: null,
    last_sequence: 0,
    size: 0,
    spoken_at: AT,
    created_at: AT,
    updated_at: AT,
  }
  const token = { ...OWNER, id: 'i', name: 'n', digest: new Uint8Array([1]), scopes: '[]', created_at: AT }

  async function put(path: string): Promise<void> {
    await using store = await Store.open(path)
    await store.write((tx) => {
      saveGraph(tx, 'g', '{}')
      insertWorkflow(tx, workflowRow('w'))
      putJob(tx, jobRow(1, { id: 'j' }))
      insertThread(tx, thread)
      insertAsset(tx, asset)
      putObject(tx, { ...object, expires_at: null, created_at: AT, updated_at: AT })
      saveIdempotencyKey(tx, OWNER, { key: 'k', request_sha256: 'x', job_key: 1, created_at: AT })
      runStatements(tx, insertAccessToken({ ...token, expires_at: null, last_used_at: null }))
      runStatements(tx, putUserSecret(secret))
      insertSpilledValue(tx, { content_key: 'v', job_key: 1, size: 1, sha256: 'x' })
    })
  }

  const READS: Readonly<Record<string, readonly [damage: string, read: (tx: Tx) => unknown]>> = {
    thread: ["update thread set user_id = '3'", (tx) => findOwnedThread(tx, OWNER, 't')],
    'thread, renamed': [
      "update thread set user_id = '3'",
      (tx) => renameThread(tx, OWNER, { id: 't', title: 'x', updated_at: AT }),
    ],
    job: ["update job set user_id = '3'", (tx) => findOwnedJob(tx, OWNER, 'j')],
    'job of its workspace': ["update job set user_id = '3', workspace_id = 'w'", (tx) => findOwnedJob(tx, OWNER, 'j')],
    'job by its id': ["update job set id = 'k'", (tx) => findOwnedJob(tx, OWNER, 'j')],
    graph: ["update graph set sha256 = 'h'", (tx) => readGraphText(tx, 'g')],
    workflow: ["update workflow set id = 'x'", (tx) => findOwnedWorkflow(tx, OWNER, 'w')],
    asset: ["update asset set user_id = '3'", (tx) => findOwnedAsset(tx, OWNER, 'a')],
    'asset by its key': ["update asset set user_id = '3'", (tx) => findOwnedAssetByStorageKey(tx, OWNER, '1/a.txt')],
    object: ["update object set user_id = '3'", (tx) => findOwnedObject(tx, OWNER, '1/o')],
    submission: ["update idempotency_key set key = 'j'", (tx) => findIdempotentJob(tx, OWNER, 'k', '')],
    token: ["update access_token set id = 'j'", (tx) => runStatements(tx, findAccessToken('i'))],
    secret: ["update user_secret set name = 'KEX'", (tx) => runStatements(tx, findUserSecret(OWNER, 'KEY'))],
    'secret of its owner': [
      "update user_secret set user_id = '3'",
      (tx) => runStatements(tx, findUserSecret(OWNER, 'KEY')),
    ],
    value: ["update spilled_value set content_key = 'w'", (tx) => isSpilledValueStored(tx, 'v')],
  }

  for (const [what, [damage, read]] of Object.entries(READS))
    test(
      `is an error and not missing, and a start finds it: ${what}`,
      inFolder(async (folder) => {
        const path = join(folder, 'svc.db')
        await put(path)
        {
          await using store = await Store.open(path)
          assert.equal(store.hasDamagedRows, false)
          assert.ok(store.read(read))
        }
        const db = new Database(path)
        db.pragma('foreign_keys = off')
        withoutTriggers(db, () => assert.equal(db.prepare(damage).run().changes, 1))
        db.close()
        await using store = await Store.open(path)
        assert.equal(store.hasDamagedRows, true)
        assert.throws(() => store.read(read), { code: 'DATA_DAMAGED' })
      }),
    )

  /** For each table, a row of another owner, or one that never existed. */
  const OTHERS: Readonly<Record<string, readonly [damage: string, read: (tx: Tx) => unknown]>> = {
    'the job of the same name of another owner': [
      "update job set name = 'x'",
      (tx) => findOwnedJob(tx, { user_id: '4', workspace_id: null }, 'j'),
    ],
    'an unknown job': ["update job set user_id = '3'", (tx) => findOwnedJob(tx, OWNER, 'i')],
    'an unknown token': ["update access_token set id = 'j'", (tx) => runStatements(tx, findAccessToken('k'))],
    'an unknown secret': [
      "update user_secret set name = 'KEX'",
      (tx) => runStatements(tx, findUserSecret(OWNER, 'OTHER')),
    ],
    'the secret of another owner': [
      "update user_secret set name = 'KEX'",
      (tx) => runStatements(tx, findUserSecret({ user_id: '4', workspace_id: null }, 'KEY')),
    ],
    'a deleted token': [
      "update access_token set id = 'j'",
      (tx) => runStatements(tx, deleteAccessToken(OWNER, 'k')) || undefined,
    ],
  }

  for (const [what, [damage, read]] of Object.entries(OTHERS))
    test(
      `is not taken for another one: ${what}`,
      inFolder(async (folder) => {
        const path = join(folder, 'svc.db')
        await put(path)
        const db = new Database(path)
        db.pragma('foreign_keys = off')
        withoutTriggers(db, () => assert.equal(db.prepare(damage).run().changes, 1))
        db.close()
        await using store = await Store.open(path)
        assert.equal(store.hasDamagedRows, true)
        assert.equal(await store.write(read), undefined)
      }),
    )

  test(
    'is found by the check beside the server as well, in a large database',
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      await put(path)
      const db = new Database(path)
      withoutTriggers(db, () => db.exec("update job set user_id = '3'; update thread set title = 'x'"))
      db.close()
      const found = findDamages(openReadOnlyConnection(path))
      assert.deepEqual(
        structuredClone(found).rows.map(({ table }) => table),
        ['job', 'thread'],
      )
      const condition = new DatabaseHealth(path, null, () => 0)
      condition.recordDamagedRows(structuredClone(found).rows)
      assert.throws(() => condition.rejectIfKeyDamaged('job', { ...OWNER, id: 'j' }), { code: 'DATA_DAMAGED' })
      condition.rejectIfKeyDamaged('job', { ...OWNER, id: 'k' })
    }),
  )
})
