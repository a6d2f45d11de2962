// Stored delays and limits where the system clock is set: they last as long as they should, and no timestamp goes backwards.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { readMetaValue } from '../../src/db/database-metadata.ts'
import { listJobEventsAfter } from '../../src/db/jobs/events.ts'
import { DEFAULT_JOB_OPTIONS, parseStoredOptions, resolveDeadline } from '../../src/jobs/submission/stored-options.ts'
import { SteadyClock } from '../../src/jobs/waits/steady-clock.ts'
import { systemPlatform } from '../../src/platform.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { jobRow, openStore } from '../helpers/store.ts'
import { type GatedServer, gated, OWNER, startGated, submit } from './kit.ts'

const HOUR = 3_600_000
const MINUTE = 60_000
const START = Date.parse('2026-03-01T12:00:00Z')
const delayed = graph(
  [source('in', 'x'), node('wait', 'control.Delay', { seconds: 3600 }), sink('out')],
  ['in.output->wait.value', 'wait.output->out.value'],
)

const long = graph(
  [source('in', 'x'), node('wait', 'control.Delay', { seconds: 36_000 }), sink('out')],
  ['in.output->wait.value', 'wait.output->out.value'],
)

const gatedTwice = graph(
  [source('in', 'x'), node('one', 'test.Gate'), node('two', 'test.Gate'), sink('out')],
  ['in.output->one.value', 'one.output->two.value', 'two.output->out.value'],
)

/** A platform whose system clock and elapsed time are set by the test. */
function machine() {
  const turned = { wall: START, passed: 0 }
  const platform = {
    ...systemPlatform(),
    now: () => turned.wall,
    timestamp: () => new Date(turned.wall).toISOString(),
    elapsed: () => turned.passed,
  }
  return { turned, platform }
}

const rowOf = async (server: GatedServer, id: string) => (await server.context.runs.jobs.get(OWNER, id)).row
const status = async (server: GatedServer, id: string) => (await rowOf(server, id)).status
const reaches = (server: GatedServer, id: string, wanted: string) =>
  until(`it to be ${wanted}`, async () => (await status(server, id)) === wanted)
const suspended = (server: GatedServer, id: string) => reaches(server, id, 'paused')

/** Makes the service check for due jobs. */
async function look(server: GatedServer): Promise<void> {
  await suspended(server, submit(server, { graph: delayed }).row.id)
}

async function timesOf(server: GatedServer, id: string): Promise<string[]> {
  const row = await rowOf(server, id)
  const events = server.context.store.read((tx) => listJobEventsAfter(tx, row.key, 0, 1_000))
  const { created_at, started_at, finished_at } = row
  assert.ok(created_at <= started_at! && started_at! <= finished_at!, `${created_at} ${started_at} ${finished_at}`)
  return [created_at, ...events.map((event) => event.created_at), finished_at!]
}

async function inOrder(server: GatedServer, id: string): Promise<string[]> {
  const times = await timesOf(server, id)
  assert.deepEqual(times, times.toSorted())
  return times
}

describe('a clock that is set', () => {
  for (const [how, change] of [
    ['back', -2 * HOUR],
    ['forward', 2 * HOUR],
  ] as const)
    test(`${how} makes a delay neither longer nor shorter, also over a restart`, async () => {
      const { turned, platform } = machine()
      const data_dir = temporaryFolder()
      try {
        let ids: string[]
        {
          await using server = await startGated({ data_dir, platform })
          ids = [1, 2].map(() => submit(server, { graph: delayed }).row.id)
          for (const id of ids) await suspended(server, id)
          turned.wall += change
          turned.passed += HOUR / 2
          turned.wall += HOUR / 2
          await look(server)
          assert.equal(await status(server, ids[0]!), 'paused')
        }
        // The monotonic clock of another process has another origin.
        turned.passed = 0
        await using server = await startGated({ data_dir, platform })
        await look(server)
        assert.equal(await status(server, ids[0]!), 'paused')
        turned.passed += HOUR / 2 + 2_000
        await look(server)
        for (const id of ids) await reaches(server, id, 'completed')
        for (const id of ids) await inOrder(server, id)
      } finally {
        rmSync(data_dir, { recursive: true, force: true })
      }
    })

  for (const [how, change] of [
    ['back', -3 * HOUR],
    ['forward, or stands while the machine sleeps,', 3 * HOUR],
  ] as const)
    test(`${how} makes the limit of a job neither longer nor shorter over a restart`, async () => {
      const { turned, platform } = machine()
      const data_dir = temporaryFolder()
      const pass = (ms: number) => {
        turned.passed += ms
        turned.wall += ms
      }
      try {
        let [waits, runs] = ['', '']
        {
          await using server = await startGated({ data_dir, platform })
          waits = submit(server, { graph: long, timeout_seconds: 3600 }).row.id
          await suspended(server, waits)
          runs = submit(server, { graph: gated, timeout_seconds: 3600 }).row.id
          await reaches(server, runs, 'running')
          turned.wall += change
          pass(MINUTE)
          await look(server)
        }
        for (const minutes of [20, 20]) {
          turned.passed = 0
          await using server = await startGated({ data_dir, platform })
          await reaches(server, runs, 'running')
          pass(minutes * MINUTE)
          await look(server)
          assert.deepEqual([await status(server, waits), await status(server, runs)], ['paused', 'running'])
        }
        turned.passed = 0
        await using server = await startGated({ data_dir, platform })
        pass(19 * MINUTE + 2_000)
        await look(server)
        await reaches(server, waits, 'timed_out')
      } finally {
        rmSync(data_dir, { recursive: true, force: true })
      }
    })

  test('is stored whenever the time is read, not only when a job is suspended', async () => {
    const { turned, platform } = machine()
    await using server = await startGated({ platform })
    const { store } = server.context
    const clock = new SteadyClock(store, platform)
    turned.wall += HOUR
    turned.passed += 11_000
    assert.equal(clock.now(), START + 11_000)
    await until(
      'it to be kept',
      () => store.read((tx) => readMetaValue(tx, 'clock_offset_ms')) === String(HOUR - 11_000),
    )
    assert.equal(new SteadyClock(store, platform).now(), START + 11_000)
  })

  for (const [how, change] of [
    ['back', -5 * HOUR],
    ['forward', 5 * HOUR],
  ] as const)
    test(`${how} right before a kill, or while no server runs, changes no delay where the machine was not rebooted`, async () => {
      const { turned, platform } = machine()
      await using opened = await openStore()
      const { store } = opened
      const started = { ...platform, boot: 'a start of the machine' }
      const clock = new SteadyClock(store, started)
      clock.storeOffset()
      await until('it to be kept', () => store.read((tx) => readMetaValue(tx, 'clock_boot')) !== null)
      turned.wall += change
      turned.passed += 2_000
      assert.equal(new SteadyClock(store, started).now(), START + 2_000)
      // The offset is not used after a reboot, nor by a clock that is behind.
      assert.equal(new SteadyClock(store, { ...platform, boot: 'another' }).now(), turned.wall)
      turned.passed = -1
      assert.equal(new SteadyClock(store, started).now(), turned.wall)
    })

  test('back while no server runs gives no event of a job an earlier time than the event before', async () => {
    const { turned, platform } = machine()
    const data_dir = temporaryFolder()
    const pass = () => {
      turned.wall += 1_000
    }
    try {
      let id = ''
      {
        await using server = await startGated({ data_dir, platform })
        const job = submit(server, { graph: gatedTwice })
        id = job.row.id
        await reaches(server, id, 'running')
        pass()
        ;(await until('a gate', () => server.gate.waiting[0])).open()
        await until('the second gate', async () => server.gate.waiting.length === 1 && server.gate.waiting[0])
      }
      turned.wall -= HOUR
      await using server = await startGated({ data_dir, platform })
      ;(await until('a gate', () => server.gate.waiting[0])).open()
      await reaches(server, id, 'completed')
      await inOrder(server, id)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('does not extend the limit of a job of an older version at each check', () => {
    const { turned, platform } = machine()
    const options = JSON.stringify({ timeout_seconds: 3600 })
    const row = () => jobRow(1, { options, started_at: new Date(START).toISOString() })
    const steady = { now: () => START + turned.passed }
    const times = { platform, steady, deadlines: new Map<number, number>() }
    turned.wall -= 3 * HOUR
    assert.equal(resolveDeadline(row(), times), START + HOUR)
    turned.passed += HOUR / 2
    assert.equal(resolveDeadline(row(), times), START + HOUR)
  })

  test('leaves the deadline of a job out of the options that a retry takes over', () => {
    const row = jobRow(1, { options: JSON.stringify({ timeout_seconds: 60, deadline: START }) })
    assert.deepEqual(parseStoredOptions(row), { ...DEFAULT_JOB_OPTIONS, timeout_seconds: 60 })
  })

  test('does not extend the limit of a suspended job', async () => {
    const { turned, platform } = machine()
    await using server = await startGated({ platform })
    const { id } = submit(server, { graph: delayed, timeout_seconds: 60 }).row
    await suspended(server, id)
    turned.wall -= 2 * HOUR
    turned.passed += 61_000
    await look(server)
    await reaches(server, id, 'timed_out')
    await inOrder(server, id)
  })

  test('does not extend the limit of a running job, whose timestamps never go back', async () => {
    const { turned, platform } = machine()
    await using server = await startGated({ platform: { ...platform, elapsed: () => performance.now() } })
    const job = submit(server, { graph: gated, timeout_seconds: 0.3 })
    await job.accepted()
    turned.wall -= 2 * HOUR
    await job.settled()
    assert.equal(await status(server, job.row.id), 'timed_out')
    const times = await inOrder(server, job.row.id)
    assert.equal(times.at(-1), new Date(START).toISOString())
  })
})
