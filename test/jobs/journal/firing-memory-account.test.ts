// The memory of journaled firings: it counts with the memory of runs. A job for which there is no room waits, and none is lost.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type FiringMemoryAccount,
  FiringMemoryReservation,
  JournalTooLargeError,
} from '../../../src/jobs/journal/firing-memory-account.ts'
import { FairMemoryAccount, MemoryUnavailableError } from '../../../src/payloads/fair-memory-account.ts'
import { graph, node, sink } from '../../engine/kit.ts'
import { inFolder } from '../../helpers/folder.ts'
import { until } from '../../helpers/server.ts'
import { coded, ended, type GatedServer, gated, OWNER, outputs, startGated, submit } from '../kit.ts'

const MIB = 1_048_576

/** The bytes that an owner holds of an account with this limit. */
class Account implements FiringMemoryAccount {
  readonly largest: number
  held = 0
  most = 0

  constructor(largest: number) {
    this.largest = largest
  }

  change(_: string, bytes: number): boolean {
    if (bytes > 0 && this.held + bytes > this.largest) return false
    this.held += bytes
    this.most = Math.max(this.most, this.held)
    return true
  }
}

describe('the memory of firings', () => {
  test('is taken a million bytes at a time, and given back', () => {
    const account = new Account(10 * MIB)
    const memory = new FiringMemoryReservation(account, 'a')
    memory.take(MIB - 1)
    assert.equal(account.held, 0)
    memory.take(2 * MIB)
    assert.equal(account.held, 3 * MIB - 1)
    memory.giveBack(MIB - 1)
    assert.equal(account.held, 3 * MIB - 1)
    memory.giveBack(1)
    assert.equal(account.held, 2 * MIB - 1)
    memory.release()
    assert.equal(account.held, 0)
  })

  test('is reserved before it is used, and the unused rest is given back', () => {
    const account = new Account(10 * MIB)
    const memory = new FiringMemoryReservation(account, 'a')
    memory.reserve(8 * MIB)
    memory.take(3 * MIB)
    assert.throws(() => new FiringMemoryReservation(account, 'b').reserve(3 * MIB), MemoryUnavailableError)
    memory.settle()
    assert.equal(account.held, 3 * MIB)
  })

  test('is refused with one error where there is no room now, and with another where there never will be', () => {
    const account = new Account(10 * MIB)
    const other = new FiringMemoryReservation(account, 'b')
    other.take(4 * MIB)
    const memory = new FiringMemoryReservation(account, 'a')
    memory.take(5 * MIB)
    assert.throws(() => memory.take(2 * MIB), MemoryUnavailableError)
    assert.throws(() => memory.take(4 * MIB), JournalTooLargeError)
    memory.release()
    assert.deepEqual([account.held, memory.peak], [4 * MIB, 11 * MIB])
  })
})

const COUNT = 6_000
/** A job in which the firings of the node `now` alone take about 2 MB. */
const many = graph(
  [
    node('numbers', 'control.Numbers', { from: 1, to: COUNT }),
    node('now', 'date.Now'),
    node('count', 'control.Count'),
    node('gate', 'test.Gate'),
    sink('out'),
  ],
  [
    { source: 'numbers', sourceHandle: 'item', target: 'now', targetHandle: '', edge_type: 'control' },
    'now.output->count.item',
    'count.count->gate.value',
    'gate.output->out.value',
  ],
)

/** The account of runs, and the most bytes that were held at once. */
class Watched extends FairMemoryAccount {
  held = 0
  most = 0

  override change(owner: string, bytes: number): boolean {
    if (!super.change(owner, bytes)) return false
    this.held += bytes
    this.most = Math.max(this.most, this.held)
    return true
  }
}

/** Limits of an account, in bytes, that has room for two such jobs at once, and for one. */
const FOR_TWO = 8 * MIB
const FOR_NONE = 2 * MIB

/** Jobs that wait at the gate, after all firings before it. */
async function atGate(server: GatedServer, count: number): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => submit(server, { graph: many }))
  await until('the gate', () => server.gate.waiting.length === count)
  await Promise.all(jobs.map((job) => job.flushed()))
  return jobs.map(({ row }) => row.id)
}

async function failedAtGate(server: GatedServer): Promise<string> {
  const [id] = (await atGate(server, 1)) as [string]
  server.gate.waiting[0]!.fail(new Error('It fails.'))
  assert.equal((await ended(server, id)).status, 'failed')
  return id
}

describe('jobs with many journaled firings', () => {
  test(
    'continue one after the other after a restart, where there is no room for all of them',
    inFolder(async (data_dir) => {
      let ids: string[]
      {
        await using server = await startGated({ data_dir })
        ids = await atGate(server, 4)
      }
      const shared_memory = new Watched(FOR_TWO)
      await using server = await startGated({ data_dir, shared_memory })
      const ending = Promise.all(ids.map((id) => ended(server, id)))
      for (let left = ids.length; left > 0; left--) (await until('a gate', () => server.gate.waiting[0])).open()
      for (const row of await ending) assert.deepEqual(outputs(row), { out: COUNT })
      assert.ok(shared_memory.most > MIB && shared_memory.most <= FOR_TWO)
      assert.deepEqual([shared_memory.held, server.context.runs.jobs.load], [0, { running: 0, waiting: 0 }])
    }),
  )

  test('are retried where there is room, and otherwise their clients are told to try later', async () => {
    const shared_memory = new Watched(FOR_TWO)
    await using server = await startGated({ shared_memory })
    const id = await failedAtGate(server)
    const retries = await Promise.allSettled(
      Array.from({ length: 20 }, () => server.context.runs.jobs.retry(OWNER, id)),
    )
    const taken = retries.flatMap((one) => (one.status === 'fulfilled' ? [one.value.row.id] : []))
    for (const one of retries) if (one.status === 'rejected') coded('SERVICE_UNAVAILABLE')(one.reason)
    assert.ok(taken.length > 0 && taken.length < 20, `${taken.length} were taken`)
    for (let left = taken.length; left > 0; left--) (await until('a gate', () => server.gate.waiting[0])).open()
    for (const retry of taken) assert.deepEqual(outputs(await ended(server, retry)), { out: COUNT })
    assert.ok(shared_memory.most <= FOR_TWO)
    assert.equal(shared_memory.held, 0)
    await server.context.runs.jobs.cancel(OWNER, (await server.context.runs.jobs.retry(OWNER, id)).row.id)
    await until('nothing to be held', () => shared_memory.held === 0)
  })

  test('wait longer where there is no room when their turn comes, and continue later', async () => {
    const shared_memory = new Watched(FOR_TWO)
    await using server = await startGated({ shared_memory, config: { max_concurrent_jobs: 1 } })
    const id = await failedAtGate(server)
    submit(server, { graph: gated, params: { in: 'first' } })
    const first = await until('the gate', () => server.gate.waiting[0])
    const { row } = await server.context.runs.jobs.retry(OWNER, id)
    assert.equal(row.status, 'queued')
    await until('it to be put away', () => shared_memory.held === 0)
    const all = FOR_TWO * 0.75
    assert.ok(shared_memory.change('another', all))
    first.open()
    await until(
      'its turn to pass',
      () => server.context.runs.jobs.load.waiting + server.context.runs.jobs.load.running === 0,
    )
    const next = submit(server, { graph: gated, params: { in: 'next' } })
    ;(await until('the gate', () => server.gate.waiting[0])).open()
    assert.deepEqual(outputs(await ended(server, next.row.id)), { out: 'next' })
    assert.equal((await server.context.runs.jobs.get(OWNER, row.id)).row.status, 'queued')
    shared_memory.change('another', -all)
    ;(await until('the gate', () => server.gate.waiting[0])).open()
    assert.deepEqual(outputs(await ended(server, row.id)), { out: COUNT })
  })

  test(
    'end where there will never be room, and can be retried where there is more memory',
    inFolder(async (data_dir) => {
      const message = /^The job remembers more than the server has memory for/
      let id: string
      {
        await using server = await startGated({ data_dir })
        ;[id] = (await atGate(server, 1)) as [string]
      }
      {
        const shared_memory = new Watched(FOR_NONE)
        await using server = await startGated({ data_dir, shared_memory })
        const row = await ended(server, id)
        const error = JSON.parse(row.error!) as { message: string; type: string; retryable: boolean }
        assert.match(error.message, message)
        assert.deepEqual([row.status, error.type, error.retryable], ['failed', 'interrupted', true])
        await assert.rejects(server.context.runs.jobs.retry(OWNER, id), { code: 'CONFLICT', message })
        assert.equal(shared_memory.held, 0)
      }
      await using server = await startGated({ data_dir })
      const { row } = await server.context.runs.jobs.retry(OWNER, id)
      ;(await until('the gate', () => server.gate.waiting[0])).open()
      assert.deepEqual(outputs(await ended(server, row.id)), { out: COUNT })
    }),
  )
})
