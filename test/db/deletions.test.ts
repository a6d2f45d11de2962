// Deletions of large things: reads no longer return them at once, and the database removes them step by step, even after a restart.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { purgeDeletedFolders } from '../../src/db/assets/deleted-folders.ts'
import { readGraphText, saveGraph } from '../../src/db/graphs.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { registerChecksumFunctions } from '../../src/db/integrity/row-checksum.ts'
import { insertMessage } from '../../src/db/messages.ts'
import type { Store, Tx } from '../../src/db/store.ts'
import type { MessageTable } from '../../src/db/tables/chat.ts'
import * as threads from '../../src/db/threads.ts'
import * as workflows from '../../src/db/workflows.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { emptyLog, leavesLoopFree } from '../helpers/loop.ts'
import { atRealSize } from '../helpers/scale.ts'
import { startServer } from '../helpers/server.ts'
import { jobRow, listedWorkflows, openStore, putJob, workflowRow } from '../helpers/store.ts'

const OWNER = { user_id: '1', workspace_id: null }
const AT = '2026-01-01T00:00:00.000Z'
const VERSIONS = 30
const MESSAGES = 8
/** No time is left: only the minimum is removed. */
const never = () => false

/** The text of the graph of a version. */
const graphText = (id: string, revision: number, size: number) => JSON.stringify({ id, revision, of: 'x'.repeat(size) })

function putVersions(tx: Tx, id: string, from: number, to: number, size: number): void {
  for (let revision = from; revision <= to; revision++) {
    const body = graphText(id, revision, size)
    const graph_sha256 = sha256(body)
    saveGraph(tx, graph_sha256, body)
    if (revision === 1) workflows.insertWorkflow(tx, { ...workflowRow(id), access: 'public', graph_sha256 })
    const { name, description, etag, created_at } = workflowRow(id)
    workflows.insertWorkflowVersion(tx, {
      workflow_id: id,
      revision,
      name,
      description,
      graph_sha256,
      etag,
      created_at,
    })
  }
  if (from === 1) workflows.insertWorkflowShare(tx, { token: `t-${id}`, workflow_id: id, created_at: AT })
}

const deleteWorkflow = (tx: Tx, id: string, more: () => boolean) =>
  workflows.deleteWorkflow(tx, workflows.findOwnedWorkflow(tx, OWNER, id)!, more)

const versionsOf = (store: Store, id: string) =>
  store.read((tx) => workflows.listWorkflowVersions(tx, id, 1e9, 1e9).length)

function putThread(tx: Tx, id: string, size: number, messages = MESSAGES): number {
  const length = size * messages
  const of = { last_sequence: messages, size: length, spoken_at: AT, created_at: AT, updated_at: AT }
  threads.insertThread(tx, { id, ...OWNER, title: 'words', ...of })
  const { key } = threads.findOwnedThread(tx, OWNER, id)!
  for (let sequence = 1; sequence <= messages; sequence++) insertMessage(tx, message(key, sequence, size))
  const turn = { thread_key: key, id: `turn-${id}`, provider: null, model: null, workflow_id: null, job_id: null }
  threads.startTurn(tx, { ...turn, created_at: AT })
  return key
}

function message(thread_key: number, sequence: number, size: number): MessageTable {
  const of = { turn_id: null, tool_calls: null, tool_call_id: null, error: null, provider: null, model: null }
  const more = { workflow_id: null, job_id: null, usage: null, created_at: AT }
  const content = JSON.stringify('x'.repeat(size))
  const id = `m-${thread_key}-${sequence}`
  return { thread_key, sequence, id, role: 'user', content, status: 'completed', ...of, ...more }
}

const COUNT = { sql: 'select count(*) as count from message', bind: () => [] }
const messageCount = (store: Store) => (store.read((tx) => tx.get(COUNT, {})) as { count: number }).count

describe('a workflow with many versions', () => {
  test('is gone for every read at once, and step by step from the database', async () => {
    await using opened = await openStore()
    const used = sha256(graphText('a', 2, 10))
    await opened.store.write((tx) => {
      putVersions(tx, 'a', 1, VERSIONS, 10)
      putVersions(tx, 'b', 1, 3, 10)
      putJob(tx, jobRow(1, { status: 'cancelled', finished_at: AT, graph_sha256: used }))
      deleteWorkflow(tx, 'a', never)
    })
    let store = opened.store
    assert.equal(
      store.read((tx) => workflows.findOwnedWorkflow(tx, OWNER, 'a')),
      undefined,
    )
    assert.equal(
      store.read((tx) => workflows.findPublicWorkflow(tx, 'a')),
      undefined,
    )
    assert.equal(
      store.read((tx) => workflows.findSharedWorkflow(tx, 't-a')),
      undefined,
    )
    for (const scope of [OWNER, null]) {
      const listed = store.read((tx) => listedWorkflows(tx, { scope }))
      assert.deepEqual(
        listed.map(({ id }) => id),
        ['b'],
      )
    }
    let before = versionsOf(store, 'a')
    assert.ok(before > VERSIONS / 2)
    for (let done = false; !done; ) {
      assert.deepEqual(await checkDatabase(opened.path), [])
      store = await opened.reopen()
      done = await store.write((tx) => workflows.purgeDeletedWorkflows(tx, never))
      const left = versionsOf(store, 'a')
      assert.ok(before - left <= 4)
      before = left
    }
    assert.equal(before, 0)
    assert.equal(versionsOf(store, 'b'), 3)
    const kept = (revision: number) =>
      store.read((tx) => readGraphText(tx, sha256(graphText('a', revision, 10)))) !== undefined
    assert.deepEqual([1, 2, 3, VERSIONS].map(kept), [false, true, false, false])
  })

  test('leaves the event loop free', { skip: atRealSize }, async () => {
    await using server = await startServer()
    const { store } = server.context
    const { workflows: service, retention } = server.context.runs
    let round = 0
    await leavesLoopFree(async () => {
      const id = `wf_${++round}`
      for (let from = 1; from <= 4_000; from += 100)
        await store.write((tx) => putVersions(tx, id, from, from + 99, from <= 200 ? 200_000 : 10))
      emptyLog(server)
      return async () => {
        await service.delete(OWNER, id, null)
        await retention.sweep()
        assert.equal(versionsOf(store, id), 0)
      }
    })
  })
})

describe('a thread with many messages', () => {
  test('is gone for every read at once, and step by step from the database', async () => {
    await using opened = await openStore()
    const key = await opened.store.write((tx) => {
      putThread(tx, 'b', 10)
      const key = putThread(tx, 'a', 10)
      assert.equal(threads.deleteThread(tx, OWNER, 'a', never), true)
      return key
    })
    let store = opened.store
    assert.equal(
      store.read((tx) => threads.findThreadByKey(tx, key)),
      undefined,
    )
    assert.equal(
      store.read((tx) => threads.findTurn(tx, key)),
      undefined,
    )
    assert.equal(
      store.read((tx) => threads.countThreads(tx, OWNER)),
      1,
    )
    assert.equal(await store.write((tx) => threads.deleteThread(tx, OWNER, 'a', never)), false)
    let before = messageCount(store)
    for (let done = false; !done; ) {
      assert.deepEqual(await checkDatabase(opened.path), [])
      store = await opened.reopen()
      done = await store.write((tx) => threads.purgeDeletedThreads(tx, never))
      const left = messageCount(store)
      assert.ok(before - left <= 1)
      before = left
    }
    assert.equal(before, MESSAGES)
  })

  test('leaves the event loop free', { skip: atRealSize }, async () => {
    await using server = await startServer()
    const { store } = server.context
    const { retention } = server.context.runs
    let round = 0
    await leavesLoopFree(async () => {
      const id = `thread_${++round}`
      await store.write((tx) => putThread(tx, id, 6_500, 10_000))
      emptyLog(server)
      return async () => {
        const deleted = await fetch(`${server.url}/api/threads/${id}`, { method: 'DELETE' })
        assert.equal(deleted.status, 204)
        await retention.sweep()
        assert.equal(messageCount(store), 0)
      }
    })
  })
})

describe('a damaged row of a deleted folder', () => {
  test('keeps no other folder from being removed', async () => {
    await using opened = await openStore()
    const db = new Database(opened.path)
    registerChecksumFunctions(db)
    db.exec(`insert into deleted_folder values ('1', '', 'a', 12345);
      insert into deleted_folder values ('1', '', 'b', row_checksum('deleted_folder', '1', '', 'b'))`)
    assert.deepEqual(await opened.store.write((tx) => purgeDeletedFolders(tx, () => true)), { removed: [], done: true })
    assert.deepEqual(db.prepare('select id from deleted_folder').pluck().all(), ['a'])
    assert.equal(opened.store.hasDamagedRows, true)
    db.close()
  })
})
