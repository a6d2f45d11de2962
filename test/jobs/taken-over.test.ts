// A retry that reuses many entries: they are written in parts, and the new job is stored with all of them or not at all.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { writeMetaValue } from '../../src/db/database-metadata.ts'
import type { Store } from '../../src/db/store.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { ServiceError } from '../../src/errors.ts'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { graph, item, node, output, sink, source, testType, value } from '../engine/kit.ts'
import { FolderCopies, inFolder } from '../helpers/folder.ts'
import { PATIENCE_MS } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import { coded, ended, type GatedServer, OWNER, outputs, startGated, submit } from './kit.ts'

const COUNT = 100
const DISK_BYTES = 192 << 20
/** Values that are too short for files of their own, and together are more than one commit writes. */
const texts = Array.from({ length: COUNT }, (_, at) => `${at} ${'x'.repeat(200_000)}`)

function* items() {
  for (const text of texts) yield { item: text }
}

/** `work` must not run twice, and `end` fails or hangs as long as `cut` says so. */
class World {
  cut: 'fails' | 'hangs' | null = 'fails'
  runs = 0

  get types(): NodeType[] {
    const work = async (text: unknown) => {
      this.runs++
      await pause(1)
      return { output: text }
    }
    const end = async (signal: AbortSignal) => {
      if (this.cut === 'fails') throw new NodeError('It fails.')
      if (this.cut === 'hangs') await pause(PATIENCE_MS, null, { signal })
      return { output: 'done' }
    }
    const of = { properties: [value], outputs: [output], retry_safe: false }
    return [
      testType('test.Texts', { properties: [value], outputs: [item], run: () => items() }),
      testType('test.Work', { ...of, run: ({ value: text }) => work(text) }),
      testType('test.End', { ...of, retry_safe: true, run: (_, { signal }) => end(signal) }),
    ]
  }
}

const GRAPH = graph(
  [
    source('in', 'x'),
    node('texts', 'test.Texts'),
    node('work', 'test.Work'),
    node('count', 'control.Count'),
    node('end', 'test.End'),
    sink('out'),
  ],
  [
    'in.output->texts.value',
    'texts.item->work.value',
    'work.output->count.item',
    'count.count->end.value',
    'end.output->out.value',
  ],
)

async function failed(server: GatedServer): Promise<string> {
  const job = submit(server, { graph: GRAPH })
  await job.settled()
  assert.equal((JSON.parse(job.row.error!) as { message: string }).message, 'It fails.')
  return job.row.id
}

interface Rows {
  readonly job: number
  readonly job_journal: number
  readonly job_doomed: number
}

/** Counts rows: of all jobs, and of the retry, whose key is the next one, its pages and its removal mark. */
function rowsOf(data_dir: string): Rows {
  using reader = opened(data_dir)
  const count = (sql: string) => reader.db.prepare(sql).pluck().get() as number
  return {
    job: count('select count(*) from job'),
    job_journal: count('select count(*) from job_journal where job_key = 2'),
    job_doomed: count('select count(*) from job_doomed where job_key = 2'),
  }
}

function opened(data_dir: string): Disposable & { readonly db: Database.Database } {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  return { db, [Symbol.dispose]: () => void db.close() }
}

function takes({ context }: GatedServer, text: string): Promise<boolean> {
  const written = context.store.write((tx) => writeMetaValue(tx, 'filler', text))
  return written.then(
    () => true,
    () => false,
  )
}

/** Retries the job, and calls `during` between the first and the second part of the reused entries. */
async function retried(server: GatedServer, job_id: string, during: () => Promise<void> | void): Promise<string> {
  const { store } = server.context
  const { jobs } = server.context.runs
  const write: Store['write'] = store.write.bind(store)
  let left = 2
  store.write = async (unit) => {
    if (--left === 0) {
      store.write = write
      assert.deepEqual({ ...rowsOf(server.data_dir), job_journal: 0 }, { job: 1, job_journal: 0, job_doomed: 1 })
      await during()
    }
    return write(unit)
  }
  try {
    const { row } = await jobs.retry(OWNER, job_id)
    return row.id
  } finally {
    store.write = write
    assert.ok(left <= 0, 'the whole was written at once')
  }
}

/** Calls `work` while other writes are so many that each write waits for several transactions. */
async function behindOthers<T>({ context: { store } }: GatedServer, work: () => Promise<T>): Promise<T> {
  let over = false
  const write = async () => {
    while (!over) await store.write(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10))
  }
  const others = Array.from({ length: 80 }, write)
  try {
    return await work()
  } finally {
    over = true
    await Promise.all(others)
  }
}

describe('a retry that reuses more than one transaction writes', () => {
  test(
    'runs no firing again, and pages that a kill leaves before the job is stored are removed',
    inFolder(async (data_dir) => {
      using copies = new FolderCopies(data_dir)
      const world = new World()
      let old = ''
      {
        await using server = await startGated({ data_dir, types: world.types })
        old = await failed(server)
        world.cut = null
        const fresh = await retried(server, old, async () => {
          copies.take()
          await server.context.runs.retention.sweep()
        })
        assert.deepEqual(outputs(await ended(server, fresh)), { out: 'done' })
        assert.equal(world.runs, COUNT)
      }
      const [copy] = copies.paths as [string]
      await using next = await startGated({ data_dir: copy, types: world.types })
      await next.context.runs.retention.sweep()
      assert.deepEqual(rowsOf(copy), { job: 1, job_journal: 0, job_doomed: 0 })
      const { row } = await next.context.runs.jobs.retry(OWNER, old)
      assert.deepEqual(outputs(await ended(next, row.id)), { out: 'done' })
      assert.equal(world.runs, COUNT)
    }),
  )

  test(
    'is complete where a kill comes as soon as it is stored',
    inFolder(async (data_dir) => {
      using copies = new FolderCopies(data_dir)
      const world = new World()
      let fresh = ''
      {
        await using server = await startGated({ data_dir, types: world.types })
        const old = await failed(server)
        world.cut = 'hangs'
        fresh = await retried(server, old, () => {})
        copies.take()
      }
      world.cut = null
      const [copy] = copies.paths as [string]
      await using next = await startGated({ data_dir: copy, types: world.types })
      await next.context.runs.retention.sweep()
      assert.deepEqual(outputs(await ended(next, fresh)), { out: 'done' })
      assert.equal(world.runs, COUNT)
    }),
  )

  test('leaves no pages where it completes before it is stored', async () => {
    const world = new World()
    await using server = await startGated({ types: world.types })
    const old = await failed(server)
    world.cut = null
    const fresh = await behindOthers(server, () => server.context.runs.jobs.retry(OWNER, old))
    assert.equal(fresh.row.status, 'completed')
    await server.context.runs.retention.sweep()
    assert.deepEqual(rowsOf(server.data_dir), { job: 2, job_journal: 0, job_doomed: 0 })
    assert.equal(world.runs, COUNT)
  })

  test('stores nothing where the disk is full, and can be repeated', { skip: cannotMount }, async () => {
    using disk = smallDisk(DISK_BYTES)
    const world = new World()
    await using server = await startGated({ data_dir: disk.path, types: world.types })
    const old = await failed(server)
    world.cut = null
    {
      // This reader keeps the write-ahead log from being reset, so that every commit needs space.
      using reader = opened(server.data_dir)
      reader.db.exec('begin')
      reader.db.prepare('select count(*) from job').get()
      let filled: Disposable | null = null
      const refused = retried(server, old, async () => {
        filled = fill(server.data_dir)
        // The log may have free space of its own.
        while (await takes(server, 'x'.repeat(50_000)));
      })
      await assert.rejects(refused, (error: ServiceError) => coded('SERVICE_UNAVAILABLE')(error))
      filled![Symbol.dispose]()
    }
    const { retention } = server.context.runs
    await until('the disk to take something', () => takes(server, 'x'))
    await retention.sweep()
    assert.deepEqual(rowsOf(server.data_dir), { job: 1, job_journal: 0, job_doomed: 0 })
    const { row } = await server.context.runs.jobs.retry(OWNER, old)
    assert.deepEqual(outputs(await ended(server, row.id)), { out: 'done' })
    assert.equal(world.runs, COUNT)
  })
})
