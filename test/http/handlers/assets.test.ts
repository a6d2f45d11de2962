// Assets over HTTP: created, read, changed, downloaded and deleted, in folders, by one user.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Asset, StoredObject, TemporaryAssetUpload, Workflow } from '../../../generated/types.ts'
import { rotateMasterKey } from '../../../src/cli/master-key-rotation.ts'
import { Store } from '../../../src/db/store.ts'
import { sha256 } from '../../../src/shared/hashes.ts'
import { clock, HOUR } from '../../assets/kit.ts'
import { call, refused } from '../../helpers/http.ts'
import { startServer, type TestServer, temporaryFolder } from '../../helpers/server.ts'
import { storedFiles } from '../assets-kit.ts'
import { greeting } from '../kit.ts'
import { fieldsForm, fileForm, UPLOADS } from '../uploads-kit.ts'

type Fields = Readonly<Record<string, string>>
type File = Parameters<typeof fieldsForm>[1]

async function made(server: TestServer, fields: Fields, file?: File): Promise<Asset> {
  const { status, body, text, headers } = await call<Asset>(server, 'POST', '/api/assets', fieldsForm(fields, file))
  assert.equal(status, 201, text)
  assert.equal(headers.location, `/api/assets/${body.id}`)
  return body
}

const folder = (server: TestServer, name: string, parent_id = 'root') =>
  made(server, { name, parent_id, content_type: 'folder' })

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64').toString('latin1')

describe('createAsset and getAsset', () => {
  test('a file is stored with its metadata, and read again', async () => {
    await using server = await startServer()
    const workflow = (await call<Workflow>(server, 'POST', '/api/workflows', { body: greeting() })).body
    const within = await folder(server, 'Notes')
    const fields = {
      parent_id: within.id,
      metadata: '{"language":"en","tags":["a",{"b":null}]}',
      workflow_id: workflow.id,
      node_id: 'n1',
      sha256: sha256('Hello, Ada!'),
    }
    const asset = await made(server, fields, { content: 'Hello, Ada!', filename: 'greeting.txt' })
    const { id, created_at, updated_at, ...rest } = asset
    assert.match(id, /^asset_/)
    assert.equal(updated_at, created_at)
    assert.deepEqual(rest, {
      user_id: '1',
      workspace_id: null,
      parent_id: within.id,
      name: 'greeting.txt',
      content_type: 'text/plain; charset=utf-8',
      size: 11,
      sha256: sha256('Hello, Ada!'),
      metadata: { language: 'en', tags: ['a', { b: null }] },
      workflow_id: workflow.id,
      job_id: null,
      node_id: 'n1',
      get_url: `/api/storage/1/${id}.txt`,
      thumb_url: null,
      download_url: null,
      expires_at: null,
    })
    assert.deepEqual((await call(server, 'GET', `/api/assets/${id}`)).body, asset)
    assert.equal((await call(server, 'GET', asset.get_url!)).text, 'Hello, Ada!')
  })

  test('the bytes decide about the type, and a name must be a file name', async () => {
    await using server = await startServer()
    const gif = await made(
      server,
      { content_type: 'text/plain' },
      { content: GIF, filename: 'x.txt', type: 'image/png' },
    )
    assert.equal(gif.content_type, 'image/gif')
    const csv = await made(server, { content_type: 'text/csv', name: '../up/a\\table.csv' }, { content: 'a,b' })
    assert.deepEqual([csv.content_type, csv.name], ['text/csv', 'table.csv'])
    const claimed = await made(
      server,
      {},
      { content: '{}', type: 'application/json', filename: 'ü "q".json'.replaceAll('"', '%22') },
    )
    assert.deepEqual([claimed.content_type, claimed.name], ['application/json', 'ü %22q%22.json'])
    const empty = await made(server, { name: 'nothing' }, { content: '' })
    assert.deepEqual([empty.size, empty.sha256], [0, sha256('')])
    assert.equal((await call(server, 'GET', `/api/assets/${empty.id}/download`)).text, '')
  })

  test('equal content is stored once, and removed with the last of its assets', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const [one, other] = [await made(server, {}, { content: 'same' }), await made(server, {}, { content: 'same' })]
    assert.notEqual(one.id, other.id)
    assert.equal(storedFiles(server).length, 1)
    platform.ms += 2 * HOUR
    await remove(server, one)
    assert.equal((await call(server, 'GET', other.get_url!)).text, 'same')
    await remove(server, other)
    assert.equal(storedFiles(server).length, 0)
  })

  test('a field may be sent as a Blob, and a folder has no bytes', async () => {
    await using server = await startServer()
    const form = new FormData()
    form.append('metadata', new Blob(['{"a":1}'], { type: 'application/json' }))
    form.append('name', 'Ü.bin')
    form.append('file', new Blob(['bytes']), 'other.bin')
    const response = await fetch(`${server.url}/api/assets/`, { method: 'POST', body: form })
    const asset = (await response.json()) as Asset
    assert.deepEqual([response.status, asset.name, asset.metadata], [201, 'Ü.bin', { a: 1 }])
    const made = await folder(server, 'Empty')
    assert.deepEqual([made.content_type, made.size, made.sha256, made.get_url], ['folder', 0, null, null])
    assert.deepEqual(await refused(server, 'GET', `/api/assets/${made.id}/download`, {}, [409, 'conflict']), [])
  })
})

describe('a URL that expires', () => {
  /** A caller without a credential: Local mode trusts no page of another site. */
  const STRANGER = { headers: { Origin: 'http://evil.example' } }
  const read = async (server: TestServer, url: string) => {
    const { status, text } = await call(server, 'GET', url, STRANGER)
    return status === 200 ? text : status
  }
  const addressOf = async (server: TestServer, { id }: Asset, expires_in: number) =>
    (await call<Asset>(server, 'GET', `/api/assets/${id}?expires_in=${expires_in}`)).body

  test('is returned on request, and reads without a credential for the requested time', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const asset = await made(server, {}, { content: 'signed' })
    for (const ms of [0, 1, 999]) {
      platform.ms = Math.ceil(platform.ms / 1_000) * 1_000 + ms
      const { download_url, expires_at } = await addressOf(server, asset, 1)
      const end = Date.parse(expires_at!)
      assert.ok(end - platform.ms >= 1_000 && end - platform.ms < 2_000, String(ms))
      assert.equal(await read(server, download_url!), 'signed')
      platform.ms = end - 1
      assert.equal(await read(server, download_url!), 'signed')
      platform.ms = end
      assert.equal(await read(server, download_url!), 401)
    }
    assert.equal((await addressOf(server, await folder(server, 'x'), 60)).download_url, null)
    for (const seconds of ['0', '604801', '1.5', 'x'])
      assert.deepEqual(
        await refused(server, 'GET', `/api/assets/${asset.id}?expires_in=${seconds}`, {}, [400, 'invalid_request']),
        ['/query/expires_in'],
      )
  })

  test('ends with the token that requested it', async () => {
    const platform = clock()
    const data_dir = temporaryFolder()
    try {
      const settings = { data_dir, platform }
      await using server = await startServer(settings)
      const asset = await made(server, {}, { content: 'signed' })
      const minted = async (more: object = {}) => {
        const body = { name: 'a program', scopes: ['read'], ...more }
        return (await call<{ id: string; token: string }>(server, 'POST', '/api/tokens', { body })).body
      }
      const askedWith = async (token: string) => {
        const headers = { ...STRANGER.headers, Authorization: `Bearer ${token}` }
        return (await call<Asset>(server, 'GET', `/api/assets/${asset.id}?expires_in=3600`, { headers })).body
      }
      const [first, second] = [await minted(), await minted()]
      const [of_first, of_second] = [await askedWith(first.token), await askedWith(second.token)]
      assert.equal(await read(server, of_first.download_url!), 'signed')
      assert.equal(await read(server, of_first.download_url!.replace(/token_id=[^&]+&/, '')), 401)
      assert.equal(await read(server, of_first.download_url!.replace(first.id, second.id)), 401)
      assert.equal((await call(server, 'DELETE', `/api/tokens/${first.id}`)).status, 204)
      assert.equal(await read(server, of_first.download_url!), 401)
      assert.equal((await call(server, 'HEAD', of_first.download_url!, STRANGER)).status, 401)
      const short = await minted({ expires_at: new Date(platform.ms + 10_500).toISOString() })
      const of_short = await askedWith(short.token)
      assert.ok(Date.parse(of_short.expires_at!) <= platform.ms + 10_500)
      assert.equal(await read(server, of_short.download_url!), 'signed')
      platform.ms += 11_000
      assert.equal(await read(server, of_short.download_url!), 401)
      await server.close(0)
      await using again = await startServer(settings)
      assert.equal(await read(again, of_first.download_url!), 401)
      assert.equal(await read(again, of_second.download_url!), 'signed')
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('of a bridge that acts for a user ends when bridges are disabled', async () => {
    const data_dir = temporaryFolder()
    try {
      let address: string
      {
        await using server = await startServer({ data_dir, config: { integration_token: 'i'.repeat(40) } })
        const asset = await made(server, {}, { content: 'signed' })
        const token = server.context.access.tokens.signed.issueDelegatedToken({ user_id: '1', workspace_id: null })
        const headers = { ...STRANGER.headers, Authorization: `Bearer ${token}` }
        const { body } = await call<Asset>(server, 'GET', `/api/assets/${asset.id}?expires_in=600`, { headers })
        address = body.download_url!
        assert.equal(await read(server, address), 'signed')
      }
      await using server = await startServer({ data_dir })
      assert.equal(await read(server, address), 401)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('survives a new name, but not the deletion or replacement of its asset', async () => {
    await using server = await startServer()
    const [one, other] = [await made(server, {}, { content: 'one' }), await made(server, {}, { content: 'other' })]
    const [of_one, of_other] = [await addressOf(server, one, 60), await addressOf(server, other, 60)]
    const { search } = new URL(of_one.download_url!, server.url)
    assert.equal(await read(server, other.get_url! + search), 401)
    await call(server, 'PUT', `/api/assets/${one.id}`, { body: { name: 'new.txt' } })
    assert.equal(await read(server, of_one.download_url!), 'one')
    const next = await made(server, { replaces: one.id }, { content: 'two' })
    assert.equal(await read(server, of_one.download_url!), 404)
    assert.equal(await read(server, next.get_url! + search), 401)
    await remove(server, other)
    assert.equal(await read(server, of_other.download_url!), 404)
  })

  test('survives a restart of the server, but not a change of its key', async () => {
    const data_dir = temporaryFolder()
    let address = ''
    try {
      {
        await using server = await startServer({ data_dir })
        address = (await addressOf(server, await made(server, {}, { content: 'kept' }), 600)).download_url!
      }
      {
        await using server = await startServer({ data_dir })
        assert.equal(await read(server, address), 'kept')
      }
      {
        await using store = await Store.open(join(data_dir, 'svc.db'), {})
        await rotateMasterKey(store, data_dir, { present: null, next: null }, new AbortController().signal)
      }
      await using server = await startServer({ data_dir })
      assert.equal(await read(server, address), 401)
      assert.equal((await call(server, 'GET', new URL(address, server.url).pathname)).text, 'kept')
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

describe('createAsset from stored bytes', () => {
  test('accepts the bytes of an object, of an asset and of a temporary file', async () => {
    await using server = await startServer()
    const object = await call<StoredObject>(server, 'PUT', '/api/storage/1/kept/my%20note.txt', { raw: 'object' })
    const upload = await call<TemporaryAssetUpload>(server, 'POST', UPLOADS, fileForm('upload'))
    const asset = await made(server, {}, { content: 'asset', filename: 'a.txt' })
    const files = storedFiles(server).length
    const of = (uri: string, more: Fields = {}) => made(server, { uri, ...more })
    const taken = await of(object.body.uri)
    assert.deepEqual(
      [taken.name, taken.content_type, taken.sha256],
      ['my note.txt', 'text/plain; charset=utf-8', sha256('object')],
    )
    const again = await of(asset.get_url!, { name: 'b.txt', sha256: sha256('asset') })
    assert.equal(again.name, 'b.txt')
    assert.equal(storedFiles(server).length, files)
    const passing = await of(upload.body.uri)
    assert.deepEqual([passing.name, passing.size], ['note.txt', 6])
    assert.equal(storedFiles(server).length, files + 1)
    await call(server, 'DELETE', object.body.uri)
    await remove(server, asset)
    for (const [one, text] of [
      [taken, 'object'],
      [again, 'asset'],
      [passing, 'upload'],
    ] as const)
      assert.equal((await call(server, 'GET', one.get_url!)).text, text)
  })

  test('refuses invalid references', async () => {
    await using server = await startServer()
    const post = (fields: Fields, file?: File) => ['POST', '/api/assets', fieldsForm(fields, file)] as const
    for (const uri of [
      'https://example.org/x',
      '/api/storage/',
      '/api/storage/1/%2e%2e/x',
      '/api/storage/1/%00',
      '/etc/passwd',
      '/api/storage/1/%zz',
    ])
      assert.deepEqual(await refused(server, ...post({ uri }), [400, 'invalid_request']), ['/body/uri'])
    assert.deepEqual(await refused(server, ...post({ uri: '/api/storage/1/none.txt' }), [404, 'not_found']), [
      '/body/uri',
    ])
    const asset = await made(server, {}, { content: 'x' })
    assert.deepEqual(
      await refused(server, ...post({ uri: asset.get_url!, sha256: sha256('y') }), [400, 'invalid_request']),
      ['/body/sha256'],
    )
    assert.deepEqual(
      await refused(server, ...post({ uri: asset.get_url! }, { content: 'x' }), [400, 'invalid_request']),
      ['/body/uri'],
    )
  })
})

describe('createAsset with replaces', () => {
  test('puts the new asset in place of the old one, which is deleted with its bytes', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const within = await folder(server, 'Drafts')
    const old = await made(server, { parent_id: within.id, name: 'draft.txt' }, { content: 'old' })
    platform.ms += 2 * HOUR
    const next = await made(server, { replaces: old.id }, { content: 'new', filename: 'upload.txt' })
    assert.deepEqual([next.name, next.parent_id], ['draft.txt', within.id])
    assert.notEqual(next.id, old.id)
    assert.equal((await call(server, 'GET', `/api/assets/${old.id}`)).status, 404)
    assert.equal((await call(server, 'GET', old.get_url!)).status, 404)
    assert.equal(storedFiles(server).length, 1)
    const moved = await made(server, { replaces: next.id, name: 'final.txt', parent_id: 'root' }, { content: 'new' })
    assert.deepEqual([moved.name, moved.parent_id], ['final.txt', null])
    assert.equal((await call(server, 'GET', moved.get_url!)).text, 'new')
    const itself = await made(server, { replaces: moved.id, uri: moved.get_url! })
    assert.deepEqual([itself.name, (await call(server, 'GET', itself.get_url!)).text], ['final.txt', 'new'])
  })

  test('lets one of two replacements of the same asset succeed, and the other find nothing', async () => {
    await using server = await startServer()
    const old = await made(server, {}, { content: 'old' })
    const all = await Promise.all(
      ['a', 'b', 'c', 'd'].map((content) =>
        call(server, 'POST', '/api/assets', fieldsForm({ replaces: old.id }, { content })),
      ),
    )
    assert.deepEqual(all.map(({ status }) => status).sort(), [201, 404, 404, 404])
    assert.equal((await call<{ assets: Asset[] }>(server, 'GET', '/api/assets')).body.assets.length, 1)
  })

  test('cannot replace folders, or replace by a folder', async () => {
    await using server = await startServer()
    const within = await folder(server, 'Drafts')
    const post = (fields: Fields, file?: File) => ['POST', '/api/assets', fieldsForm(fields, file)] as const
    await refused(server, ...post({ replaces: within.id }, { content: 'x' }), [409, 'conflict'])
    const asset = await made(server, {}, { content: 'x' })
    assert.deepEqual(
      await refused(server, ...post({ replaces: asset.id, content_type: 'folder', name: 'f' }), [
        400,
        'invalid_request',
      ]),
      ['/body/replaces'],
    )
    assert.equal((await call(server, 'GET', `/api/assets/${asset.id}`)).status, 200)
  })
})

async function remove(server: TestServer, { id }: Asset): Promise<void> {
  assert.equal((await call(server, 'DELETE', `/api/assets/${id}`)).status, 204)
}
