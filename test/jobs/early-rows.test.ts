// Where a value has many files, their rows are written in parts before the value is published.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import type { ResultManifest } from '../../generated/types.ts'
import type { AssetStore } from '../../src/assets/asset-store.ts'
import type { TemporaryStore } from '../../src/assets/temporary/store.ts'
import type { JobTable } from '../../src/db/tables/jobs.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { createOutputPublisher } from '../../src/jobs/outputs/publisher.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { graph, mapType, node, sink, source } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { atRealSize } from '../helpers/scale.ts'
import { type TestServer, temporaryFolder } from '../helpers/server.ts'
import { ended, OWNER, startGated, submit } from './kit.ts'

const FILES = 450
/** The most rows of assets in one transaction. */
const AT_ONCE = 100

/** A node whose files differ each time it fires, so that the test sees which firing they are from. */
const files: NodeType = {
  ...mapType('test.Files', () =>
    Array.from({ length: FILES }, (_, at) => Buffer.from(`file ${at} of ${crypto.randomUUID()}`)),
  ),
  effect: true,
}
const giving = graph(
  [source('in', 'x'), node('files', 'test.Files'), sink('out')],
  ['in.output->files.value', 'files.output->out.value'],
)

/** Counts the rows of assets in each transaction of a server from now on. `first` is called after the first transaction with such rows. */
function counted(
  {
    context: {
      assets: { store: assets },
    },
  }: TestServer,
  first = () => {},
): number[] {
  const counts: number[] = []
  const insert = assets.insert.bind(assets)
  let count = 0
  assets.insert = (...row) => {
    // The rows of a transaction are written in one turn.
    if (count++ === 0)
      queueMicrotask(() => {
        if (counts.push(count) === 1) first()
        count = 0
      })
    insert(...row)
  }
  return counts
}

async function assetsOf(server: TestServer, job_id: string): Promise<number> {
  const { body } = await call<{ assets: unknown[] }>(server, 'GET', `/api/assets?job_id=${job_id}&page_size=500`)
  return body.assets.length
}

test('a value with too many files, or with too many assets, is refused', () => {
  const prepare = () => ({ reference: { content_type: 'text/plain' } })
  const findById = () => ({ storage_key: 'k' })
  const { store } = createOutputPublisher(new Redactor([]), {
    assets: { prepare, findById } as unknown as AssetStore,
    temporary: {} as TemporaryStore,
  })
  const place = { row: { options: '{}' } as JobTable, node_id: 'n', output_name: 'out', ordinal: 0 }
  for (const file of [Buffer.of(1), { asset_id: 'a', uri: '/api/storage/k' }]) {
    assert.equal(store(Array(10_000).fill(file), place).found.length, 10_000)
    assert.throws(() => store(Array(10_001).fill(file), place), {
      type: 'too_large',
      message: 'A value has too many files.',
    })
  }
})

test('the rows of many files are written in parts, and each file is listed', async () => {
  await using server = await startGated({ types: [files] })
  const counts = counted(server)
  const job = submit(server, { graph: giving })
  await job.settled()
  assert.equal(job.row.status, 'completed', String(job.row.error))
  assert.ok(Math.max(...counts) <= AT_ONCE, String(counts))
  assert.equal((JSON.parse(job.row.result!) as ResultManifest).assets.length, FILES)
  assert.equal(await assetsOf(server, job.row.id), FILES)
})

test('a value that could not be published after its rows were written has the same rows when the job continues', {
  skip: atRealSize,
}, async () => {
  const data_dir = temporaryFolder()
  try {
    let id: string
    {
      await using server = await startGated({ types: [files], data_dir })
      const db = new Database(join(data_dir, 'svc.db'))
      db.exec(`create trigger broken before insert on job_event when new.type = 'output_update'
        begin select raise(abort, 'the disk is gone'); end`)
      const job = submit(server, { graph: giving })
      await job.settled().catch(() => {})
      id = job.row.id
      assert.equal(await assetsOf(server, id), 4 * AT_ONCE)
      db.exec('drop trigger broken')
      db.close()
    }
    await using server = await startGated({ types: [files], data_dir })
    const row = await ended(server, id)
    assert.equal(row.status, 'completed', String(row.error))
    assert.equal(await assetsOf(server, id), FILES)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})

test('a job that is cancelled while rows are written in parts ends, and writes no more rows', async () => {
  await using server = await startGated({ types: [files] })
  const counts = counted(server, () => void server.context.runs.jobs.cancel(OWNER, job.row.id))
  const job = submit(server, { graph: giving })
  await job.settled()
  assert.equal(job.row.status, 'cancelled')
  assert.ok(counts.length < FILES / AT_ONCE, String(counts))
})
