// Jobs on a full disk: they are not touched in vain, each is logged once, and all continue when there is space.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { writeMetaValue } from '../../src/db/database-metadata.ts'
import type { Store } from '../../src/db/store.ts'
import { type Platform, systemPlatform } from '../../src/platform.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { until } from '../helpers/server.ts'
import { type GatedServer, gated, OWNER, startGated, submit } from './kit.ts'

const JOBS = 20
const DISK_BYTES = 16 << 20
const HOUR_MS = 3_600_000
/** A value of this size stays in each journal. */
const LARGE = 'x'.repeat(50_000)

/** Milliseconds for which the disk stays full: some rounds of the recovery and of the resumer. */
const FULL_MS = 4_500

const delayed = graph(
  [source('in', LARGE), node('wait', 'control.Delay', { seconds: HOUR_MS / 1_000 }), sink('out')],
  ['in.output->wait.value', 'wait.output->out.value'],
)

/** Fills the write-ahead log. A reader keeps the log from being reset, so that every commit needs space. */
async function fullDisk(server: GatedServer): Promise<Disposable> {
  const reader = new Database(join(server.data_dir, 'svc.db'), { readonly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from job').get()
  const filled = fill(server.data_dir)
  const { store } = server.context
  for (const bytes of [50_000, 1]) while (await writes(store, bytes));
  return {
    [Symbol.dispose]() {
      reader.close()
      filled[Symbol.dispose]()
    },
  }
}

function writes(store: Store, bytes: number): Promise<boolean> {
  const written = store.write((tx) => writeMetaValue(tx, 'filler', 'x'.repeat(bytes)))
  return written.then(
    () => true,
    () => false,
  )
}

async function passed(ms: number): Promise<void> {
  const end = performance.now() + ms
  await until('some time to pass', () => performance.now() > end)
}

/** The number of jobs with a logged failure, each logged once. */
function told(lines: readonly string[]): number {
  const parsed = lines.map((line) => JSON.parse(line) as { msg: string; job_id?: string })
  const failed = parsed
    .filter(({ msg, job_id }) => job_id !== undefined && /could not/.test(msg))
    .map((line) => line.job_id)
  assert.equal(new Set(failed).size, failed.length, lines.join(''))
  return failed.length
}

function active(server: GatedServer): number {
  return runToCompletion(server.context.runs.jobs.listActive(OWNER)).length
}

describe('jobs on a full disk', { skip: cannotMount }, () => {
  test('that are due are not touched until the disk can be written', async () => {
    using disk = smallDisk(DISK_BYTES)
    let ahead_ms = 0
    const now = () => Date.now() + ahead_ms
    const elapsed = () => performance.now() + ahead_ms
    const platform: Platform = { ...systemPlatform(), now, elapsed, timestamp: () => new Date(now()).toISOString() }
    {
      await using server = await startGated({ data_dir: disk.path, platform })
      for (let at = 0; at < JOBS; at++) await submit(server, { graph: delayed }).settled()
    }
    ahead_ms = HOUR_MS - 3_000
    const { log, lines } = keptLog()
    await using server = await startGated({ data_dir: disk.path, platform, log })
    const { store } = server.context
    {
      using _full = await fullDisk(server)
      await passed(3_000)
      const before = store.statements
      await passed(FULL_MS)
      assert.equal(store.fault, 'full')
      assert.ok(store.statements - before < 20, `${store.statements - before} statements`)
      assert.equal(active(server), JOBS)
      told(lines)
    }
    await until('all to end', () => active(server) === 0)
  })

  test('that were running stop, and are not started again until the disk can be written', async () => {
    using disk = smallDisk(DISK_BYTES)
    const { log, lines } = keptLog()
    await using server = await startGated({ data_dir: disk.path, log })
    const { store } = server.context
    const jobs = Array.from({ length: JOBS }, () => submit(server, { graph: gated }))
    await until('the firings', () => server.gate.waiting.length === JOBS)
    await Promise.all(jobs.map((job) => job.flushed()))
    {
      using _full = await fullDisk(server)
      for (const entry of [...server.gate.waiting]) entry.open(LARGE)
      await until('all to stop', () => told(lines) === JOBS)
      const [before, { started }] = [store.statements, server.gate]
      await passed(FULL_MS)
      assert.ok(store.statements - before < 20, `${store.statements - before} statements`)
      assert.equal(server.gate.started, started)
      assert.equal(told(lines), JOBS)
    }
    await until('all to run again', () => server.gate.waiting.length === JOBS)
    for (const entry of [...server.gate.waiting]) entry.open()
    await until('all to end', () => active(server) === 0)
  })
})
