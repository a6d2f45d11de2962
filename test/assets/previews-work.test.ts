// Tests in which order and how often previews are generated, and what is left when the work is aborted.
import assert from 'node:assert/strict'
import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { formatOwnMetadata, readFindings, readMetadata, replaceOwnMetadata } from '../../src/assets/metadata.ts'
import {
  findNextUnpreviewed,
  findPreviewOfSameContent,
  listUnpreviewedAssets,
  listUsersWithUnpreviewed,
  savePreview,
} from '../../src/db/assets/previews.ts'
import { deleteAsset, insertAsset } from '../../src/db/assets/rows.ts'
import { userShareKey } from '../../src/db/owner-scope.ts'
import type { Tx } from '../../src/db/store.ts'
import type { MediaTask } from '../../src/engine/node-api/services/media.ts'
import { createMediaPool } from '../../src/media/worker-pool.ts'
import { refreshChecksums } from '../helpers/checksums.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { PATIENCE_MS } from '../helpers/patience.ts'
import { startServer, temporaryFolder, until } from '../helpers/server.ts'
import { ADA, about, BOB, bytesOf, HOUR, type Kit, openKit } from './kit.ts'
import { Gate, kept, pictures, previewsOf, real } from './preview-kit.ts'

after(() => real[Symbol.asyncDispose]())

const rowOf = (kit: Kit, id: string) => kit.assets.findById(ADA, id)!

async function sweepAll(kit: Kit): Promise<void> {
  kit.platform.ms += 2 * HOUR
  while (!(await kit.contents.sweepUnreferenced(100)).ended);
}

describe('preview work', () => {
  test('runs one by one, first for assets that requests wait for', async () => {
    await using kit = await openKit()
    const files = await pictures(4)
    const rows = await Promise.all(files.map((file) => kept(kit, file)))
    const gate = new Gate()
    await using previews = previewsOf(kit, gate)
    await until('the first look', () => gate.asked.length === 1)
    const waiting = previews.prioritize(rows[3]!, PATIENCE_MS)
    gate.open()
    await waiting
    assert.notEqual(rowOf(kit, rows[3]!.id).thumb_key, null)
    await until('a look at all', () => rows.every(({ id }) => rowOf(kit, id).previewed === 1))
    const order = gate.asked.map(({ files: [file] }) => files.findIndex((one) => one.equals(file!)))
    assert.deepEqual(order, [0, 3, 1, 2])
  })

  test('is charged to the owner of the asset', async () => {
    await using kit = await openKit()
    const [mine, theirs] = await pictures(2)
    await kept(kit, mine!)
    await kept(kit, theirs!, { scope: BOB })
    const gate = new Gate()
    gate.open()
    await using _previews = previewsOf(kit, gate)
    await until('both looks', () => gate.asked.length === 2)
    const owners = gate.asked.map(({ owner }) => owner)
    assert.deepEqual(owners.sort(), [userShareKey(ADA), userShareKey(BOB)])
  })

  test('lets a request wait no longer than its limit', async () => {
    await using kit = await openKit()
    const [file] = await pictures(1)
    const row = await kept(kit, file!)
    await using previews = previewsOf(kit, new Gate())
    await previews.prioritize(row, 20)
    assert.equal(rowOf(kit, row.id).previewed, 0)
  })

  test('releases waiting requests at the end, for missing assets, and for finished ones', async () => {
    await using kit = await openKit()
    const [file] = await pictures(1)
    const row = await kept(kit, file!)
    const previews = previewsOf(kit, new Gate())
    const waiting = previews.prioritize(row, PATIENCE_MS)
    await previews[Symbol.asyncDispose]()
    await waiting
    await previews.prioritize(row, PATIENCE_MS)
    await using others = previewsOf(kit, real)
    for (const one of [row, row, { ...row, id: 'asset_none' }]) await others.prioritize(one, PATIENCE_MS)
    assert.equal(rowOf(kit, row.id).previewed, 1)
  })

  test('includes assets that were written without a notice, and skips those without a preview', async () => {
    await using kit = await openKit()
    const texts = await Promise.all(
      Array.from({ length: 230 }, (_, at) => kept(kit, bytesOf(`text ${at}`)).then(({ id }) => id)),
    )
    const { store } = kit.db
    await store.write((tx) => {
      for (const id of texts) savePreview(tx, id, { thumb_key: null, metadata: '{}' })
    })
    const unseen = texts.map((id) => ({
      ...rowOf(kit, id),
      id: `again_${id}`,
      storage_key: `ada/again_${id}`,
      previewed: 0,
    }))
    await store.write((tx) => {
      for (const row of unseen) insertAsset(tx, row)
    })
    const [file] = await pictures(1)
    const { id } = await kept(kit, file!)
    await using _previews = previewsOf(kit, real)
    await until('a look', () => rowOf(kit, id).previewed === 1)
    assert.deepEqual(
      unseen.filter((row) => rowOf(kit, row.id).previewed === 0),
      [],
    )
  })
})

test('assets without previews, and equal content with one, are found by an index', async () => {
  await using kit = await openKit()
  const db = new Database(kit.db.path)
  const plan = (sql: string) =>
    (db.prepare(`explain query plan ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail).join('; ')
  const row = {
    key: 1,
    id: 'a',
    user_id: 'a',
    workspace_id: null,
    content_type: 'image/png',
    content_key: 'k',
    size: 1,
  }
  const asked: string[] = []
  const tx = {
    all: ({ sql }: { sql: string }) => asked.push(sql),
    get: ({ sql }: { sql: string }) => void asked.push(sql),
  }
  listUsersWithUnpreviewed(tx as unknown as Tx, '', 1)
  findNextUnpreviewed(tx as unknown as Tx, 'a', 0)
  listUnpreviewedAssets(tx as unknown as Tx, 'a', 0, 1)
  findPreviewOfSameContent(tx as unknown as Tx, row)
  const plans = asked.map((sql) => plan(sql.replaceAll('?', '1')))
  db.close()
  assert.deepEqual(plans, [
    'SEARCH asset USING INDEX asset_to_preview (user_id>?)',
    'SEARCH asset USING INDEX asset_to_preview (user_id=? AND rowid>?)',
    'SEARCH asset USING INDEX asset_to_preview (user_id=? AND rowid>?)',
    'SEARCH asset USING INTEGER PRIMARY KEY (rowid=?); LIST SUBQUERY 1; SEARCH asset USING COVERING INDEX asset_by_content (content_key=?)',
  ])
})

describe('content that already has a preview', () => {
  test('is decoded once, and its thumbnail is removed with the last asset that has it', async () => {
    await using kit = await openKit()
    const [file] = await pictures(1)
    const rows = [await kept(kit, file!), await kept(kit, file!, { metadata: formatOwnMetadata({ title: 'Flag' }) })]
    const gate = new Gate()
    gate.open()
    await using previews = previewsOf(kit, gate)
    for (const row of rows) await previews.prioritize(row, PATIENCE_MS)
    assert.equal(gate.asked.length, 1)
    const [first, second] = rows.map(({ id }) => rowOf(kit, id))
    assert.equal(second!.thumb_key, first!.thumb_key)
    assert.deepEqual(readFindings(second!.metadata), readFindings(first!.metadata))
    assert.deepEqual(readMetadata(second!.metadata), { width: 20, height: 10, title: 'Flag' })
    kit.platform.ms += 2 * HOUR
    await kit.assets.remove(ADA, first!.storage_key)
    assert.equal(kit.files().kept.length, 2)
    await kit.assets.remove(ADA, second!.storage_key)
    assert.deepEqual(kit.files(), { kept: [], incoming: [] })
  })

  test('is looked for in few of its assets, because each may have long metadata', async () => {
    await using kit = await openKit()
    const [file] = await pictures(1)
    const first = await kept(kit, file!)
    const { store } = kit.db
    const more = (count: number, metadata: string, from: number) =>
      store.write((tx) => {
        for (let at = from; at < from + count; at++)
          insertAsset(tx, { ...first, id: `more_${at}`, storage_key: `ada/more_${at}`, metadata, previewed: 1 })
      })
    const twin = () =>
      store.read((tx) => findPreviewOfSameContent(tx, { ...first, key: 0, content_key: first.content_key! }))
    await more(6, '{}', 0)
    await more(1, '{"found":{}}', 6)
    assert.equal(twin()?.metadata, '{"found":{}}')
    await store.write((tx) => deleteAsset(tx, ADA, 'ada/more_6'))
    await more(300, JSON.stringify({ text: 'x'.repeat(60_000) }), 7)
    await more(1, '{"found":{}}', 307)
    assert.equal(twin(), undefined)
  })
})

describe('an event during a preview task', () => {
  test('such as a removal of the asset leaves nothing behind', async () => {
    await using kit = await openKit()
    const [file] = await pictures(1)
    const row = await kept(kit, file!)
    const { id, storage_key } = row
    const gate = new Gate()
    await using previews = previewsOf(kit, gate)
    const waiting = previews.prioritize(row, PATIENCE_MS)
    await until('the look', () => gate.asked.length === 1)
    await kit.assets.remove(ADA, storage_key)
    gate.open()
    await waiting
    assert.equal(kit.assets.findById(ADA, id), null)
    await sweepAll(kit)
    assert.deepEqual(kit.files(), { kept: [], incoming: [] })
  })

  test('such as a change by the owner is not overwritten', async () => {
    await using kit = await openKit()
    const [file] = await pictures(1)
    const row = await kept(kit, file!, { metadata: formatOwnMetadata({ title: 'Old' }) })
    const gate = new Gate()
    await using previews = previewsOf(kit, gate)
    const waiting = previews.prioritize(row, PATIENCE_MS)
    await until('the look', () => gate.asked.length === 1)
    const metadata = replaceOwnMetadata(rowOf(kit, row.id).metadata, { title: 'New', height: 'high' })
    const db = new Database(kit.db.path)
    db.prepare('update asset set metadata = ?').run(metadata)
    refreshChecksums(db)
    db.close()
    gate.open()
    await waiting
    assert.deepEqual(readMetadata(rowOf(kit, row.id).metadata), { title: 'New', width: 20, height: 'high' })
  })

  test('such as the end of the server leaves the rest to the next one', async () => {
    await using kit = await openKit()
    const rows = await Promise.all((await pictures(3)).map((file) => kept(kit, file)))
    const gate = new Gate()
    const first = previewsOf(kit, gate)
    await until('the look', () => gate.asked.length === 1)
    await first[Symbol.asyncDispose]()
    assert.deepEqual(
      rows.map(({ id }) => rowOf(kit, id).previewed),
      [0, 0, 0],
    )
    await using _second = previewsOf(kit, real)
    await until('all looks', () => rows.every(({ id }) => rowOf(kit, id).thumb_key !== null))
    assert.equal(kit.files().kept.length, 6)
  })

  test('such as a restart of a real server continues the rest', async () => {
    const data_dir = temporaryFolder()
    try {
      const files = await pictures(5)
      const ids: string[] = []
      {
        await using server = await startServer({ data_dir })
        const { store } = server.context
        const { store: assets } = server.context.assets
        for (const file of files) {
          const prepared = assets.prepare({ user_id: '1', workspace_id: null }, file, about())
          await store.write((tx) => assets.insert(tx, prepared))
          ids.push(prepared.row.id)
        }
      }
      await using server = await startServer({ data_dir })
      const { store: assets } = server.context.assets
      const row = (id: string) => assets.findById({ user_id: '1', workspace_id: null }, id)
      await until('all pictures', () => ids.every((id) => row(id)?.thumb_key))
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

describe('a failed preview task', () => {
  const script = new URL('../media/faulty-process.ts', import.meta.url)

  for (const [task, tries] of [
    ['faulty.exit', 2],
    ['faulty.throw', 2],
    ['faulty.refuse', 1],
    ['faulty.wait', 1],
  ] as const)
    test(`such as ${task} is tried ${tries === 1 ? 'once' : 'twice'}, and the next asset gets its preview`, async () => {
      await using kit = await openKit()
      const files = await pictures(2)
      const [bad, good] = await Promise.all(files.map((file) => kept(kit, file)))
      await using faulty = createMediaPool({ script, processes: 1 })
      let tried = 0
      const run = (asked: MediaTask) => {
        if (!files[0]!.equals(asked.files[0]!)) return real.run(asked)
        tried++
        return faulty.run({ ...asked, task, time_limit_ms: 1_500 })
      }
      await using _previews = previewsOf(kit, { run })
      await until('both looks', () => [bad, good].every((row) => rowOf(kit, row!.id).previewed === 1))
      assert.equal(tried, tries)
      assert.deepEqual([rowOf(kit, bad!.id).thumb_key, rowOf(kit, bad!.id).metadata], [null, '{}'])
      assert.notEqual(rowOf(kit, good!.id).thumb_key, null)
    })

  test('that succeeds at the second try counts as a success', async () => {
    await using kit = await openKit()
    const [file] = await pictures(1)
    const row = await kept(kit, file!)
    await using faulty = createMediaPool({ script, processes: 1 })
    let tried = 0
    const run = (asked: MediaTask) => (++tried === 1 ? faulty.run({ ...asked, task: 'faulty.exit' }) : real.run(asked))
    await using previews = previewsOf(kit, { run })
    await previews.prioritize(row, PATIENCE_MS)
    assert.notEqual(rowOf(kit, row.id).thumb_key, null)
  })

  test('because of the store is logged, and other assets get their previews', async () => {
    await using kit = await openKit()
    const [missing, bad, good] = await Promise.all((await pictures(3)).map((file) => kept(kit, file)))
    const pathOf = (row: typeof bad) => join(kit.root, 'objects', ...row!.content_key.split('/'))
    rmSync(pathOf(missing))
    truncateSync(pathOf(bad), 5)
    const { log, lines } = keptLog()
    await using previews = previewsOf(kit, real, log)
    await previews.prioritize(good!, PATIENCE_MS)
    await previews.prioritize(bad!, PATIENCE_MS)
    assert.deepEqual(
      [missing, bad, good].map((row) => rowOf(kit, row!.id).previewed),
      [1, 0, 1],
    )
    assert.match(lines.join(), /the preview of an asset could not be generated/)
  })
})
