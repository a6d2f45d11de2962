// Rows are read through their owner, and immutable rows never change.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deleteUnusedGraph, readGraphText, saveGraph } from '../../src/db/graphs.ts'
import { insertJobEvent, insertJobEvents, listJobEventsAfter, listJobEventsOfType } from '../../src/db/jobs/events.ts'
import { listActiveJobKeys } from '../../src/db/jobs/list-queries.ts'
import { findOwnedJob, listRecoverableJobKeys, updateJob } from '../../src/db/jobs/rows.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { statement } from '../../src/db/statement.ts'
import type { Tx } from '../../src/db/store.ts'
import type { StoredStatus } from '../../src/db/tables/jobs.ts'
import * as workflows from '../../src/db/workflows.ts'
import { jobRow, listedWorkflows, openStore, putJob, workflowRow } from '../helpers/store.ts'

const OWNERS: OwnerScope[] = [
  { user_id: '1', workspace_id: null },
  { user_id: '1', workspace_id: 'w' },
  { user_id: '2', workspace_id: null },
  { user_id: '2', workspace_id: 'w' },
]

const TERMINAL: StoredStatus[] = ['completed', 'failed', 'error', 'timed_out', 'cancelled']
const LIVING: StoredStatus[] = ['scheduled', 'pending', 'queued', 'running', 'paused', 'recovering', 'cancel_requested']

function putWorkflow(tx: Tx, id: string, more: Parameters<typeof workflowRow>[1] = {}): void {
  const row = workflowRow(id, more)
  saveGraph(tx, row.graph_sha256, '{"nodes":[],"edges":[]}')
  workflows.insertWorkflow(tx, row)
}

/** A stored row without its checksum. */
function withoutChecksum<Row extends object>(row: Row): Omit<Row, 'checksum'> {
  const { checksum, ...rest } = row as Row & { checksum?: number }
  assert.equal(typeof checksum, 'number')
  return rest
}

const event = (sequence: number, type = 'node_status') => ({
  job_key: 1,
  sequence,
  type,
  payload: '{}',
  created_at: '2026-01-01T00:00:00.000Z',
})

describe('rows of jobs', () => {
  test('the same id under four owners is four jobs, and each owner finds its own', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => putJob(tx, ...OWNERS.map((owner, at) => jobRow(at + 1, { ...owner, id: 'mine' }))))
    const keys = OWNERS.map((owner) => store.read((tx) => findOwnedJob(tx, owner, 'mine'))?.key)
    assert.deepEqual(keys, [1, 2, 3, 4])
    assert.equal(
      store.read((tx) => findOwnedJob(tx, { user_id: '3', workspace_id: null }, 'mine')),
      undefined,
    )
    for (const [at, owner] of OWNERS.entries()) {
      const found = store.read((tx) => listActiveJobKeys(tx, owner))
      assert.deepEqual(found, [at + 1])
    }
  })

  test('one owner has one job of an id', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => putJob(tx, jobRow(1, { id: 'mine' })))
    await assert.rejects(
      store.write((tx) => putJob(tx, jobRow(2, { id: 'mine' }))),
      /UNIQUE/,
    )
  })

  test('unfinished jobs are those that are not terminal, the oldest first', async () => {
    await using opened = await openStore()
    const { store } = opened
    const all = [...TERMINAL, ...LIVING]
    await store.write((tx) => putJob(tx, ...all.map((status, at) => jobRow(at + 1, { status }))))
    const expected = LIVING.map((status) => all.indexOf(status) + 1).sort((a, b) => a - b)
    assert.deepEqual(
      store.read(listRecoverableJobKeys),
      expected.filter((key) => all[key - 1] !== 'paused'),
    )
    const scope = { user_id: '1', workspace_id: null }
    assert.deepEqual(
      store.read((tx) => listActiveJobKeys(tx, scope)),
      expected,
    )
  })

  for (const status of TERMINAL) {
    test(`a job that is ${status} never changes`, async () => {
      await using opened = await openStore()
      const { store } = opened
      const row = jobRow(1, { status })
      await store.write((tx) => putJob(tx, row))
      await assert.rejects(
        store.write((tx) => updateJob(tx, { ...row, status: 'running' })),
        /a terminal job never changes/,
      )
      assert.equal(store.read((tx) => findOwnedJob(tx, row, row.id))?.status, status)
    })
  }

  test('a write of another attempt changes nothing and says so', async () => {
    await using opened = await openStore()
    const { store } = opened
    const row = jobRow(1, { status: 'running', attempt: 2 })
    await store.write((tx) => putJob(tx, row))
    assert.equal(await store.write((tx) => updateJob(tx, { ...row, attempt: 1, status: 'failed' })), false)
    assert.equal(store.read((tx) => findOwnedJob(tx, row, row.id))?.status, 'running')
    assert.equal(await store.write((tx) => updateJob(tx, { ...row, status: 'failed' })), true)
  })
})

describe('rows of events', () => {
  test('are listed in order, after the given sequence, up to the limit', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => {
      putJob(tx, jobRow(1))
      putJob(tx, jobRow(2))
      for (const sequence of [3, 1, 2, 5, 4])
        insertJobEvent(tx, event(sequence, sequence === 4 ? 'output_update' : 'x'))
      insertJobEvent(tx, { ...event(1), job_key: 2 })
    })
    const sequences = (after: number, limit: number) =>
      store.read((tx) => listJobEventsAfter(tx, 1, after, limit)).map((row) => row.sequence)
    assert.deepEqual(sequences(0, 10), [1, 2, 3, 4, 5])
    assert.deepEqual(sequences(2, 2), [3, 4])
    assert.deepEqual(sequences(5, 10), [])
    assert.deepEqual(
      store.read((tx) => listJobEventsOfType(tx, 1, 'output_update', 0)).map((row) => row.sequence),
      [4],
    )
    assert.deepEqual(
      store.read((tx) => listJobEventsOfType(tx, 1, 'output_update', 4)),
      [],
    )
  })

  test('are written at once in any number, each at its position', async () => {
    await using opened = await openStore()
    const { store } = opened
    const rows = Array.from({ length: 100 }, (_, at) => ({ ...event(at + 1, `type ${at}`), payload: `{"at":${at}}` }))
    for (let count = 0; count <= 20; count++) {
      const of = rows.slice(0, count).map((row) => ({ ...row, job_key: count + 1 }))
      await store.write((tx) => {
        putJob(tx, jobRow(count + 1))
        insertJobEvents(tx, of)
      })
      assert.deepEqual(store.read((tx) => listJobEventsAfter(tx, count + 1, 0, 1_000)).map(withoutChecksum), of)
    }
  })

  test('never change, and no sequence is used twice', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => {
      putJob(tx, jobRow(1))
      insertJobEvent(tx, event(1))
    })
    const change = statement()((db) => db.updateTable('job_event').set({ payload: '{"type":"other"}' }))
    await assert.rejects(
      store.write((tx) => tx.run(change, {})),
      /an event never changes/,
    )
    await assert.rejects(
      store.write((tx) => insertJobEvent(tx, event(1))),
      /UNIQUE/,
    )
  })
})

describe('rows of workflows', () => {
  test('another owner’s are neither read nor listed; public ones are read by their access', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => {
      for (const [at, owner] of OWNERS.entries()) putWorkflow(tx, `wf_${at}`, owner)
      putWorkflow(tx, 'open', { user_id: '9', access: 'public' })
    })
    for (const [at, owner] of OWNERS.entries()) {
      const read = OWNERS.map(
        (_, other) => store.read((tx) => workflows.findOwnedWorkflow(tx, owner, `wf_${other}`))?.id,
      )
      assert.deepEqual(
        read,
        OWNERS.map((_, other) => (other === at ? `wf_${at}` : undefined)),
      )
      const listed = store.read((tx) => listedWorkflows(tx, { scope: owner }))
      assert.deepEqual(
        listed.map((row) => row.id),
        [`wf_${at}`],
      )
    }
    assert.equal(
      store.read((tx) => workflows.findPublicWorkflow(tx, 'wf_0')),
      undefined,
    )
    assert.equal(store.read((tx) => workflows.findPublicWorkflow(tx, 'open'))?.id, 'open')
    const listed = store.read((tx) => listedWorkflows(tx, { scope: null }))
    assert.deepEqual(
      listed.map((row) => row.id),
      ['open'],
    )
  })

  test('a change needs the revision that it expects', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => putWorkflow(tx, 'a'))
    const after = workflowRow('a', { name: 'b', revision: 2 })
    assert.equal(await store.write((tx) => workflows.updateWorkflow(tx, after, 1)), true)
    assert.equal(await store.write((tx) => workflows.updateWorkflow(tx, after, 1)), false)
  })

  test('text is found as it is written: % and _ and \\ stand for themselves', async () => {
    await using opened = await openStore()
    const { store } = opened
    const names = ['50% off', '500 off', 'a_b', 'axb', 'c\\d']
    await store.write((tx) => {
      for (const [at, name] of names.entries()) putWorkflow(tx, `wf_${at}`, { name })
    })
    const found = (q: string) =>
      store.read((tx) => listedWorkflows(tx, { scope: { user_id: '1', workspace_id: null }, q })).map((row) => row.name)
    assert.deepEqual(found('50%'), ['50% off'])
    assert.deepEqual(found('a_b'), ['a_b'])
    assert.deepEqual(found('c\\d'), ['c\\d'])
    assert.deepEqual(found('OFF').sort(), ['50% off', '500 off'])
  })

  test('pages by cursor show every row once, also those that changed at the same time', async () => {
    await using opened = await openStore()
    const { store } = opened
    const ids = Array.from({ length: 23 }, (_, at) => `wf_${String(at).padStart(2, '0')}`)
    await store.write((tx) => {
      for (const [at, id] of ids.entries()) {
        putWorkflow(tx, id, { updated_at: `2026-01-0${1 + (at % 3)}T00:00:00.000Z` })
      }
    })
    const seen: string[] = []
    let after: workflows.WorkflowCursor | null = null
    for (;;) {
      const page: ReturnType<typeof listedWorkflows> = store.read((tx) =>
        listedWorkflows(tx, { scope: { user_id: '1', workspace_id: null }, after, limit: 5 }),
      )
      seen.push(...page.map((row) => row.id))
      after = page.at(-1) ?? null
      if (page.length < 5) break
    }
    assert.equal(seen.length, ids.length)
    assert.deepEqual([...seen].sort(), ids)
  })

  test('deleting one takes its versions and its share along', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => {
      putWorkflow(tx, 'a')
      const { name, description, graph_sha256, etag, created_at } = workflowRow('a')
      const version = { workflow_id: 'a', revision: 1, name, description, graph_sha256, etag, created_at }
      workflows.insertWorkflowVersion(tx, version)
      workflows.insertWorkflowShare(tx, { token: 't', workflow_id: 'a', created_at })
    })
    assert.equal(store.read((tx) => workflows.findSharedWorkflow(tx, 't'))?.id, 'a')
    await store.write((tx) => workflows.deleteWorkflow(tx, workflowRow('a'), () => true))
    assert.equal(
      store.read((tx) => workflows.findSharedWorkflow(tx, 't')),
      undefined,
    )
    assert.deepEqual(
      store.read((tx) => workflows.listWorkflowVersions(tx, 'a', 99, 99)),
      [],
    )
  })
})

describe('rows of graphs', () => {
  test('a graph is kept once, for as long as anything names it', async () => {
    await using opened = await openStore()
    const { store } = opened
    await store.write((tx) => {
      putWorkflow(tx, 'a')
      putJob(tx, jobRow(1, { graph_sha256: 'other' }))
      saveGraph(tx, 'g', 'not this text')
      deleteUnusedGraph(tx, 'g')
      deleteUnusedGraph(tx, 'other')
    })
    const bodies = () => store.read((tx) => [readGraphText(tx, 'g'), readGraphText(tx, 'other')])
    assert.deepEqual(bodies(), Array(2).fill('{"nodes":[],"edges":[]}'))
    await store.write((tx) => {
      workflows.deleteWorkflow(tx, workflowRow('a'), () => true)
      deleteUnusedGraph(tx, 'g')
    })
    assert.deepEqual(bodies(), [undefined, '{"nodes":[],"edges":[]}'])
  })
})
