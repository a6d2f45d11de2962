// Access to keys: only for the owner, or with a signature of the key, for any spelling of the path.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Answer, call, refused } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { ME, stored } from './storage-kit.ts'

/** A caller without a credential: Local mode trusts no page of another site. */
const STRANGER = { Origin: 'http://evil.example' }

function withoutIds({ status, headers, text }: Answer): object {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, headers: rest, text }
}

function signed({ context }: TestServer, key: string, seconds = 60): string {
  return context.assets.store.signatures.signUrl(key, Math.floor(context.platform.now() / 1_000) + seconds)
}

describe('a key of another user', () => {
  test('is answered like an unknown key, with as many statements', async () => {
    await using server = await startServer()
    const foreign = await stored(server, 'secret', { scope: { user_id: '2', workspace_id: null } })
    const elsewhere = await stored(server, 'secret', { scope: { user_id: '1', workspace_id: 'w' } })
    const { storage_key } = await stored(server, 'mine')
    const keys = [foreign.storage_key, elsewhere.storage_key, '1/asset_none.txt', '2/asset_none.txt', 'x']
    const others = [
      `${storage_key}x`,
      storage_key.replace('.txt', '.png'),
      storage_key.replace('1/', '2/'),
      `${storage_key}/x`,
    ]
    const conditions: Record<string, string>[] = [
      {},
      { Range: 'bytes=99-' },
      { 'If-None-Match': '*' },
      { 'If-Match': '"x"' },
    ]
    const given: object[] = []
    for (const method of ['GET', 'HEAD']) {
      for (const key of [...keys, ...others]) {
        for (const headers of conditions) {
          const before = server.context.store.statements
          const answer = await call(server, method, `/api/storage/${key}`, { headers })
          given.push({ method, statements: server.context.store.statements - before, ...withoutIds(answer) })
        }
      }
    }
    assert.equal(new Set(given.map((one) => JSON.stringify(one))).size, 2)
    assert.deepEqual(
      given.map((one) => (one as { status: number }).status).filter((status) => status !== 404),
      [],
    )
    assert.equal((await call(server, 'GET', `/api/storage/${storage_key}`)).text, 'mine')
  })

  test('is unknown after its removal', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, 'mine')
    assert.equal(await server.context.assets.store.remove(ME, storage_key), true)
    await refused(server, 'GET', `/api/storage/${storage_key}`, {}, [404, 'not_found'])
    await refused(server, 'GET', signed(server, storage_key), {}, [404, 'not_found'])
  })
})

describe('a path', () => {
  test('that is no valid key gives 400, and reads nothing', async () => {
    await using server = await startServer()
    writeFileSync(join(server.data_dir, 'secret.txt'), 'secret')
    const { storage_key } = await stored(server, 'mine')
    const steps = ['..', '.', '%2e%2e', '%2E%2E', '.%2e', '%2e.', '%2e', '']
    const paths = steps.flatMap((step) => [
      `${step}/secret.txt`,
      `1/${step}/secret.txt`,
      `1/${step}`,
      `${step}%2Fsecret.txt`,
    ])
    const more = [
      ...paths,
      '..%2f..%2fsecret.txt',
      '1/..%5c..%5csecret.txt',
      '1\\..\\..\\secret.txt',
      '%2Fetc%2Fpasswd',
      '/etc/passwd',
      '1/x%00.txt',
      '%00',
      '1/a%0d%0ab',
      '1/%7f',
      '1//x',
      `${storage_key}/`,
      `${storage_key}/..`,
      `x/../${storage_key}`,
      `%2e/${storage_key}`,
      `1/${'x'.repeat(256)}`,
      `1/${'x/'.repeat(600)}x`,
    ]
    for (const path of more) {
      const problems = await refused(server, 'GET', `/api/storage/${path}`, {}, [400, 'invalid_request'])
      assert.deepEqual(problems, ['/path/key'], path)
      assert.equal((await call(server, 'HEAD', `/api/storage/${path}`)).status, 400, path)
    }
    for (const path of ['1/%zz', '1/%ff'])
      await refused(server, 'GET', `/api/storage/${path}`, {}, [400, 'invalid_request'])
  })

  test('is decoded once, and a slash may come as %2F', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, 'mine')
    assert.equal((await call(server, 'GET', `/api/storage/${storage_key.replace('/', '%2F')}`)).text, 'mine')
    assert.equal((await call(server, 'GET', `/api/storage/${storage_key.replace('1/', '%31/')}`)).text, 'mine')
    for (const path of ['1/%252e%252e/secret.txt', '%252e%252e/x', `1%252F${storage_key.slice(2)}`])
      await refused(server, 'GET', `/api/storage/${path}`, {}, [404, 'not_found'])
    await refused(server, 'GET', '/api/storage/', {}, [404, 'not_found'])
    await refused(server, 'GET', '/api/storage', {}, [404, 'not_found'])
  })

  test('takes no other methods', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, 'mine')
    for (const method of ['POST', 'PATCH']) {
      const { status, headers } = await call(server, method, `/api/storage/${storage_key}`)
      assert.deepEqual([status, headers.allow], [405, 'DELETE, GET, HEAD, OPTIONS, PUT'], method)
    }
  })

  test('takes no other query', async () => {
    await using server = await startServer()
    const { storage_key } = await stored(server, 'mine')
    for (const query of ['x=1', 'expires=soon', 'expires=-1', 'signature=!', 'expires=1&expires=2'])
      await refused(server, 'GET', `/api/storage/${storage_key}?${query}`, {}, [400, 'invalid_request'])
  })
})

describe('a signature', () => {
  test('authorises only its key, without a credential', async () => {
    await using server = await startServer()
    const mine = await stored(server, 'mine')
    const foreign = await stored(server, 'his', { scope: { user_id: 'bob@example.com', workspace_id: 'w' } })
    assert.match(foreign.storage_key, /^bob~40example~2ecom\//)
    for (const [{ storage_key }, text] of [
      [mine, 'mine'],
      [foreign, 'his'],
    ] as const) {
      for (const headers of [{}, STRANGER]) {
        const path = signed(server, storage_key)
        assert.equal((await call(server, 'GET', path, { headers })).text, text)
        const part = await call(server, 'GET', path, { headers: { ...headers, Range: 'bytes=0-0' } })
        assert.deepEqual([part.status, part.text], [206, text[0]])
        const head = await call(server, 'HEAD', path, { headers })
        assert.deepEqual([head.status, head.headers['content-length']], [200, String(text.length)])
        const encoded = path.replace(storage_key, storage_key.replace('/', '%2F'))
        assert.equal((await call(server, 'GET', encoded, { headers })).text, text)
      }
      assert.equal((await call(server, 'PUT', signed(server, storage_key), { headers: STRANGER })).status, 401)
    }
    await refused(server, 'GET', signed(server, '1/asset_none.txt'), { headers: STRANGER }, [404, 'not_found'])
    const dots = signed(server, '1/../x')
    await refused(server, 'GET', dots, { headers: STRANGER }, [400, 'invalid_request'])
  })

  test('counts as absent if it is invalid, expired or of another key', async () => {
    await using server = await startServer()
    const mine = await stored(server, 'mine')
    const foreign = await stored(server, 'his', { scope: { user_id: '2', workspace_id: null } })
    const good = (key: string) => new URL(signed(server, key), server.url)
    const bad = (key: string) => {
      const changed = good(key)
      changed.searchParams.set('signature', 'A'.repeat(43))
      const later = good(key)
      later.searchParams.set('expires', String(Number(later.searchParams.get('expires')) + 1))
      const unsigned = good(key)
      unsigned.searchParams.delete('signature')
      const endless = good(key)
      endless.searchParams.delete('expires')
      const other = good(`${key}x`)
      other.pathname = `/api/storage/${key}`
      const expired = new URL(signed(server, key, 0), server.url)
      return [changed, later, unsigned, endless, other, expired].map((url) => url.pathname + url.search)
    }
    for (const path of bad(mine.storage_key)) {
      assert.equal((await call(server, 'GET', path)).text, 'mine', path)
      const stranger = await call(server, 'GET', path, { headers: STRANGER })
      assert.deepEqual(
        [stranger.status, stranger.body],
        [401, { error: 'Remote access requires authentication' }],
        path,
      )
      assert.equal((await call(server, 'HEAD', path, { headers: STRANGER })).status, 401)
    }
    for (const path of bad(foreign.storage_key)) await refused(server, 'GET', path, {}, [404, 'not_found'])
  })

  test('gives access to nothing else', async () => {
    await using server = await startServer()
    const { search } = new URL(signed(server, 'x'), server.url)
    for (const path of ['/api/workflows', '/api/storage/', '/nowhere'])
      assert.equal((await call(server, 'GET', path + search, { headers: STRANGER })).status, 401, path)
  })
})
