// The limit of stored events per job: older events are removed while the job is active, and readers are told so. A run that continues after an
// interruption does not repeat removed events.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { countOutputValues, hasMoreEventsThan, listJobEventsAfter } from '../../src/db/jobs/events.ts'
import { countTrimmedOutputValues, listTrimmedNodeStatuses, trimJobEvents } from '../../src/db/jobs/history-trimming.ts'
import { findFirstEventSequence } from '../../src/db/jobs/removal.ts'
import { findJobByKey } from '../../src/db/jobs/rows.ts'
import type { Tx } from '../../src/db/store.ts'
import type { JobTable } from '../../src/db/tables/jobs.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'
import { putEvents } from '../http/jobs-kit.ts'
import { ended, type GatedServer, outputs, startGated, submit } from './kit.ts'

const KEPT = 20
const ITEMS = Array.from({ length: 90 }, (_, at) => at)

/** Many values of one output, and a gate that keeps the job running. */
const many = graph(
  [
    source('xs', ITEMS),
    node('each', 'control.ForEach'),
    sink('items'),
    source('in', 1),
    node('gate', 'test.Gate'),
    sink('out'),
  ],
  ['xs.output->each.list', 'each.item->items.value', 'in.output->gate.value', 'gate.output->out.value'],
)

/** The job when all its items are in its history, and the gate holds it. */
async function held(server: TestServer, key: number): Promise<JobTable> {
  return until('the items', () => {
    const row = server.context.store.read((tx) => findJobByKey(tx, key))
    return row && row.last_sequence > ITEMS.length && row
  })
}

async function opened({ gate }: GatedServer): Promise<void> {
  const waiting = await until('the gate', () => gate.waiting[0])
  waiting.open()
}

/** The numbers of output values that are in the history, and that were removed from it. */
function counted({ context: { store } }: TestServer, key: number): number {
  const all = store.read((tx) => [...countOutputValues(tx, key), ...countTrimmedOutputValues(tx, key)])
  return all.filter(({ output_name }) => output_name === 'items').reduce((sum, { count }) => sum + count, 0)
}

describe('a history that grows beyond its limit', () => {
  test('keeps exactly its last events; older events are expired for readers, and the rest is complete', async () => {
    await using server = await startGated({ max_job_events: KEPT })
    const job = submit(server, { graph: many })
    await opened(server)
    const { id, key, last_sequence, result } = await ended(server, job.row.id)
    const { store } = server.context
    assert.equal(
      store.read((tx) => findFirstEventSequence(tx, key)),
      last_sequence - KEPT + 1,
    )
    assert.equal(counted(server, key), ITEMS.length)
    assert.deepEqual(outputs({ result }), { items: ITEMS, out: 1 })
    const read = (after: number) =>
      call<{ sequence: number }[]>(server, 'GET', `/api/jobs/${id}/events?after_sequence=${after}`, {
        headers: { Accept: 'application/json' },
      })
    const whole = await read(last_sequence - KEPT)
    assert.deepEqual(
      whole.body.map(({ sequence }) => sequence),
      Array.from({ length: KEPT }, (_, at) => last_sequence - KEPT + 1 + at),
    )
    const { status, body } = await read(last_sequence - KEPT - 1)
    assert.deepEqual([status, (body as unknown as { error: { type: string } }).error.type], [410, 'replay_expired'])
    assert.deepEqual(await checkDatabase(join(server.data_dir, 'svc.db')), [])
    await call(server, 'DELETE', `/api/jobs/${id}`)
    assert.deepEqual(
      store.read((tx) => [listTrimmedNodeStatuses(tx, key), countTrimmedOutputValues(tx, key)]),
      [[], []],
    )
  })

  test('has no repeated events of a run that continues after an interruption', async () => {
    const data_dir = temporaryFolder()
    try {
      const first = await startGated({ max_job_events: KEPT, data_dir })
      const { row } = submit(first, { graph: many })
      const before = await held(first, row.key)
      await first.close(0)
      await using second = await startGated({ max_job_events: KEPT, data_dir })
      await opened(second)
      const after = await ended(second, row.id)
      assert.equal(counted(second, row.key), ITEMS.length)
      // The events are: recovering, queued or running again, those of the gate and of the last output, and the end.
      assert.ok(after.last_sequence - before.last_sequence < 12, `${before.last_sequence} … ${after.last_sequence}`)
      assert.deepEqual(outputs(after), { items: ITEMS, out: 1 })
      const told = second.context.store.read((tx) => listTrimmedNodeStatuses(tx, row.key))
      assert.ok(told.some(({ node_id, status }) => node_id === 'xs' && status === 'completed'))
      assert.deepEqual(await checkDatabase(join(data_dir, 'svc.db')), [])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('gives a returning socket no output with a removed beginning; the terminal event has it whole', async () => {
    await using server = await startGated({ max_job_events: KEPT })
    await using client = await connect(server)
    const { row } = submit(server, { graph: many })
    await held(server, row.key)
    client.command('reconnect_job', { job_id: row.id })
    await client.settledFor(row.id)
    assert.deepEqual(
      client.of(row.id).filter(({ type }) => type === 'output_update'),
      [],
    )
    await opened(server)
    const end = (await client.collect(row.id)).at(-1)
    assert.deepEqual(end?.result, { outputs: { items: ITEMS, out: [1] } })
  })

  test('of an earlier version is trimmed little by little, and never grows', async () => {
    await using test = await openStore()
    const { store } = test
    await store.write((tx) => {
      putJob(tx, jobRow(1, { status: 'running', last_sequence: 3_000 }))
      putEvents(tx, 1, 3_000)
    })
    const first = () => store.read((tx) => findFirstEventSequence(tx, 1))
    await store.write((tx) => trimJobEvents(tx, 1, 2_991, { events: 5, bytes: 0 }, () => false))
    assert.equal(first(), 513)
    await store.write((tx) => trimJobEvents(tx, 1, 2_991, { events: 5, bytes: 0 }, () => true))
    assert.equal(first(), 2_991)
    assert.equal(store.read((tx) => listJobEventsAfter(tx, 1, 0, 100)).length, 10)
    assert.deepEqual(
      store.read((tx) => countTrimmedOutputValues(tx, 1)),
      [{ output_name: 'out', count: 2_989 }],
    )
  })

  test('is trimmed by bytes where its first events are large: as many as are added, a megabyte at least', async () => {
    await using test = await openStore()
    const { store } = test
    await store.write((tx) => {
      putJob(tx, jobRow(1, { status: 'running', last_sequence: 41 }))
      putEvents(tx, 1, 41, 0, 300_000)
    })
    const first = () => store.read((tx) => findFirstEventSequence(tx, 1))
    const trim = (bytes: number) => store.write((tx) => trimJobEvents(tx, 1, 42, { events: 40, bytes }, () => false))
    await trim(2_000)
    assert.equal(first(), 6)
    await trim(3_000_000)
    assert.equal(first(), 16)
    while (first() !== null) await trim(0)
    assert.deepEqual(
      store.read((tx) => countTrimmedOutputValues(tx, 1)),
      [{ output_name: 'out', count: 40 }],
    )
  })

  test('counts as long by its first events where they are large, without reading the others', async () => {
    await using test = await openStore()
    const { store } = test
    await store.write((tx) => {
      putJob(tx, jobRow(1, { status: 'running', last_sequence: 41 }))
      putEvents(tx, 1, 41, 0, 300_000)
    })
    const looked = (most: number, most_bytes: number) =>
      store.read((tx) => {
        let rows = 0
        const upTo: Tx['upTo'] = (statement, params, isEnough) =>
          tx.upTo(statement, params, (row) => {
            rows++
            return isEnough(row)
          })
        return [hasMoreEventsThan({ ...tx, upTo }, 1, most, most_bytes), rows]
      })
    assert.deepEqual(looked(1_000, 1_000_000), [true, 5])
    assert.deepEqual(looked(10, 10_000_000), [true, 11])
    assert.deepEqual(looked(41, 20_000_000), [false, 41])
  })
})
