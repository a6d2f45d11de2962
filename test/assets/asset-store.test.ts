// Tests rows and bytes of assets together: what is stored, for which owner, and when it is removed.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type AssetOutputLocation,
  AssetStore,
  formatContentIdentity,
  type PreparedAsset,
  type StoredAsset,
} from '../../src/assets/asset-store.ts'
import { contentKey } from '../../src/assets/storage-keys.ts'
import type { BlobStore } from '../../src/assets/stores/blob-store.ts'
import { listBlobKeys } from '../../src/db/assets/deleted-folders.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { scaled } from '../helpers/scale.ts'
import { ADA, about, BOB, bytesOf, HOUR, type Kit, openKit, textOf } from './kit.ts'

const PLACE: AssetOutputLocation = { job_key: 7, output_name: 'picture', ordinal: 0, path: ['a', 1] }

/** Prepares an asset and commits its row. */
async function kept(
  kit: Kit,
  scope: OwnerScope,
  text: string,
  more: Parameters<typeof about>[0] = {},
): Promise<PreparedAsset> {
  const prepared = kit.assets.prepare(scope, bytesOf(text), about(more))
  await kit.db.store.write((tx) => kit.assets.insert(tx, prepared))
  return prepared
}

function found(assets: AssetStore, scope: OwnerScope, { row }: PreparedAsset): boolean {
  return assets.find(scope, row.storage_key) !== null
}

/** Returns a row as it was written, without the key and the checksum that the database adds. */
function written(row: StoredAsset | null): Omit<StoredAsset, 'key'> {
  const { key, checksum, ...others } = row as StoredAsset & { key: number; checksum: number }
  assert.ok(Number.isInteger(checksum))
  assert.ok(key > 0)
  return others
}

async function sweepAll(contents: BlobStore, limit = 100): Promise<number> {
  let removed = 0
  for (;;) {
    const swept = await contents.sweepUnreferenced(limit)
    removed += swept.removed
    if (swept.ended) return removed
  }
}

describe('an asset', () => {
  test('has a row, a reference and its bytes', async () => {
    await using kit = await openKit()
    const { row, reference } = await kept(kit, ADA, 'Hello, Ada!', { name: 'greeting.txt' })
    assert.deepEqual(written(kit.assets.find(ADA, row.storage_key)), row)
    assert.deepEqual(written(kit.assets.findSigned(row.storage_key)), row)
    assert.equal(row.storage_key, `ada/${row.id}.txt`)
    assert.equal(row.created_at, '2026-01-01T00:00:00.000Z')
    assert.equal(row.sha256, sha256('Hello, Ada!'))
    assert.deepEqual(reference, {
      asset_id: row.id,
      uri: `/api/storage/${row.storage_key}`,
      name: 'greeting.txt',
      content_type: 'text/plain; charset=utf-8',
      size: 11,
      sha256: row.sha256,
      download_url: null,
      expires_at: null,
    })
    assert.equal(await textOf(await kit.assets.read(row, { start: 7, length: 4 })), 'Ada!')
  })

  test('has a valid file name', async () => {
    await using kit = await openKit()
    const names = {
      'a/b\\c.txt': 'c.txt',
      '../../x': 'x',
      'a\0b\nc': 'a b c',
      'a\u202egpj.exe': 'a gpj.exe',
      '\u2067\u05d0\u2069 \u200f1.pdf\u2028': '\u05d0  \u200f1.pdf',
      ' x ': 'x',
      ['😀'.repeat(300)]: '😀'.repeat(255),
    }
    for (const [name, clean] of Object.entries(names)) {
      assert.equal(kit.assets.prepare(ADA, bytesOf('x'), about({ name })).row.name, clean)
    }
    for (const name of [undefined, null, '', '/', '..', '.', ' ']) {
      const { row } = kit.assets.prepare(ADA, bytesOf('x'), about(name === undefined ? {} : { name }))
      assert.equal(row.name, `${row.id}.txt`)
    }
  })

  test('belongs to its owner, in its workspace', async () => {
    await using kit = await openKit()
    const inWorkspace = { user_id: 'ada', workspace_id: 'w' }
    const plain = await kept(kit, ADA, 'x')
    const other = await kept(kit, inWorkspace, 'x')
    assert.ok(found(kit.assets, ADA, plain) && found(kit.assets, inWorkspace, other))
    for (const scope of [BOB, inWorkspace, { user_id: '', workspace_id: null }])
      assert.ok(!found(kit.assets, scope, plain))
    assert.ok(!found(kit.assets, ADA, other))
    assert.equal(await kit.assets.remove(BOB, plain.row.storage_key), false)
    assert.ok(found(kit.assets, ADA, plain))
  })
})

describe('the same place in the outputs of a job', () => {
  test('is the same asset for the same bytes, written once', async () => {
    await using kit = await openKit()
    const first = await kept(kit, ADA, 'x', { place: PLACE })
    kit.platform.ms += 1_000
    const again = await kept(kit, ADA, 'x', { place: { ...PLACE, path: [...PLACE.path] } })
    assert.deepEqual(again.reference, first.reference)
    assert.deepEqual(written(kit.assets.find(ADA, again.row.storage_key)), first.row)
  })

  test('has the id that a former version gave it, so that a resumed job names it as before', async () => {
    await using kit = await openKit()
    const prepare = (scope = ADA) => kit.assets.prepare(scope, bytesOf('x'), about({ place: PLACE }))
    const prepared = prepare()
    const { row } = prepared
    const id = `asset_${sha256(formatContentIdentity(ADA, PLACE, row.sha256)).slice(0, 32)}`
    const former = { ...row, id, storage_key: row.storage_key.replace(row.id, id) }
    await kit.db.store.write((tx) => kit.assets.insert(tx, { ...prepared, row: former }))
    assert.deepEqual([prepare().row.id, prepare().row.storage_key], [id, former.storage_key])
    assert.notEqual(prepare(BOB).row.id, id)
  })

  test('does not reveal the number of the job, which counts the jobs of all users', async () => {
    await using kit = await openKit()
    const { row } = kit.assets.prepare(ADA, bytesOf('x'), about({ place: PLACE }))
    const guessed = (job_key: number) =>
      sha256(formatContentIdentity(ADA, { ...PLACE, job_key }, row.sha256)).slice(0, 32)
    for (let job_key = 0; job_key < 100; job_key++) assert.notEqual(row.id, `asset_${guessed(job_key)}`)
    const { db, contents, platform, assets } = kit
    const others = { store: db.store, contents, platform, signatures: assets.signatures }
    const idWith = (secret: Uint8Array) =>
      new AssetStore({ ...others, secret }).prepare(ADA, bytesOf('x'), about({ place: PLACE })).row.id
    assert.equal(idWith(new Uint8Array(32)), row.id)
    assert.notEqual(idWith(new Uint8Array(32).fill(1)), row.id)
  })

  test('is another asset for other bytes, places, jobs and owners', async () => {
    await using kit = await openKit()
    const places: AssetOutputLocation[] = [
      PLACE,
      { ...PLACE, job_key: 8 },
      { ...PLACE, output_name: 'other' },
      { ...PLACE, ordinal: 1 },
      { ...PLACE, path: ['a', '1'] },
      { ...PLACE, path: [] },
    ]
    const ids = places.map((place) => kit.assets.prepare(ADA, bytesOf('x'), about({ place })).row.id)
    ids.push(kit.assets.prepare(ADA, bytesOf('y'), about({ place: PLACE })).row.id)
    ids.push(kit.assets.prepare(BOB, bytesOf('x'), about({ place: PLACE })).row.id)
    ids.push(kit.assets.prepare({ ...ADA, workspace_id: 'w' }, bytesOf('x'), about({ place: PLACE })).row.id)
    ids.push(
      kit.assets.prepare(ADA, bytesOf('x'), about()).row.id,
      kit.assets.prepare(ADA, bytesOf('x'), about()).row.id,
    )
    assert.equal(new Set(ids).size, ids.length)
  })
})

describe('equal bytes', () => {
  test('of one owner are one file, and go with the last asset', async () => {
    await using kit = await openKit()
    const [a, b] = [await kept(kit, ADA, 'same'), await kept(kit, ADA, 'same')]
    assert.notEqual(a.row.id, b.row.id)
    assert.equal(kit.files().kept.length, 1)
    kit.platform.ms += HOUR + 1
    assert.equal(await kit.assets.remove(ADA, a.row.storage_key), true)
    assert.equal(await textOf(await kit.assets.read(b.row, { start: 0, length: 4 })), 'same')
    assert.equal(await kit.assets.remove(ADA, b.row.storage_key), true)
    assert.deepEqual(kit.files(), { kept: [], incoming: [] })
    assert.equal(await kit.assets.remove(ADA, b.row.storage_key), false)
  })

  test('of two owners are two files', async () => {
    await using kit = await openKit()
    const [a, b] = [await kept(kit, ADA, 'same'), await kept(kit, BOB, 'same')]
    assert.notEqual(a.row.content_key, b.row.content_key)
    assert.equal(kit.files().kept.length, 2)
  })
})

describe('bytes without a row', () => {
  test('are left by a crash before the commit, and swept after an hour', async () => {
    await using kit = await openKit()
    const lost = kit.assets.prepare(ADA, bytesOf('lost'), about())
    const safe = await kept(kit, ADA, 'safe')
    assert.equal(kit.assets.find(ADA, lost.row.storage_key), null)
    kit.platform.ms += HOUR
    assert.equal(await sweepAll(kit.contents), 0)
    kit.platform.ms += 1
    assert.equal(await sweepAll(kit.contents), 1)
    assert.equal(kit.files().kept.length, 1)
    assert.equal(await textOf(await kit.assets.read(safe.row, { start: 0, length: 4 })), 'safe')
  })

  test('are young again when they are prepared again', async () => {
    await using kit = await openKit()
    kit.assets.prepare(ADA, bytesOf('x'), about())
    kit.platform.ms += HOUR + 1
    const again = kit.assets.prepare(ADA, bytesOf('x'), about())
    assert.equal(await sweepAll(kit.contents), 0)
    await kit.db.store.write((tx) => kit.assets.insert(tx, again))
    kit.platform.ms += HOUR + 1
    assert.equal(await sweepAll(kit.contents), 0)
    assert.equal(await textOf(await kit.assets.read(again.row, { start: 0, length: 1 })), 'x')
  })

  test('are kept if a removal meets a new asset of the same bytes', async () => {
    await using kit = await openKit()
    const old = await kept(kit, ADA, 'x')
    kit.platform.ms += 2 * HOUR
    const removal = kit.assets.remove(ADA, old.row.storage_key)
    const fresh = kit.assets.prepare(ADA, bytesOf('x'), about())
    assert.equal(await removal, true)
    await kit.db.store.write((tx) => kit.assets.insert(tx, fresh))
    assert.equal(await textOf(await kit.assets.read(fresh.row, { start: 0, length: 1 })), 'x')
  })

  test('are swept in small batches, all of them', async () => {
    await using kit = await openKit()
    for (let i = 0; i < 30; i += 1) kit.assets.prepare(ADA, bytesOf(String(i)), about())
    await kept(kit, ADA, 'kept')
    kit.platform.ms += 2 * HOUR
    const { examined, removed, ended } = await kit.contents.sweepUnreferenced(7)
    assert.deepEqual({ examined, ended }, { examined: 7, ended: false })
    assert.equal(removed + (await sweepAll(kit.contents, 7)), 30)
    assert.equal(kit.files().kept.length, 1)
    assert.equal(await sweepAll(kit.contents, 7), 0)
  })
})

test('the assets of a job are removed together, in its own transaction and in batches', async () => {
  await using kit = await openKit()
  for (let i = 0; i < 5; i += 1) await kept(kit, ADA, `mine ${i}`)
  await kept(kit, ADA, 'mine 0', { job_id: 'other' })
  await kept(kit, BOB, 'his')
  kit.platform.ms += 2 * HOUR
  const { store } = kit.db
  const first = await store.write((tx) => kit.assets.removeByJob(tx, ADA, 'job', 3))
  const rest = await store.write((tx) => kit.assets.removeByJob(tx, ADA, 'job', 3))
  assert.deepEqual([first.length, rest.length], [3, 2])
  await assert.rejects(
    store.write((tx) => {
      kit.assets.removeByJob(tx, BOB, 'job', 3)
      throw new Error('undone')
    }),
    /undone/,
  )
  assert.equal(await kit.contents.discard(listBlobKeys([...first, ...rest])), 4)
  assert.equal(kit.files().kept.length, 2)
})

test('a folder full of bytes is removed in turns, and other work gets its turn', async () => {
  await using kit = await openKit()
  let turns = 0
  const other = setInterval(() => {
    turns += 1
  }, 0)
  await kit.contents.discard(Array.from({ length: 10_000 }, (_, at) => contentKey('ada', sha256(String(at)))))
  clearInterval(other)
  assert.ok(turns > 10, String(turns))
})

describe('when bytes and rows differ', () => {
  test('a read of an asset that was removed meanwhile returns null', async () => {
    await using kit = await openKit()
    const { row } = await kept(kit, ADA, 'x')
    kit.platform.ms += 2 * HOUR
    await kit.assets.remove(ADA, row.storage_key)
    assert.equal(await kit.assets.read(row, { start: 0, length: 1 }), null)
  })

  test('a read of bytes that are missing or cut off fails', async () => {
    await using kit = await openKit()
    const { row } = await kept(kit, ADA, 'abc')
    writeFileSync(join(kit.root, 'objects', row.content_key), 'ab')
    await assert.rejects(kit.assets.read(row, { start: 0, length: 3 }), /too few/)
    rmSync(join(kit.root, 'objects', row.content_key))
    await assert.rejects(kit.assets.read(row, { start: 0, length: 3 }), /are missing from the store .*SVC_STORAGE_URL/)
  })

  test('bytes that cannot be written make no asset', async () => {
    await using kit = await openKit()
    const inTheWay = join(kit.root, 'objects', contentKey('ada', sha256('x')).slice(0, 2))
    writeFileSync(inTheWay, '')
    assert.throws(() => kit.assets.prepare(ADA, bytesOf('x'), about()), { code: 'ENOTDIR' })
    assert.deepEqual(kit.files().incoming, [])
    rmSync(inTheWay)
    kit.assets.prepare(ADA, bytesOf('x'), about())
    assert.equal(kit.files().kept.length, 1)
  })
})

test('after any operations, every row has its bytes, and blobs without a row are removed', async () => {
  await using kit = await openKit()
  const step = fc.record({
    act: fc.constantFrom('prepare', 'commit', 'remove', 'sweep', 'wait', 'wait'),
    who: fc.constantFrom(ADA, BOB),
    text: fc.constantFrom('a', 'b', 'c'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      let pending: PreparedAsset[] = []
      const rows: PreparedAsset[] = []
      for (const { act, who, text } of steps) {
        if (act === 'prepare') pending.push(kit.assets.prepare(who, bytesOf(text), about()))
        if (act === 'commit') {
          const [next, ...rest] = pending
          pending = rest
          if (next) await kit.db.store.write((tx) => kit.assets.insert(tx, next))
          if (next) rows.push(next)
        }
        if (act === 'remove') {
          const last = rows.pop()
          if (last) assert.ok(await kit.assets.remove(last.row, last.row.storage_key))
        }
        if (act === 'sweep') await kit.contents.sweepUnreferenced(2)
        if (act === 'wait') {
          // A prepared row is committed within an hour.
          kit.platform.ms += HOUR / 2
          pending = pending.filter(({ row }) => kit.platform.ms - Date.parse(row.created_at) < HOUR)
        }
        for (const { row } of [...rows, ...pending]) {
          assert.equal((await kit.objects.stat(row.content_key))?.size, 1)
        }
      }
      kit.platform.ms += 2 * HOUR
      // A sweep may have stopped in the middle: this runs the rest of it, and then a whole one.
      await sweepAll(kit.contents)
      await sweepAll(kit.contents)
      assert.equal(kit.files().kept.length, new Set(rows.map(({ row }) => row.content_key)).size)
      for (const { row } of rows) await kit.assets.remove(row, row.storage_key)
    }),
    { numRuns: scaled(25) },
  )
})
