// Access tokens over HTTP: minted, used, listed, revoked; also by two users of an identity provider, and across a restart.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { AccessToken, CreatedToken, CreateTokenRequest } from '../../../generated/types.ts'
import { bearer, damaged, ELSEWHERE } from '../../access/token-kit.ts'
import { call, type ErrorBody, refused } from '../../helpers/http.ts'
import { startIdentityProvider } from '../../helpers/identity-provider.ts'
import { startServer, temporaryFolder } from '../../helpers/server.ts'
import { connect } from '../../helpers/socket.ts'
import { greeting } from '../kit.ts'

type Server = { readonly url: string }
type Headers = Record<string, string>

/** createToken, as the caller of these headers. */
async function mint(server: Server, body: CreateTokenRequest, headers: Headers = {}): Promise<CreatedToken> {
  const answer = await call<CreatedToken>(server, 'POST', '/api/tokens', { body, headers })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

/** listTokens */
async function list(server: Server, headers: Headers = {}): Promise<AccessToken[]> {
  const answer = await call<AccessToken[]>(server, 'GET', '/api/tokens', { headers })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

async function status(server: Server, headers: Headers, method = 'GET', path = '/api/workflows'): Promise<number> {
  const body = method === 'POST' ? { body: greeting() } : {}
  return (await call(server, method, path, { headers, ...body })).status
}

describe('an access token', () => {
  test('is shown once, authenticates a caller, is listed, and ends with deleteToken', async () => {
    await using server = await startServer()
    const answer = await call<CreatedToken>(server, 'POST', '/api/tokens', { body: { name: ' Laptop agent ' } })
    assert.equal(answer.status, 201)
    const { token, ...record } = answer.body
    assert.equal(answer.headers.location, `/api/tokens/${record.id}`)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.match(token, /^ntk_[0-9a-f]{32}_[\w-]{43}$/)
    const { id: _id, created_at: _at, ...rest } = record
    const expected = { name: ' Laptop agent ', scopes: ['read', 'write'], workspace_id: null }
    assert.deepEqual(rest, { ...expected, expires_at: null, last_used_at: null })
    assert.deepEqual(await list(server), [record])

    assert.equal(await status(server, ELSEWHERE), 401)
    assert.equal(await status(server, bearer(token)), 200)
    const [used] = await list(server)
    assert.match(used!.last_used_at!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/)

    const path = `/api/tokens/${record.id}`
    assert.equal((await call(server, 'DELETE', path)).status, 204)
    assert.equal(await status(server, bearer(token)), 401)
    assert.deepEqual(await list(server), [])
    await refused(server, 'DELETE', path, {}, [404, 'not_found'])
  })

  test('opens a socket, in a header and in the query', async () => {
    await using server = await startServer()
    const { token } = await mint(server, { name: 'agent' })
    const options = [{ headers: bearer(token) }, { headers: ELSEWHERE, path: `/ws?api_key=${token}` }]
    for (const one of options) {
      await using client = await connect(server, one)
      client.send({ command: 'ping' })
      await client.next({ type: 'pong' })
    }
    await assert.rejects(connect(server, { headers: bearer(damaged(token)) }))
  })

  test('falls through to the rules of the mode if it is invalid', async () => {
    await using server = await startServer()
    const headers = { Authorization: `Bearer ntk_${'0'.repeat(32)}_${'A'.repeat(43)}` }
    assert.equal(await status(server, headers), 200, 'a loopback caller without a page is the local user')
    assert.equal(await status(server, { ...headers, ...ELSEWHERE }), 401)
  })

  test('allows what its scopes include', async () => {
    await using server = await startServer()
    const reader = bearer((await mint(server, { name: 'r', scopes: ['read'] })).token)
    const writer = bearer((await mint(server, { name: 'w', scopes: ['write'] })).token)
    assert.deepEqual([await status(server, reader), await status(server, reader, 'POST')], [200, 403])
    assert.deepEqual([await status(server, writer), await status(server, writer, 'POST')], [403, 201])
    const told = async (headers: Headers, method: string, path: string) => {
      const body = method === 'POST' ? { body: greeting() } : {}
      return (await call<ErrorBody>(server, method, path, { headers, ...body })).body.error.message
    }
    assert.equal(await told(reader, 'POST', '/api/workflows'), 'The token lacks the scope write.')
    assert.equal(await told(writer, 'GET', '/api/workflows'), 'The token lacks the scope read.')
    assert.equal(await told(writer, 'GET', '/admin/nothing'), 'The token lacks the scope admin.')
    const all = await mint(server, { name: 'a', scopes: ['admin', 'read', 'write'] })
    assert.deepEqual(all.scopes, ['admin', 'read', 'write'])
    assert.equal((await mint(server, { name: 'd', scopes: null, expires_at: null })).expires_at, null)
  })

  test('mints, lists and revokes no tokens', async () => {
    await using server = await startServer()
    const { id, token } = await mint(server, { name: 'all', scopes: ['read', 'write', 'admin'] })
    const headers = bearer(token)
    await refused(server, 'POST', '/api/tokens', { headers, body: { name: 'more' } }, [403, 'forbidden'])
    await refused(server, 'GET', '/api/tokens', { headers }, [403, 'forbidden'])
    await refused(server, 'DELETE', `/api/tokens/${id}`, { headers }, [403, 'forbidden'])
    assert.deepEqual(
      (await list(server)).map((one) => one.id),
      [id],
    )
  })

  test('is refused in 200 damaged forms', async () => {
    await using server = await startServer()
    const { token } = await mint(server, { name: 'agent' })
    for (let i = 0; i < 200; i++) {
      const other = damaged(token)
      assert.equal(await status(server, bearer(other)), 401, other)
    }
    assert.equal(await status(server, bearer(token)), 200)
  })

  test('survives a restart, with its last use', async () => {
    const data_dir = temporaryFolder()
    try {
      const first = await startServer({ data_dir })
      const { id, token } = await mint(first, { name: 'agent' })
      assert.equal(await status(first, bearer(token)), 200)
      const [before] = await list(first)
      await first.close(0)
      await using second = await startServer({ data_dir })
      assert.deepEqual(await list(second), [before])
      assert.notEqual(before!.last_used_at, null)
      assert.equal(await status(second, bearer(token)), 200)
      assert.equal((await call(second, 'DELETE', `/api/tokens/${id}`)).status, 204)
      assert.equal(await status(second, bearer(token)), 401)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

describe('createToken', () => {
  const odd: [unknown, string[]][] = [
    [{}, ['/body/name']],
    [{ name: '' }, ['/body/name']],
    [{ name: 'x'.repeat(129) }, ['/body/name']],
    [{ name: 7 }, ['/body/name']],
    [{ name: 'x', scopes: [] }, ['/body/scopes']],
    [{ name: 'x', scopes: ['read', 'read'] }, ['/body/scopes']],
    [{ name: 'x', scopes: ['root'] }, ['/body/scopes/0']],
    [{ name: 'x', expires_at: 'tomorrow' }, ['/body/expires_at']],
    [{ name: 'x', user_id: '2' }, ['/body/user_id']],
  ]

  test('refuses an invalid body, with the path of the problem', async () => {
    await using server = await startServer()
    for (const [body, paths] of odd)
      assert.deepEqual(await refused(server, 'POST', '/api/tokens', { body }, [400, 'invalid_request']), paths)
    assert.deepEqual(await list(server), [])
  })

  test('refuses an invalid time, and does not move it to another', async () => {
    await using server = await startServer()
    const none = ['2099-02-30T00:00:00Z', '2099-01-01T24:00:00Z', '2099-13-01T00:00:00Z', '2099-01-01T00:00:00+25:00']
    for (const expires_at of [...none, '2099-01-01T00:00:60Z', '2099-01-01T24:59:30+01:00', '2099-01-01T00:00:00+01']) {
      const answer = await call<ErrorBody>(server, 'POST', '/api/tokens', { body: { name: 'x', expires_at } })
      assert.equal(answer.status, 400, expires_at)
      const { message, problems } = answer.body.error
      const problem = { path: '/body/expires_at', message: 'must match format "date-time"', code: 'format' }
      assert.deepEqual([message, problems], [`${problem.path}: ${problem.message}`, [problem]], expires_at)
    }
    assert.deepEqual(await list(server), [])
  })

  test('refuses a time in the past', async () => {
    await using server = await startServer()
    const body = { name: 'x', expires_at: '2020-01-01T00:00:00Z' }
    const paths = await refused(server, 'POST', '/api/tokens', { body }, [422, 'invalid_parameters'])
    assert.deepEqual(paths, ['/body/expires_at'])
  })
})

describe('two users of an identity provider', () => {
  test('have separate tokens, and neither sees or revokes those of the other', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: { ...idp.environment, SVC_ADMIN_USERS: 'root' } })
    const signIn = async (sub: string, workspace_id?: string) =>
      bearer(await idp.token({ sub, ...(workspace_id === undefined ? {} : { workspace_id }) }))
    const [ada, bob, red] = [await signIn('ada'), await signIn('bob'), await signIn('ada', 'red')]
    const mine = await mint(server, { name: 'mine' }, ada)
    const theirs = await mint(server, { name: 'theirs' }, bob)
    const inRed = await mint(server, { name: 'in red' }, red)
    assert.equal(inRed.workspace_id, 'red')
    for (const [headers, { id }] of [
      [ada, mine],
      [bob, theirs],
      [red, inRed],
    ] as const)
      assert.deepEqual(
        (await list(server, headers)).map((one) => one.id),
        [id],
      )
    for (const headers of [bob, red]) {
      const [foreign, missing] = [mine.id, `token_${'0'.repeat(32)}`].map((id) => `/api/tokens/${id}`)
      const [one, other] = [
        await call(server, 'DELETE', foreign!, { headers }),
        await call(server, 'DELETE', missing!, { headers }),
      ]
      assert.deepEqual([one.status, one.body], [404, other.body])
    }
    // A token acts for its owner only in its workspace.
    assert.equal(await status(server, bearer(mine.token), 'POST'), 201)
    const count = async (headers: Headers) =>
      (await call<unknown[]>(server, 'GET', '/api/workflows', { headers })).body.length
    assert.deepEqual(
      [await count(ada), await count(bob), await count(red), await count(bearer(inRed.token))],
      [1, 0, 0, 0],
    )
  })

  test('cannot get the scope admin, unless SVC_ADMIN_USERS names them', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: { ...idp.environment, SVC_ADMIN_USERS: 'root' } })
    const body: CreateTokenRequest = { name: 'x', scopes: ['admin'] }
    const [ada, root] = [bearer(await idp.token({ sub: 'ada' })), bearer(await idp.token({ sub: 'root' }))]
    await refused(server, 'POST', '/api/tokens', { body, headers: ada }, [403, 'forbidden'])
    const { token } = await mint(server, body, root)
    const principal = await server.context.access.tokens.access.verify(token, Date.now())
    assert.equal(principal?.administrator, true)
  })

  test('are distinct from the local user, whose tokens are not sent to the provider', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: idp.environment })
    const before = { ...idp.requests }
    const headers = bearer(`ntk_${'0'.repeat(32)}_${'A'.repeat(43)}`)
    const answer = await call(server, 'GET', '/api/workflows', { headers })
    assert.deepEqual([answer.status, answer.body], [401, { error: 'Invalid token' }])
    assert.deepEqual(idp.requests, before)
  })
})
