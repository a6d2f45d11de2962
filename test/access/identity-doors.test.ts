// An identity provider over real connections: requests and upgrades, answers while the provider is down, and two separate users.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import type { Asset, JobSnapshot } from '../../generated/types.ts'
import { createLog } from '../../src/log.ts'
import { call } from '../helpers/http.ts'
import { type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { greeting } from '../sockets/kit.ts'

interface Place extends AsyncDisposable {
  readonly idp: IdentityProvider
  readonly server: TestServer
  readonly lines: string[]
}

async function place(): Promise<Place> {
  const lines: string[] = []
  const log = createLog('trace', undefined, { write: (line) => void lines.push(line) })
  const idp = await startIdentityProvider()
  const server = await startServer({ environment: { ...idp.environment, SVC_ADMIN_USERS: 'root' }, log })
  return {
    idp,
    server,
    lines,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await idp[Symbol.asyncDispose]()
    },
  }
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

async function ask(server: TestServer, headers: Readonly<Record<string, string>>): Promise<[number, unknown]> {
  const { status, body } = await call(server, 'GET', '/api/workflows', { headers })
  return [status, body]
}

/** The status of the answer to an upgrade. */
function upgrade(server: TestServer, path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const handshake = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(`${server.url}${path}`, { agent: false, headers: { ...handshake, ...headers } })
    outgoing.on('error', reject)
    outgoing.on('upgrade', (answer, socket) => {
      socket.destroy()
      resolve(answer.statusCode!)
    })
    outgoing.on('response', (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!))
    })
    outgoing.end()
  })
}

describe('with an identity provider', () => {
  test('requests and sockets belong to the user who signed in', async () => {
    await using at = await place()
    const { idp, server } = at
    for (const token of [await idp.token({ sub: 'ada' }), idp.opaque({ id: 'ada' })]) {
      assert.deepEqual(await ask(server, bearer(token)), [200, []])
      assert.equal(await upgrade(server, '/ws', bearer(token)), 101)
      assert.equal(await upgrade(server, `/ws?api_key=${token}`), 101)
    }
    assert.deepEqual(await ask(server, {}), [401, { error: 'Unauthorized' }])
    assert.equal(await upgrade(server, '/ws'), 401)
    const expired = await idp.token({ sub: 'ada', expires_in: -1 })
    const elsewhere = await idp.token({ sub: 'ada', aud: 'anon' })
    assert.deepEqual(await ask(server, bearer(expired)), [401, { error: 'Token expired' }])
    assert.deepEqual(await ask(server, bearer(elsewhere)), [401, { error: 'Invalid audience' }])
    assert.deepEqual(await ask(server, bearer('unknown')), [401, { error: 'Invalid token' }])
    for (const token of [expired, elsewhere, 'unknown']) {
      assert.equal(await upgrade(server, '/ws', bearer(token)), 401)
      assert.equal(await upgrade(server, `/ws?api_key=${token}`), 401)
    }
  })

  test('a download URL ends with its token, and after minutes if only the provider knows the token’s end', async () => {
    await using at = await place()
    const { idp, server } = at
    const until = async (token: string) => {
      const form = new FormData()
      form.append('file', new Blob(['signed']), 'signed.txt')
      const sent = await fetch(`${server.url}/api/assets`, { method: 'POST', headers: bearer(token), body: form })
      const { id } = (await sent.json()) as Asset
      const { body } = await call<Asset>(server, 'GET', `/api/assets/${id}?expires_in=3600`, { headers: bearer(token) })
      assert.equal((await fetch(new URL(body.download_url!, server.url))).status, 200)
      return Date.parse(body.expires_at!) - Date.now()
    }
    const signed = await until(await idp.token({ sub: 'ada', expires_in: 60 }))
    assert.ok(signed > 0 && signed <= 60_000, `${signed} ms`)
    const opaque = await until(idp.opaque({ id: 'ada' }))
    assert.ok(opaque > 200_000 && opaque <= 301_000, `${opaque} ms`)
  })

  test('an unreachable provider gives 503 on every transport, and no caller is accepted', async () => {
    await using at = await place()
    const { idp, server } = at
    idp.down()
    const token = await idp.token({ sub: 'ada' })
    for (const one of [token, idp.opaque({ id: 'ada' })]) {
      for (const path of ['/api/workflows', '/v1/models', '/api/sdk/v1/capabilities', '/metrics', '/nowhere']) {
        const answer = await fetch(`${server.url}${path}`, { headers: bearer(one) })
        assert.equal(answer.status, 503, path)
        assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/, path)
        const { error } = (await answer.json()) as { error: { type: string } }
        assert.equal(error.type, 'service_unavailable', path)
      }
      assert.equal(await upgrade(server, '/ws', bearer(one)), 503)
    }
    assert.deepEqual(await ask(server, {}), [401, { error: 'Unauthorized' }])
    assert.equal((await call(server, 'GET', '/health')).status, 200)
    idp.up()
    await until('the provider', async () => (await ask(server, bearer(token)))[0] === 200)
    assert.equal(await upgrade(server, '/ws', bearer(token)), 101)
  })

  test('a weak key of the provider is no error of the service on any transport', async () => {
    await using at = await place()
    const { idp, server } = at
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const weak = { ...publicKey.export({ format: 'jwk' }), kid: 'weak' }
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'weak' })).toString('base64url')
    const token = `${header}.e30.AAAA`
    idp.answer('keys', { body: JSON.stringify({ keys: [weak] }) })
    assert.equal((await ask(server, bearer(token)))[0], 503)
    assert.equal(await upgrade(server, '/ws', bearer(token)), 503)
    idp.answer('keys', { body: JSON.stringify({ keys: [weak, idp.keys[0]!.jwk] }) })
    const good = await idp.token({ sub: 'ada' })
    await until('the keys', async () => (await ask(server, bearer(good)))[0] === 200)
    assert.equal(await upgrade(server, '/ws', bearer(good)), 101)
    assert.equal(await upgrade(server, '/ws', bearer(token)), 401)
    assert.deepEqual(await ask(server, bearer(token)), [401, { error: 'Invalid token' }])
    assert.ok(!at.lines.join('').includes('TypeError'))
  })

  test('the provider gets no token of this service, and none that is too long', async () => {
    await using at = await place()
    const { idp, server } = at
    for (const token of ['ntk_unknown', 'nta_unknown', 'nda_unknown', 'x'.repeat(9_000)])
      assert.equal((await ask(server, bearer(token)))[0], 401)
    assert.deepEqual(await ask(server, bearer('x'.repeat(9_000))), [401, { error: 'Unauthorized' }])
    assert.equal(await upgrade(server, `/ws?api_key=${'x'.repeat(9_000)}`), 401)
    assert.deepEqual(idp.requests, { keys: 0, user: 0, other: 0 })
  })

  test('the public configuration has the URL of the provider, but not the key', async () => {
    await using at = await place()
    const { body, text } = await call<{ auth_mode: string; identity_provider: unknown }>(
      at.server,
      'GET',
      '/api/config',
    )
    assert.equal(body.auth_mode, 'identity_provider')
    assert.deepEqual(body.identity_provider, { url: at.idp.url })
    assert.ok(!text.includes(at.idp.key))
    await using local = await startServer()
    const open = await call<{ auth_mode: string; identity_provider: unknown }>(local, 'GET', '/api/config')
    assert.deepEqual([open.body.auth_mode, open.body.identity_provider], ['local', null])
  })

  test('no log contains a token or the key', async () => {
    await using at = await place()
    const { idp, server, lines } = at
    const tokens = [
      await idp.token({ sub: 'ada' }),
      await idp.token({ sub: 'ada', expires_in: -1 }),
      idp.opaque({ id: 'ada' }),
      'an-opaque-token-that-nobody-knows',
    ]
    const everywhere = async () => {
      for (const token of tokens) {
        await ask(server, bearer(token))
        await upgrade(server, `/ws?api_key=${token}`)
      }
    }
    await everywhere()
    idp.answer('user', { status: 500, body: 'broken' })
    tokens.push('another-one')
    await everywhere()
    idp.down()
    tokens.push('a-third-one')
    await everywhere()
    assert.ok(
      lines.some((line) => line.includes('identity provider')),
      lines.join(''),
    )
    for (const line of lines) for (const secret of [...tokens, idp.key]) assert.ok(!line.includes(secret), line)
  })
})

describe('two users of an identity provider', () => {
  test('have separate workflows and jobs under the same names', async () => {
    await using at = await place()
    const { idp, server } = at
    const people = {
      ada: bearer(await idp.token({ sub: 'ada' })),
      bob: bearer(idp.opaque({ id: 'bob' })),
      'ada at work': bearer(await idp.token({ sub: 'ada', workspace_id: 'work' })),
    }
    const made: { name: string; workflow_id: string; headers: Record<string, string> }[] = []
    for (const [name, headers] of Object.entries(people)) {
      const created = await call<{ id: string }>(server, 'POST', '/api/workflows', {
        headers,
        body: { name, graph: greeting },
      })
      assert.equal(created.status, 201, created.text)
      await using socket = await connect(server, { headers })
      socket.command('run_job', { job_id: 'the-same', workflow_id: created.body.id, params: { name } })
      const frames = await socket.collect('the-same')
      assert.equal(frames.at(-1)!.status, 'completed', JSON.stringify(frames.at(-1)))
      assert.deepEqual(frames.at(-1)!.result, { outputs: { greeting: [`Hello, ${name}!`] } })
      made.push({ name, workflow_id: created.body.id, headers })
    }
    for (const { name, workflow_id, headers } of made) {
      const listed = await call<{ id: string }[]>(server, 'GET', '/api/workflows', { headers })
      assert.deepEqual(
        listed.body.map(({ id }) => id),
        [workflow_id],
      )
      const job = await call<JobSnapshot>(server, 'GET', '/api/jobs/the-same', { headers })
      assert.deepEqual((job.body.result as { outputs: unknown } | null)?.outputs, { greeting: `Hello, ${name}!` })
      for (const other of made) {
        const path = `/api/workflows/${other.workflow_id}`
        const own = other.name === name
        assert.equal((await call(server, 'GET', path, { headers })).status, own ? 200 : 404)
        if (own) continue
        assert.equal((await call(server, 'DELETE', path, { headers })).status, 404)
        assert.equal((await call(server, 'POST', `${path}/run`, { headers, body: {} })).status, 404)
      }
    }
  })
})
