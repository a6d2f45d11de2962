// Tests the temporary store: only the owner can read a file, until it expires; then it is gone, and the sweep removes its bytes.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { AssetOutputLocation } from '../../../src/assets/asset-store.ts'
import { LocalObjectStore } from '../../../src/assets/stores/local-object-store.ts'
import { listTemporaryFiles } from '../../../src/assets/temporary/keys.ts'
import { TemporaryQuota } from '../../../src/assets/temporary/quota.ts'
import { type TemporaryFile, type TemporaryFileUpload, TemporaryStore } from '../../../src/assets/temporary/store.ts'
import type { OwnerScope } from '../../../src/db/owner-scope.ts'
import { inFolder } from '../../helpers/folder.ts'
import { ADA, BOB, type Clock, clock, filesOf, HOUR, textOf } from '../kit.ts'

const RUNNING = new AbortController().signal

interface Kit {
  root: string
  platform: Clock
  temporary: TemporaryStore
  files(): string[]
}

interface Options {
  platform?: Clock
  secret?: Uint8Array
  /** The quota of one user, in bytes. */
  limit?: number
}

function open(root: string, { platform = clock(), secret = new Uint8Array(32), limit = 0 }: Options = {}): Kit {
  const objects = new LocalObjectStore(root, platform.now)
  const files = (user_id: string) => listTemporaryFiles(objects, user_id)
  const quota = new TemporaryQuota({ limit, now: platform.now, listFiles: files })
  const temporary = new TemporaryStore({ objects, quota, platform, secret })
  return { root, platform, temporary, files: () => filesOf(root) }
}

const withStore = (run: (kit: Kit) => Promise<void>) => inFolder((folder) => run(open(join(folder, 'temporary'))))

async function* pieces(...all: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of all) yield Buffer.from(piece)
}

function file(content: string | Uint8Array, more: Partial<TemporaryFileUpload> = {}): TemporaryFileUpload {
  return { name: 'note.txt', content_type: null, bytes: pieces(content), ...more }
}

async function contentOf({ temporary }: Kit, found: TemporaryFile, start = 0, length = found.size - start) {
  return textOf(await temporary.read(found, { start, length }))
}

describe('a temporary file', () => {
  test(
    'has the bytes that were put, and the right facts',
    withStore(async (kit) => {
      const put = await kit.temporary.put(ADA, file('', { bytes: pieces('Hello', '', ', ', 'Ada!') }))
      assert.match(put.storage_key, /^temp\/ada\/[0-9a-f]{48}\.txt$/)
      assert.equal(put.sha256, createHash('sha256').update('Hello, Ada!').digest('hex'))
      assert.equal(Date.parse(put.expires_at) - Date.parse(put.created_at), 24 * HOUR)
      assert.deepEqual(await kit.temporary.find(ADA, put.storage_key), put)
      assert.equal(await contentOf(kit, put), 'Hello, Ada!')
      assert.equal(await contentOf(kit, put, 7, 3), 'Ada')
      assert.equal(kit.files().length, 1)
    }),
  )

  test(
    'is returned for any name, owner and pieces',
    withStore(async (kit) => {
      const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 512 })
      const scope = fc.record({ user_id: id, workspace_id: fc.option(id) })
      const name = fc.option(fc.string({ unit: 'binary', maxLength: 400 }))
      const content = fc.array(fc.uint8Array({ maxLength: 6_000 }), { maxLength: 5 })
      const property = fc.asyncProperty(scope, name, content, async (owner, name, content) => {
        const put = await kit.temporary.put(owner, file('', { name, bytes: pieces(...content) }))
        const found = await kit.temporary.find(owner, put.storage_key)
        assert.deepEqual(found, put)
        assert.ok(put.name !== '' && !/[/\\\p{Cc}]/u.test(put.name) && Array.from(put.name).length <= 255)
        const read = await (await kit.temporary.read(put, { start: 0, length: put.size }))!.toArray()
        assert.deepEqual(Buffer.concat(read as Buffer[]), Buffer.concat(content))
      })
      await fc.assert(property, { numRuns: 30 })
    }),
  )

  test(
    'has the name and the type that fit it',
    withStore(async ({ temporary }) => {
      const cut = pieces(Buffer.from(`${'x'.repeat(4_095)}\xc3`, 'latin1'), Buffer.from([0xa4]))
      assert.equal((await temporary.put(ADA, file('', { bytes: cut }))).content_type, 'text/plain; charset=utf-8')
      const png = Buffer.from('\x89PNG\r\n\x1a\n more', 'latin1')
      const put = async (given: Partial<TemporaryFileUpload>, content: string | Uint8Array = png) => {
        const { name, content_type, storage_key } = await temporary.put(ADA, file(content, given))
        return [name, content_type, storage_key.split('.').at(-1)]
      }
      assert.deepEqual(await put({ name: 'a.png', content_type: 'image/png' }), ['a.png', 'image/png', 'png'])
      assert.deepEqual(await put({ name: 'a.txt', content_type: 'text/html' }), ['a.txt', 'image/png', 'png'])
      assert.deepEqual(await put({ name: null }), ['file.png', 'image/png', 'png'])
      assert.deepEqual(await put({ name: '..' }), ['file.png', 'image/png', 'png'])
      assert.deepEqual(await put({ name: 'C:\\up\\..\\été.JSON', content_type: 'application/json' }, '{}'), [
        'été.JSON',
        'application/json',
        'json',
      ])
      // The type is detected from the first bytes, however small the pieces are.
      const crumbs = pieces(...Array.from(png, (byte) => Uint8Array.of(byte)))
      assert.deepEqual(await put({ bytes: crumbs, name: null }), ['file.png', 'image/png', 'png'])
    }),
  )

  test(
    'is found by its owner only',
    withStore(async ({ temporary }) => {
      const { storage_key } = await temporary.put(ADA, file('of Ada'))
      assert.ok(await temporary.find(ADA, storage_key))
      assert.ok(await temporary.find(null, storage_key))
      assert.equal(await temporary.find(BOB, storage_key), null)
      assert.equal(await temporary.find({ ...ADA, workspace_id: 'w' }, storage_key), null)
      for (const other of [
        storage_key.replace('ada', 'bob'),
        storage_key.replace('.txt', '.png'),
        storage_key.replace('.txt', ''),
        `${storage_key}/x`,
        storage_key.slice(5),
        storage_key.replace('temp/', 'temp/../temp/'),
        `temp/ada/${'0'.repeat(48)}.txt`,
        'temp/ada/../../x.txt',
        'temp/',
        'temp',
      ])
        for (const scope of [ADA, BOB, null]) assert.equal(await temporary.find(scope, other), null, other)
    }),
  )

  test(
    'has a key that cannot be guessed',
    withStore(async ({ temporary }) => {
      const put = await Promise.all(Array.from({ length: 20 }, () => temporary.put(ADA, file('the same'))))
      const parts = new Set(put.map(({ storage_key }) => storage_key.split('/')[2]!.split('.')[0]!))
      assert.equal(parts.size, 20)
      // Two keys share only a prefix that chance explains: they contain neither a time nor a count.
      for (let at = 0; at < 48; at += 12)
        assert.equal(new Set([...parts].map((one) => one.slice(at, at + 12))).size, 20)
    }),
  )

  test(
    'that was interrupted leaves nothing',
    withStore(async (kit) => {
      async function* broken() {
        yield Buffer.alloc(10_000)
        yield Buffer.alloc(10_000)
        throw new Error('the line was cut')
      }
      await assert.rejects(kit.temporary.put(ADA, file('', { bytes: broken() })), /the line was cut/)
      assert.deepEqual(kit.files(), [])
    }),
  )
})

describe('a file that a job made', () => {
  const PLACE: AssetOutputLocation = { job_key: 1, output_name: 'out', ordinal: 0, path: ['a', 0] }
  const CLAIMS = { name: 'note.txt', content_type: 'text/plain' }

  test(
    'is found at once, by its id and its URL',
    withStore(async (kit) => {
      const { asset_id, uri, ...rest } = kit.temporary.putOutput(ADA, Buffer.from('made'), PLACE, CLAIMS)
      const found = await kit.temporary.findById(ADA, asset_id)
      assert.equal(`/api/storage/${found?.storage_key}`, uri)
      assert.deepEqual(await kit.temporary.find(ADA, found!.storage_key), found)
      const { name, content_type, size, sha256, expires_at } = found!
      assert.deepEqual(rest, { name, content_type, size, sha256, expires_at, download_url: null })
      assert.equal(await contentOf(kit, found!), 'made')
      for (const [scope, id] of [
        [BOB, asset_id],
        [{ ...ADA, workspace_id: 'w' }, asset_id],
        [ADA, asset_id.slice(0, -1)],
        [ADA, asset_id.replace('temp', 'asset')],
        [ADA, `temp_${'0'.repeat(48)}`],
      ] as const)
        assert.equal(await kit.temporary.findById(scope, id), null, id)
    }),
  )

  test(
    'is another file for another place, content or owner, and otherwise the same, with a new day',
    withStore(async (kit) => {
      const { temporary, platform } = kit
      const keep = (scope: OwnerScope, content: string, place: Partial<AssetOutputLocation> = {}) =>
        temporary.putOutput(scope, Buffer.from(content), { ...PLACE, ...place }, CLAIMS)
      const first = keep(ADA, 'made')
      const ids = [first, keep(ADA, 'maid'), keep(BOB, 'made'), keep(ADA, 'made', { ordinal: 1 })]
      assert.equal(new Set(ids.map(({ asset_id }) => asset_id)).size, 4)
      platform.ms += 25 * HOUR
      assert.equal(await temporary.findById(ADA, first.asset_id), null)
      const again = keep(ADA, 'made')
      assert.deepEqual({ ...again, expires_at: null }, { ...first, expires_at: null })
      assert.ok(await temporary.findById(ADA, first.asset_id))
      assert.equal(await temporary.sweep(10, RUNNING), 3)
      // Without the secret, the id cannot be computed.
      const { temporary: other } = open(kit.root, { platform, secret: new Uint8Array(32).fill(1) })
      assert.notEqual(other.putOutput(ADA, Buffer.from('made'), PLACE, CLAIMS).asset_id, first.asset_id)
    }),
  )
})

describe('the time of a temporary file', () => {
  test(
    'ends after a day, swept or not',
    withStore(async (kit) => {
      const { temporary, platform } = kit
      const { storage_key } = await temporary.put(ADA, file('x'))
      platform.ms += 24 * HOUR - 1
      assert.ok(await temporary.find(ADA, storage_key))
      assert.equal(await temporary.sweep(10, RUNNING), 0)
      platform.ms += 1
      assert.equal(await temporary.find(ADA, storage_key), null)
      assert.equal(await temporary.find(null, storage_key), null)
      platform.ms += 1
      assert.equal(await temporary.sweep(10, RUNNING), 1)
      assert.deepEqual(kit.files(), [])
    }),
  )

  test(
    'decides what the sweep removes, in rounds of steps',
    withStore(async (kit) => {
      const { temporary, platform } = kit
      const old = []
      for (let i = 0; i < 7; i += 1) old.push(await temporary.put(ADA, file('old')))
      platform.ms += 20 * HOUR
      const fresh = []
      for (let i = 0; i < 25; i += 1) fresh.push(await temporary.put(ADA, file('new')))
      platform.ms += 5 * HOUR
      let removed = 0
      for (let step = 0; step < 8; step += 1) removed += await temporary.sweep(5, RUNNING)
      assert.equal(removed, 7)
      for (const { storage_key } of fresh) assert.ok(await temporary.find(ADA, storage_key))
      // The next round finds the files that came meanwhile.
      platform.ms += 24 * HOUR
      for (let step = 0; step < 8; step += 1) removed += await temporary.sweep(5, RUNNING)
      assert.equal(removed, 32)
      assert.deepEqual(kit.files(), [])
    }),
  )

  test(
    'does not keep the sweep going once the server stops',
    withStore(async ({ temporary, platform }) => {
      for (let i = 0; i < 6; i += 1) await temporary.put(ADA, file('x'))
      platform.ms += 25 * HOUR
      assert.equal(await temporary.sweep(2, AbortSignal.abort()), 2)
    }),
  )

  test(
    'does not end a read that has begun',
    withStore(async ({ temporary, platform }) => {
      const put = await temporary.put(ADA, file('x'.repeat(1_000_000)))
      const stream = await temporary.read(put, { start: 0, length: put.size })
      platform.ms += 25 * HOUR
      await temporary.sweep(10, RUNNING)
      assert.equal((await textOf(stream))!.length, 1_000_000)
      assert.equal(await temporary.read(put, { start: 0, length: 1 }), null)
    }),
  )
})

describe('a file that a killed process', () => {
  test(
    'was writing is removed by the next start, and no other file is',
    inFolder(async (folder) => {
      const kit = open(join(folder, 'a'))
      const put = await kit.temporary.put(ADA, file('whole'))
      const copied = Promise.withResolvers<void>()
      async function* slow() {
        yield Buffer.alloc(100_000)
        yield Buffer.alloc(100_000)
        cpSync(kit.root, join(folder, 'b'), { recursive: true })
        copied.resolve()
        yield Buffer.alloc(1)
      }
      await kit.temporary.put(ADA, file('', { bytes: slow() }))
      await copied.promise
      assert.equal(filesOf(join(folder, 'b')).length, 2)
      const after = open(join(folder, 'b'), { platform: kit.platform })
      assert.equal(after.files().length, 1)
      assert.deepEqual(await after.temporary.find(ADA, put.storage_key), put)
    }),
  )

  test(
    'left damaged is a server error, and is swept all the same',
    withStore(async (kit) => {
      const put = await kit.temporary.put(ADA, file('x'.repeat(20_000)))
      const id = put.storage_key.split('/')[2]!.split('.')[0]!
      const [path] = readdirSync(kit.root, { recursive: true }).filter((one) => String(one).endsWith(id))
      truncateSync(join(kit.root, String(path)), 100)
      await assert.rejects(kit.temporary.find(ADA, put.storage_key), /has no record/)
      // Writing to the file has set its time, by the clock of the machine.
      kit.platform.ms = Date.now() + 25 * HOUR
      assert.equal(await kit.temporary.sweep(10, RUNNING), 1)
    }),
  )
})
