// Deleted large folders: invisible to every read at once, removed in portions, also after a crash, without blocking other requests.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { AssetPage } from '../../generated/types.ts'
import { assetStorageKey, contentKey } from '../../src/assets/storage-keys.ts'
import { insertAsset, type NewAsset } from '../../src/db/assets/rows.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { Store, type Tx } from '../../src/db/store.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { clock, HOUR } from '../assets/kit.ts'
import { call, refused } from '../helpers/http.ts'
import { emptyLog, leavesLoopFree } from '../helpers/loop.ts'
import { giveDatabase } from '../helpers/migrated.ts'
import { PATIENCE_MS } from '../helpers/patience.ts'
import { serve } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { storedFiles } from './assets-kit.ts'

const OWNER: OwnerScope = { user_id: '1', workspace_id: null }
const AT = '2026-01-01T00:00:00.000Z'
const FOLDER = { content_type: 'folder', size: 0, sha256: null, storage_key: null, content_key: null }

function row(id: string, parent_id: string | null, more: Partial<NewAsset> = {}): NewAsset {
  const digest = sha256(id)
  const content = { sha256: digest, storage_key: assetStorageKey('1', id, ''), content_key: contentKey('1', digest) }
  const about = { content_type: 'text/plain', size: 1, thumb_key: null, metadata: '{}', previewed: 1, node_id: null }
  const made = { workflow_id: null, job_id: null, created_at: AT, updated_at: AT }
  return { id, ...OWNER, parent_id, name: `photo ${id}`, ...content, ...about, ...made, ...more }
}

/** A folder of `count` assets, a tenth of them folders with another asset, within another folder. */
function fill(tx: Tx, top: string, count: number): void {
  insertAsset(tx, row(top, null, FOLDER))
  insertAsset(tx, row(`${top}-in`, top, FOLDER))
  for (let i = 0; i < count; i++) {
    const id = `${top}-${i}`
    insertAsset(tx, row(id, `${top}-in`, i % 10 === 0 ? FOLDER : {}))
    if (i % 10 === 0) insertAsset(tx, row(`${id}-deep`, id))
  }
}

function left({ data_dir }: { readonly data_dir: string }): { assets: number; folders: number } {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    const count = (table: string) => db.prepare(`select count(*) from ${table}`).pluck().get() as number
    return { assets: count('asset'), folders: count('deleted_folder') }
  } finally {
    db.close()
  }
}

const COUNT = Math.max(400, scaled(400))
/** Removal leaves most of the time to other work: on a busy machine it removes some hundred assets a second. */
const REMOVAL_MS = PATIENCE_MS + COUNT * 20

/** Asserts that no read finds it. */
async function isGone(server: { readonly url: string }, top: string): Promise<void> {
  for (const id of [top, `${top}-in`, `${top}-10`, `${top}-10-deep`, `${top}-${COUNT - 1}`]) {
    const asset = ['GET', `/api/assets/${id}`] as const
    await refused(server, ...asset, {}, [404, 'not_found'])
    await refused(server, 'PUT', `/api/assets/${id}`, { body: { parent_id: 'root' } }, [404, 'not_found'])
    await refused(server, 'DELETE', `/api/assets/${id}`, {}, [404, 'not_found'])
  }
  const { storage_key } = row(`${top}-${COUNT - 1}`, null)
  await refused(server, 'GET', `/api/storage/${storage_key}`, {}, [404, 'not_found'])
  for (const query of ['', '?q=photo', '?content_type=text/plain', `?parent_id=${top}-10`, `?parent_id=${top}-in`]) {
    const found: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const cursor: string = next === '' ? '' : `${query === '' ? '?' : '&'}cursor=${encodeURIComponent(next)}`
      const page: AssetPage = (await call<AssetPage>(server, 'GET', `/api/assets${query}${cursor}`)).body
      found.push(...page.assets.map(({ id }) => id))
      next = page.next
    }
    assert.deepEqual(
      found.filter((id) => id.startsWith(top)),
      [],
      query,
    )
  }
  const body = { name: 'x', parent_id: `${top}-10` }
  await refused(server, 'PUT', '/api/assets/beside', { body }, [404, 'not_found'])
}

function beside(server: TestServer): Promise<void> {
  return server.context.store.write((tx) => insertAsset(tx, row('beside', null)))
}

describe('a large folder that is deleted', () => {
  test('is invisible at once for every read, and removed soon', async () => {
    await using server = await startServer()
    await beside(server)
    await server.context.store.write((tx) => fill(tx, 'top', COUNT))
    assert.equal((await call(server, 'DELETE', '/api/assets/top')).status, 204)
    assert.ok(left(server).folders > 0, 'nothing was left to be removed')
    await isGone(server, 'top')
    await until('all of it to be removed', () => left(server).folders === 0, REMOVAL_MS)
    assert.deepEqual(left(server), { assets: 1, folders: 0 })
    assert.equal((await call(server, 'GET', '/api/assets/beside')).status, 200)
    assert.deepEqual(await checkDatabase(join(server.data_dir, 'svc.db')), [])
  })

  test('stays deleted when the process is killed, and its removal continues', async () => {
    const data_dir = temporaryFolder()
    try {
      await giveDatabase(join(data_dir, 'svc.db'))
      {
        await using store = await Store.open(join(data_dir, 'svc.db'))
        await store.write((tx) => insertAsset(tx, row('beside', null)))
        await store.write((tx) => fill(tx, 'top', COUNT))
      }
      {
        await using process = await serve(data_dir)
        assert.equal((await call(process, 'DELETE', '/api/assets/top')).status, 204)
        process.kill('SIGKILL')
        await process.ended()
      }
      assert.ok(left({ data_dir }).assets > 1, 'nothing was left to be removed')
      assert.deepEqual(await checkDatabase(join(data_dir, 'svc.db')), [])
      await using process = await serve(data_dir)
      await isGone(process, 'top')
      await until('all of it to be removed', () => left({ data_dir }).folders === 0, REMOVAL_MS)
      assert.equal(left({ data_dir }).assets, 1)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('blocks no other request', async () => {
    await using server = await startServer()
    let round = 0
    await leavesLoopFree(async () => {
      const top = `top${round++}`
      for (let i = 0; i < 3; i++) await server.context.store.write((tx) => fill(tx, `${top}-${i}`, COUNT))
      await server.context.store.write((tx) => {
        insertAsset(tx, row(top, null, FOLDER))
      })
      for (let i = 0; i < 3; i++) await call(server, 'PUT', `/api/assets/${top}-${i}`, { body: { parent_id: top } })
      emptyLog(server)
      return async () => {
        assert.equal((await call(server, 'DELETE', `/api/assets/${top}`)).status, 204)
        await until('all of it to be removed', () => left(server).folders === 0, REMOVAL_MS)
      }
    })
  })

  test('frees the ids of its assets, which a job may publish again', async () => {
    await using server = await startServer()
    const { store } = server.context
    const { folder_removals } = server.context.assets
    await folder_removals[Symbol.asyncDispose]()
    await store.write((tx) => fill(tx, 'top', COUNT))
    await call(server, 'DELETE', '/api/assets/top')
    const again = `top-${COUNT - 1}`
    await refused(server, 'GET', `/api/assets/${again}`, {}, [404, 'not_found'])
    await store.write((tx) => insertAsset(tx, row(again, null)))
    assert.equal((await call(server, 'GET', `/api/assets/${again}`)).status, 200)
    assert.deepEqual(await checkDatabase(join(server.data_dir, 'svc.db')), [])
  })

  test('keeps the bytes that other assets need, and removes the rest', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const { store } = server.context
    const { store: assets } = server.context.assets
    await store.write((tx) => fill(tx, 'top', COUNT))
    const about = { content_type: null, workflow_id: null, job_id: null, node_id: null }
    const prepared = (text: string) => assets.prepare(OWNER, Buffer.from(text), about).row
    const rows = [prepared('shared'), prepared('alone')].map((row) => ({ ...row, parent_id: 'top-in' }))
    await store.write((tx) => {
      for (const row of [...rows, prepared('shared')]) insertAsset(tx, row)
    })
    assert.equal(storedFiles(server).length, 2)
    platform.ms += 2 * HOUR
    await call(server, 'DELETE', '/api/assets/top')
    await until('the bytes to go', () => left(server).folders === 0 && storedFiles(server).length === 1)
    const [kept] = (await call<AssetPage>(server, 'GET', '/api/assets')).body.assets
    assert.equal((await call(server, 'GET', kept!.get_url!)).text, 'shared')
  })
})
