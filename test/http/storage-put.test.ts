// putObject, deleteObject and putAdminAsset: stored objects equal the sent bytes, only under the caller's keys, and only if the conditions hold.
import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { StoredObject } from '../../generated/types.ts'
import { BlobStore } from '../../src/assets/stores/blob-store.ts'
import { LocalObjectStore } from '../../src/assets/stores/local-object-store.ts'
import { putObject } from '../../src/db/assets/objects.ts'
import { clock, HOUR } from '../assets/kit.ts'
import { memoryLog } from '../db/kit.ts'
import { call, refused } from '../helpers/http.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, until } from '../helpers/server.ts'
import {
  etagOf,
  get,
  type Headers,
  md5Of,
  objectRows,
  put,
  remove,
  STORAGE,
  sha256Of,
  sharedServer,
  storeFiles,
} from './objects-kit.ts'
import { peer } from './peer.ts'
import { ME, stored } from './storage-kit.ts'
import { given } from './uploads-kit.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

describe('an object', () => {
  test('is stored, described, read, replaced and deleted', async () => {
    await using server = await startServer()
    const first = await put(server, '1/notes/a.txt', 'Hello', { 'Content-Type': 'text/markdown' })
    const { updated_at, ...told } = first.body
    assert.equal(first.status, 201)
    assert.deepEqual(told, {
      key: '1/notes/a.txt',
      uri: '/api/storage/1/notes/a.txt',
      content_type: 'text/markdown',
      size: 5,
      sha256: sha256Of('Hello'),
      etag: etagOf('Hello'),
    })
    assert.equal(first.headers.etag, etagOf('Hello'))
    assert.match(updated_at, /^\d{4}-.*Z$/)
    const read = await get(server, '1/notes/a.txt')
    assert.deepEqual([read.status, read.text], [200, 'Hello'])
    assert.equal(read.headers['content-type'], 'text/markdown')
    assert.equal(read.headers.etag, etagOf('Hello'))
    assert.equal(read.headers['last-modified'], new Date(updated_at).toUTCString())
    assert.match(read.headers['content-disposition'] ?? '', /a\.txt/)
    const part = await get(server, '1/notes/a.txt', { Range: 'bytes=1-2' })
    assert.deepEqual([part.status, part.text], [206, 'el'])
    const again = await put(server, '1/notes/a.txt', 'Bye', { 'Content-Type': 'text/plain' })
    assert.deepEqual([again.status, again.body.etag, again.headers.etag], [200, etagOf('Bye'), etagOf('Bye')])
    assert.equal((await get(server, '1/notes/a.txt')).text, 'Bye')
    assert.equal((await remove(server, '1/notes/a.txt')).status, 204)
    assert.equal((await get(server, '1/notes/a.txt')).status, 404)
    assert.equal((await remove(server, '1/notes/a.txt')).status, 204)
    assert.deepEqual(objectRows(server), [])
  })

  test('may be empty, with a length of zero and without a length', async () => {
    await using server = await startServer()
    assert.deepEqual([(await put(server, '1/a', '')).body.size, (await put(server, '1/a', '')).status], [0, 200])
    const bare = await call<StoredObject>(server, 'PUT', `${STORAGE}/1/b`)
    assert.deepEqual([bare.status, bare.body.size, bare.body.sha256], [201, 0, sha256Of('')])
    assert.equal(bare.body.content_type, 'application/octet-stream')
    const read = await get(server, '1/b')
    assert.deepEqual([read.status, read.text, read.headers['content-length']], [200, '', '0'])
  })

  test('has the type of its bytes, for any claimed type', async () => {
    await using server = await startServer()
    const type = async (bytes: string | Uint8Array, claimed?: string) =>
      (await put(server, '1/x', bytes, claimed === undefined ? {} : { 'Content-Type': claimed })).body.content_type
    assert.equal(await type(PNG, 'text/html'), 'image/png')
    assert.equal(await type('Hello', 'image/png'), 'text/plain; charset=utf-8')
    assert.equal(await type('Hello'), 'text/plain; charset=utf-8')
    assert.equal(await type('Hello', 'garbage'), 'text/plain; charset=utf-8')
    assert.equal(await type('{}', 'application/json'), 'application/json')
    await put(server, '1/page.html', '<script>1</script>', { 'Content-Type': 'text/html' })
    const page = await get(server, '1/page.html')
    assert.match(page.headers['content-disposition'] ?? '', /^attachment/)
    assert.match(String(page.headers['content-security-policy']), /sandbox/)
  })

  test('with the bytes of another is stored once, and the bytes stay while any object needs them', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    for (const key of ['1/a', '1/b', '1/c/d']) await put(server, key, 'the same')
    assert.equal(storeFiles(server).kept.length, 1)
    platform.ms += 2 * HOUR
    await remove(server, '1/a')
    await put(server, '1/b', 'another')
    assert.equal((await get(server, '1/c/d')).text, 'the same')
    assert.equal(storeFiles(server).kept.length, 2)
    await remove(server, '1/c/d')
    assert.equal(storeFiles(server).kept.length, 1)
    assert.equal((await get(server, '1/b')).text, 'another')
  })

  test('shares its bytes with an asset of the same user, and each outlives the other', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const { storage_key } = await stored(server, 'both')
    await put(server, '1/object', 'both')
    assert.equal(storeFiles(server).kept.length, 1)
    platform.ms += 2 * HOUR
    await server.context.assets.store.remove(ME, storage_key)
    assert.equal((await get(server, '1/object')).text, 'both')
  })

  test('is deleted even if its bytes can be removed only later, by the sweep', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    for (const key of ['1/a', '1/b']) assert.equal((await put(server, key, key)).status, 201)
    platform.ms += 2 * HOUR
    // Removals use it.
    const incoming = join(server.data_dir, 'storage', 'incoming')
    renameSync(incoming, `${incoming}.away`)
    assert.equal((await remove(server, '1/a')).status, 204)
    renameSync(`${incoming}.away`, incoming)
    assert.equal((await get(server, '1/a')).status, 404)
    assert.equal(storeFiles(server).kept.length, 2)
    const objects = new LocalObjectStore(join(server.data_dir, 'storage'), platform.now)
    const swept = await new BlobStore(server.context.store, objects, platform.now).sweepUnreferenced(100)
    assert.deepEqual(swept, { examined: 2, removed: 1, ended: true })
    assert.equal((await get(server, '1/b')).text, '1/b')
  })

  test('can be loaded by runs', async () => {
    await using server = await startServer()
    await put(server, encodeURI('1/in put/ö.txt'), 'loaded')
    const file = await server.context.assets.files.byKey(ME, '1/in put/ö.txt')
    assert.deepEqual([file?.name, file?.size, file?.expires_at], ['ö.txt', 6, null])
  })

  test('survives a restart', async () => {
    await using first = await startServer()
    await put(first, '1/a', 'kept')
    await first.close(0)
    await using second = await startServer({ data_dir: first.data_dir })
    assert.equal((await get(second, '1/a')).text, 'kept')
  })
})

describe('a key', () => {
  test('is returned as a URL that can be used unchanged', async () => {
    await using server = await startServer()
    const names = [
      'a b.txt',
      "it's (1)!*.txt",
      'ö/ü.txt',
      '100%.txt',
      'a?b#c',
      '%2e%2e',
      'emoji-🦊',
      'a+b&c=d',
      '~tilde',
    ]
    for (const name of names) {
      const key = `1/${name}`
      const sent = key.split('/').map(encodeURIComponent).join('/')
      const { status, body } = await put(server, sent, name)
      assert.deepEqual([status, body.key], [201, key])
      assert.match(body.uri, /^\/api\/storage\/[\w.~%/-]+$/)
      assert.equal((await call(server, 'GET', body.uri)).text, name)
    }
    assert.equal(objectRows(server).length, names.length)
  })

  test('that is invalid is refused, and nothing is stored', async () => {
    await using server = await startServer()
    const steps = ['..', '.', '%2e%2e', '%2E%2E', '.%2e', '%2e.', '%2e', '']
    const bad = [
      ...steps.flatMap((step) => [`${step}/x`, `1/${step}/x`, `1/${step}`, `${step}%2Fx`, `1%2F${step}%2Fx`]),
      '1/..%5c..%5cx',
      '1\\x',
      '1/%5c%5chost%5cshare',
      '%2Fetc%2Fpasswd',
      '/etc/passwd',
      '1/x%00.txt',
      '%00',
      '1/a%0d%0ab',
      '1/%7f',
      '1/%c2%85',
      '1/x/',
      `1/${'x'.repeat(256)}`,
      `1/${encodeURIComponent('ö'.repeat(128))}`,
      `1/${'x/'.repeat(600)}x`,
    ]
    for (const key of bad)
      for (const method of ['PUT', 'DELETE']) {
        const problems = await refused(server, method, `${STORAGE}/${key}`, { raw: 'x' }, [400, 'invalid_request'])
        assert.deepEqual(problems, ['/path/key'], key)
      }
    // Overlong and malformed UTF-8 is no text.
    for (const key of ['1/%c0%ae%c0%ae/x', '1/%e0%80%ae', '1/%zz', '1/%ff', '1/%ed%a0%80'])
      for (const method of ['PUT', 'DELETE'])
        await refused(server, method, `${STORAGE}/${key}`, { raw: 'x' }, [400, 'invalid_request'])
    assert.deepEqual([objectRows(server), storeFiles(server)], [[], { kept: [], incoming: [] }])
  })

  test('is decoded once', async () => {
    await using server = await startServer()
    const { body } = await put(server, '1/%252e%252e/%252Fetc', 'x')
    assert.equal(body.key, '1/%2e%2e/%2Fetc')
    assert.deepEqual(storeFiles(server).kept.length, 1)
    assert.equal((await put(server, '1%2Fa%2Fb', 'y')).body.key, '1/a/b')
  })

  test('that the service assigns cannot be written, whether it is used or not', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, 'of an asset')
    const upload = await server.context.assets.temporary.put(ME, given('uploaded'))
    const none = upload.storage_key.replace(/[0-9a-f]{48}/, '0'.repeat(48))
    const taken = [storage_key, '1/asset_', '1/asset_none.png', '1/asset_x.thumb.webp', upload.storage_key, none]
    for (const key of taken)
      for (const headers of [{}, { 'If-None-Match': '*' }, { 'If-Match': '"x"' }] as Headers[])
        await refused(server, 'PUT', `${STORAGE}/${key}`, { raw: 'x', headers }, [409, 'conflict'])
    await refused(server, 'DELETE', `${STORAGE}/${storage_key}`, {}, [409, 'conflict'])
    assert.equal((await get(server, storage_key)).text, 'of an asset')
    for (const key of ['1/asset_none.png', none]) assert.equal((await remove(server, key)).status, 204)
    for (const key of ['1/a/asset_x.png', '1/my_asset_x', 'temp/1/asset_x', `temp/1/x/${'0'.repeat(48)}.txt`])
      assert.equal((await put(server, key, key)).status, 201, key)
  })

  test('of a temporary upload is deleted with its file, also conditionally', async () => {
    await using server = await startServer()
    const { storage_key } = await server.context.assets.temporary.put(ME, given('uploaded'))
    const stale = { headers: { 'If-Match': '"x"' } }
    await refused(server, 'DELETE', `${STORAGE}/${storage_key}`, stale, [412, 'precondition_failed'])
    assert.equal((await remove(server, storage_key, { 'If-Match': etagOf('uploaded') })).status, 204)
    assert.equal((await get(server, storage_key)).status, 404)
    assert.equal((await remove(server, storage_key)).status, 204)
  })
})

describe('a condition', () => {
  test('prevents replacing or deleting an unknown version', async () => {
    await using server = await startServer()
    const path = `${STORAGE}/1/a`
    const failed = (method: string, headers: Record<string, string>) =>
      refused(server, method, path, { raw: 'new', headers }, [412, 'precondition_failed'])
    await failed('PUT', { 'If-Match': '*' })
    await failed('PUT', { 'If-Match': etagOf('first') })
    await failed('DELETE', { 'If-Match': '*' })
    assert.equal((await put(server, '1/a', 'first', { 'If-None-Match': '*' })).status, 201)
    await failed('PUT', { 'If-None-Match': '*' })
    await failed('PUT', { 'If-Match': etagOf('other') })
    await failed('PUT', { 'If-Match': `W/${etagOf('first')}` })
    await failed('PUT', { 'If-Match': '*', 'If-None-Match': '*' })
    await failed('DELETE', { 'If-Match': etagOf('other') })
    assert.equal((await get(server, '1/a')).text, 'first')
    assert.equal((await put(server, '1/a', 'second', { 'If-Match': `"x", ${etagOf('first')}` })).status, 200)
    assert.equal((await put(server, '1/a', 'third', { 'If-Match': '*' })).status, 200)
    assert.equal((await remove(server, '1/a', { 'If-Match': etagOf('third') })).status, 204)
    const problems = await refused(server, 'PUT', path, { raw: 'x', headers: { 'If-None-Match': '"x"' } }, [
      400,
      'invalid_request',
    ])
    assert.deepEqual(problems, ['/headers/if-none-match'])
  })

  test('that no object exists lets one of many writers succeed', async () => {
    await using server = await startServer()
    const writers = Array.from({ length: scaled(16) }, (_, at) => `writer ${at}`)
    const answers = await Promise.all(writers.map((text) => put(server, '1/a', text, { 'If-None-Match': '*' })))
    const winners = answers.flatMap(({ status }, at) => (status === 201 ? [writers[at]] : []))
    assert.equal(winners.length, 1)
    assert.equal(answers.filter(({ status }) => status === 412).length, writers.length - 1)
    assert.equal((await get(server, '1/a')).text, winners[0])
  })

  test('on a version lets one of many writers succeed', async () => {
    await using server = await startServer()
    await put(server, '1/a', 'first')
    const writers = Array.from({ length: scaled(16) }, (_, at) => `writer ${at}`)
    const condition = { 'If-Match': etagOf('first') }
    const answers = await Promise.all(writers.map((text) => put(server, '1/a', text, condition)))
    const winners = answers.flatMap(({ status }, at) => (status === 200 ? [writers[at]] : []))
    assert.equal(winners.length, 1)
    assert.equal((await get(server, '1/a')).text, winners[0])
  })
})

describe('a digest', () => {
  test('that is sent has to match the body, or nothing is stored', async () => {
    await using server = await startServer()
    const right = { 'Content-MD5': md5Of('Hello'), 'x-checksum-sha256': sha256Of('Hello') }
    assert.equal((await put(server, '1/a', 'Hello', right)).status, 201)
    const cases: [Record<string, string>, string][] = [
      [{ 'Content-MD5': md5Of('hello') }, '/headers/content-md5'],
      [{ 'x-checksum-sha256': sha256Of('hello') }, '/headers/x-checksum-sha256'],
      [{ ...right, 'Content-MD5': md5Of('') }, '/headers/content-md5'],
      [{ 'Content-MD5': 'garbage' }, '/headers/content-md5'],
      [{ 'x-checksum-sha256': sha256Of('Hello').toUpperCase() }, '/headers/x-checksum-sha256'],
    ]
    for (const [headers, path] of cases)
      for (const key of ['1/a', '1/b'])
        assert.deepEqual(
          await refused(server, 'PUT', `${STORAGE}/${key}`, { raw: 'Hello', headers }, [400, 'invalid_request']),
          [path],
        )
    assert.equal((await get(server, '1/a')).text, 'Hello')
    assert.deepEqual(objectRows(server).length, 1)
    assert.deepEqual(storeFiles(server).incoming, [])
    assert.equal(storeFiles(server).kept.length, 1)
  })
})

function encodedPut(transfer: string): string {
  return `PUT ${STORAGE}/1/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: ${transfer}\r\n\r\n1\r\nx\r\n0\r\n\r\n`
}

describe('a body', () => {
  test('that is encoded, or partial, is refused', async () => {
    await using server = await startServer()
    const path = `${STORAGE}/1/a`
    for (const coding of ['gzip', 'br', 'identity, gzip', 'GZIP'])
      await refused(server, 'PUT', path, { raw: 'x', headers: { 'Content-Encoding': coding } }, [
        415,
        'unsupported_media_type',
      ])
    const part = { raw: 'x', headers: { 'Content-Range': 'bytes 0-0/2' } }
    assert.deepEqual(await refused(server, 'PUT', path, part, [400, 'invalid_request']), ['/headers/content-range'])
    for (const transfer of ['gzip, chunked', 'identity, chunked', 'chunked, chunked']) {
      using one = await peer(server, encodedPut(transfer))
      await until('a refusal', () => /HTTP\/1\.1 400 .*(?:transfer-encoding|Connection: close)/s.test(one.text()))
    }
    assert.deepEqual(objectRows(server), [])
    using one = await peer(server, encodedPut('Chunked'))
    await until('an answer', () => one.text().startsWith('HTTP/1.1 201 '))
    for (const identity of ['Identity', ''])
      assert.equal((await put(server, '1/a', 'x', { 'Content-Encoding': identity })).status, 200)
    await refused(server, 'PUT', `${path}?x=1`, { raw: 'x' }, [400, 'invalid_request'])
    await refused(server, 'DELETE', `${path}?x=1`, {}, [400, 'invalid_request'])
  })
})

describe('an object under temp/', () => {
  test('expires after a day, and its bytes are removed by the sweep', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    await put(server, 'temp/1/many/0', 'many')
    const row = server.context.assets.objects.find(ME, 'temp/1/many/0')!
    // More than a round of the sweep removes.
    await server.context.store.write((tx) => {
      for (let at = 1; at < 1_100; at += 1) putObject(tx, { ...row, storage_key: `temp/1/many/${at}` })
    })
    await put(server, 'temp/1/a', 'for a day')
    await put(server, '1/a', 'for ever')
    platform.ms += 23 * HOUR
    const late = await put(server, 'temp/1/late', 'later')
    assert.equal(late.status, 201)
    assert.equal((await get(server, 'temp/1/a')).text, 'for a day')
    platform.ms += HOUR
    assert.equal((await get(server, 'temp/1/a')).status, 404)
    await refused(server, 'PUT', `${STORAGE}/temp/1/a`, { raw: 'x', headers: { 'If-Match': '*' } }, [
      412,
      'precondition_failed',
    ])
    assert.equal((await put(server, 'temp/1/many/0', 'anew', { 'If-None-Match': '*' })).status, 201)
    await server.context.runs.retention.sweep()
    const left = objectRows(server).map(({ storage_key }) => storage_key)
    assert.deepEqual(left, ['1/a', 'temp/1/late', 'temp/1/many/0'])
    assert.equal(storeFiles(server).kept.length, 3)
    assert.equal((await get(server, 'temp/1/late')).text, 'later')
  })
})

const ADA = { user_id: 'ada', workspace_id: null }
const BOB = { user_id: 'bob@example.com', workspace_id: null }

describe('another user', () => {
  test('learns nothing of a key by any method, and changes nothing', async () => {
    await using shared = await sharedServer()
    const { server } = shared
    const [ada, bob] = [await shared.as(ADA), await shared.as(BOB)]
    for (const key of ['ada/a', 'temp/ada/a']) assert.equal((await put(server, key, 'hers', ada)).status, 201)
    const asset = await stored(server, 'hers', { scope: ADA })
    const upload = await server.context.assets.temporary.put(ADA, given('hers'))
    const there = ['ada/a', 'temp/ada/a', asset.storage_key, upload.storage_key]
    const missing = [
      'ada/none',
      'temp/ada/none',
      'ada/asset_none.txt',
      'nobody/a',
      'nobody',
      'temp/nobody',
      'ada',
      'temp',
    ]
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
      for (const more of [
        {},
        { 'If-Match': '*' },
        { 'If-Match': etagOf('hers') },
        { 'If-None-Match': '*' },
      ] as Headers[]) {
        const told = new Set<string>()
        for (const key of [...there, ...missing]) {
          const before = server.context.store.statements
          const answer = await call(server, method, `${STORAGE}/${key}`, {
            headers: { ...bob, ...more },
            ...(method === 'PUT' ? { raw: 'his' } : {}),
          })
          const { date: _date, 'x-request-id': _id, ...headers } = answer.headers
          // Uploads have no rows.
          const statements = key === upload.storage_key ? null : server.context.store.statements - before
          told.add(JSON.stringify([answer.status, headers, answer.text, method === 'PUT' ? statements : null]))
        }
        assert.equal([...told].filter((one) => one.startsWith('[404,')).length, told.size, [...told].join('\n'))
        assert.ok(told.size <= (method === 'PUT' ? 2 : 1), [...told].join('\n'))
      }
    for (const key of there) assert.equal((await get(server, key, ada)).text, 'hers')
    assert.equal(objectRows(server).length, 2)
    assert.deepEqual(storeFiles(server).incoming, [])
  })

  test('with special characters in its id has keys all the same', async () => {
    await using shared = await sharedServer()
    const bob = await shared.as(BOB)
    assert.equal((await put(shared.server, 'bob~40example~2ecom/a', 'his', bob)).status, 201)
    assert.equal((await put(shared.server, 'bob@example.com/a', 'his', bob)).status, 404)
    const temp = await shared.as({ user_id: 'temp', workspace_id: null })
    assert.equal((await put(shared.server, '~74emp/a', 'kept', temp)).status, 201)
    assert.equal((await put(shared.server, 'temp/a', 'kept', temp)).status, 404)
    assert.equal((await put(shared.server, 'temp/temp/a', 'kept', temp)).status, 404)
    assert.equal((await put(shared.server, 'temp/~74emp/a', 'passing', temp)).status, 201)
  })

  test('never shares bytes, so that their existence is not revealed', async () => {
    await using shared = await sharedServer()
    for (const scope of [ADA, BOB]) {
      const segment = scope === ADA ? 'ada' : 'bob~40example~2ecom'
      assert.equal((await put(shared.server, `${segment}/a`, 'equal', await shared.as(scope))).status, 201)
    }
    assert.equal(storeFiles(shared.server).kept.length, 2)
  })

  test('and the same user in another workspace have separate objects under the same key', async () => {
    await using shared = await sharedServer()
    const { server } = shared
    const scopes = [null, 'w1', 'w2'].map((workspace_id) => ({ user_id: 'ada', workspace_id }))
    const callers = await Promise.all(scopes.map((scope) => shared.as(scope)))
    for (const [at, headers] of callers.entries()) {
      assert.equal((await get(server, 'ada/a', headers)).status, 404)
      assert.equal((await put(server, 'ada/a', `of ${at}`, { ...headers, 'If-None-Match': '*' })).status, 201)
    }
    for (const [at, headers] of callers.entries()) assert.equal((await get(server, 'ada/a', headers)).text, `of ${at}`)
    assert.equal((await remove(server, 'ada/a', callers[1]!)).status, 204)
    const texts = await Promise.all(callers.map(async (headers) => (await get(server, 'ada/a', headers)).status))
    assert.deepEqual(texts, [200, 404, 200])
  })

  test('gets no access by a signature, which only covers assets and uploads', async () => {
    await using server = await startServer()
    await put(server, '1/a', 'mine')
    const { platform } = server.context
    const { store: assets } = server.context.assets
    const path = assets.signatures.signUrl('1/a', Math.floor(platform.now() / 1_000) + 60)
    await refused(server, 'GET', path, { headers: { Origin: 'http://evil.example' } }, [404, 'not_found'])
    await refused(server, 'PUT', path, { raw: 'x' }, [400, 'invalid_request'])
  })
})

describe('an administrator', () => {
  const path = (name: string) => `/admin/storage/assets/${name}`

  test('stores files by name under its own keys', async () => {
    await using shared = await sharedServer({ environment: { SVC_ADMIN_USERS: 'root' } })
    const { server } = shared
    const root = await shared.as({ user_id: 'root', workspace_id: null })
    const sent = (name: string, raw: string, headers = {}) =>
      call<StoredObject>(server, 'PUT', path(name), { raw, headers: { ...root, ...headers } })
    const first = await sent('logo%20one.svg', '<svg/>', { 'Content-Type': 'image/svg+xml' })
    assert.deepEqual([first.status, first.body.key], [201, 'root/logo one.svg'])
    assert.equal(first.headers.etag, etagOf('<svg/>'))
    assert.equal((await sent('logo%20one.svg', '<svg />', { 'Content-MD5': md5Of('<svg />') })).status, 200)
    assert.equal((await call(server, 'GET', first.body.uri, { headers: root })).text, '<svg />')
    const put400 = (name: string, headers = {}) =>
      refused(server, 'PUT', path(name), { raw: 'x', headers: { ...root, ...headers } }, [400, 'invalid_request'])
    for (const name of [
      '..',
      '%2e%2e',
      'a%2Fb',
      'a%5Cb',
      'a%00b',
      'x'.repeat(256),
      encodeURIComponent('ö'.repeat(128)),
    ])
      assert.deepEqual(await put400(name), ['/path/name'], name)
    assert.deepEqual(await put400('a', { 'Content-MD5': md5Of('y') }), ['/headers/content-md5'])
    assert.deepEqual(await put400('a', { 'x-checksum-sha256': sha256Of('y') }), ['/headers/x-checksum-sha256'])
    await refused(server, 'PUT', path('asset_x.png'), { raw: 'x', headers: root }, [409, 'conflict'])
    await refused(server, 'PUT', path('a'), { raw: 'x', headers: { ...root, 'Content-Encoding': 'gzip' } }, [
      415,
      'unsupported_media_type',
    ])
    assert.equal(objectRows(server).length, 1)
    assert.deepEqual(storeFiles(server).incoming, [])
  })

  test('is required, and the audit log records calls and refusals', async () => {
    const { log, lines } = memoryLog()
    await using shared = await sharedServer({ environment: { SVC_ADMIN_USERS: 'root' }, log })
    const headers = await shared.as(ADA)
    await refused(shared.server, 'PUT', path('a'), { raw: 'x', headers }, [403, 'forbidden'])
    assert.deepEqual(objectRows(shared.server), [])
    const root = await shared.as({ user_id: 'root', workspace_id: null })
    assert.equal((await call(shared.server, 'PUT', path('a'), { raw: 'x', headers: root })).status, 201)
    const heard: readonly object[] = lines
    const told = heard.flatMap((line) => ('audit' in line && 'user_id' in line ? [[line.audit, line.user_id]] : []))
    assert.deepEqual(told, [
      ['refused', 'ada'],
      ['administrative_call', 'root'],
    ])
  })
})
