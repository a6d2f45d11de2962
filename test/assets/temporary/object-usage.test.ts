// Tests that temporary objects with rows count for their user's quota, without counting all of them for each upload.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeKeySegment } from '../../../src/assets/storage-keys.ts'
import { listTemporaryObjects } from '../../../src/assets/temporary/object-usage.ts'
import { putObject } from '../../../src/db/assets/objects.ts'
import type { OwnerScope } from '../../../src/db/owner-scope.ts'
import type { Store } from '../../../src/db/store.ts'
import type { ObjectTable } from '../../../src/db/tables/assets.ts'
import { ServiceError } from '../../../src/errors.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'

const ADA = { user_id: 'ada', workspace_id: null }
const LIMIT = 1_000
const DAY_MS = 86_400_000
const config = { max_temporary_bytes_per_user: LIMIT }

const keyOf = (name: string, { user_id }: OwnerScope = ADA) => `temp/${encodeKeySegment(user_id)}/${name}`
const exceeded = (error: unknown) => error instanceof ServiceError && error.code === 'TEMPORARY_QUOTA_EXCEEDED'

function rowOf(name: string, scope: OwnerScope, size = 1): ObjectTable {
  const [now, later] = [0, DAY_MS].map((ms) => new Date(Date.now() + ms).toISOString()) as [string, string]
  const content = { content_key: `content/${name}`, content_type: 'text/plain', sha256: '0'.repeat(64), size }
  return { storage_key: keyOf(name, scope), ...scope, ...content, expires_at: later, created_at: now, updated_at: now }
}

/** Writes rows without their bytes. */
const writeRows = (store: Store, rows: readonly ObjectTable[]) =>
  store.write((tx) => {
    for (const row of rows) putObject(tx, row)
  })

async function put(
  { context }: TestServer,
  name: string,
  bytes: number,
  scope: OwnerScope = ADA,
  content = 0,
): Promise<void> {
  using room = await context.assets.temporary.quota.reserve(scope.user_id)
  async function* source() {
    yield Buffer.alloc(bytes, content)
  }
  const given = { bytes: room.meter(source()), content_type: null, sha256: null }
  await context.assets.objects.put(scope, keyOf(name, scope), given, () => {})
}

const remove = ({ context }: TestServer, name: string) => context.assets.objects.remove(ADA, keyOf(name), () => {})

async function used({ context }: TestServer, user_id = 'ada'): Promise<number> {
  const error = await context.assets.temporary.quota.reserve(user_id, LIMIT + 1).catch((thrown: ServiceError) => thrown)
  assert.ok(exceeded(error))
  return Number(/take (\d+) of/.exec((error as ServiceError).message)![1])
}

test('objects count from their commit on, once each, until they are replaced or removed', async () => {
  await using server = await startServer({ config })
  await put(server, 'a', 300)
  await put(server, 'a', 200, { ...ADA, workspace_id: 'w' })
  assert.equal(await used(server), 500)
  await put(server, 'a', 100)
  assert.equal(await used(server), 300)
  await put(server, 'b', 600)
  await assert.rejects(put(server, 'c', 101), exceeded)
  await remove(server, 'b')
  await remove(server, 'b')
  assert.equal(await used(server), 300)
  assert.equal(await used(server, 'bob'), 0)
})

test('objects from before are counted, and those that come meanwhile are counted once', async () => {
  await using server = await startServer({ config })
  const { store } = server.context
  await writeRows(store, [
    rowOf('a', ADA, 100),
    rowOf('a', { ...ADA, workspace_id: 'w' }, 50),
    rowOf('a', { ...ADA, user_id: 'adam' }, 700),
    ...Array.from({ length: 700 }, (_, at) => rowOf(`of many ${at}`, ADA)),
  ])
  await Promise.all([used(server), put(server, 'z', 10), put(server, 'A', 20)])
  assert.equal(await used(server), 880)
})

test('counting objects takes turns, and is done once', async () => {
  await using server = await startServer({ config })
  const { store } = server.context
  await writeRows(store, [...Array.from({ length: 5_000 }, (_, at) => rowOf(`of many ${at}`, ADA, 0))])
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  let rows = 0
  for await (const _ of listTemporaryObjects(store, 'ada')) rows++
  assert.equal(rows, 5_000)
  assert.ok(turns > 2, String(turns))
  clearInterval(counting)
  await used(server)
  const { read } = store
  let reads = 0
  store.read = (unit) => {
    reads++
    return read.call(store, unit) as never
  }
  for (let at = 0; at < 20; at++) await used(server)
  assert.equal(reads, 0)
})

test('objects that were replaced or removed within the hour have as much room again, until they are gone from the disk', async () => {
  let now = Date.now()
  await using server = await startServer({ config, platform: { ...systemPlatform(), now: () => now } })
  for (let at = 0; at < 2; at++) await put(server, 'a', 400, ADA, at)
  await remove(server, 'a')
  // The same content again takes no further space.
  for (let at = 0; at < 4; at++) await put(server, 'b', 400, ADA, 9)
  await put(server, 'b', 300, ADA, 10)
  await assert.rejects(put(server, 'c', 1), (error: ServiceError) => {
    assert.match(error.message, /^Temporary files that you replaced or deleted still take 1200 bytes, more than 1000; /)
    return exceeded(error)
  })
  await put(server, 'c', 1, { ...ADA, user_id: 'bob' })
  now += 3_700_000
  await put(server, 'c', 1)
})
