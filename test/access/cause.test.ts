// Causes of refusals, which are logged and never sent: from every rule that can refuse, and in real log lines.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CreatedToken } from '../../generated/types.ts'
import type { AuthVerdict, RefusalCause } from '../../src/access/auth-verdict.ts'
import {
  type AuthenticationSettings,
  type IdentityVerdict,
  NO_TOKEN_VERIFIERS,
  resolvePrincipal,
} from '../../src/access/authentication-rules.ts'
import type { RequestFacts } from '../../src/access/request-facts.ts'
import { createLog } from '../../src/log.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { exchange, FACTS, factsReader, rangesOf, SETTINGS } from './kit.ts'
import { bearer } from './token-kit.ts'

const LOCAL = SETTINGS
const PROVIDER: AuthenticationSettings = { ...SETTINGS, identity_provider: {}, trust_localhost: false }
const BOTH: AuthenticationSettings = { ...PROVIDER, trust_localhost: true }
const NETWORK: AuthenticationSettings = { ...SETTINGS, trust_local_networks: rangesOf('172.16.0.0/12') }
const PROXY: AuthenticationSettings = { ...SETTINGS, trusted_proxies: rangesOf('127.0.0.1/32') }

const AWAY = { peer: '203.0.113.7' }
const FORWARDED = { forwards: true, forwarded_by: 'via' }
const EVIL = { origin: 'http://evil.example' }

type Row = [cause: RefusalCause, settings: AuthenticationSettings, facts: Partial<RequestFacts>]
const ROWS: readonly Row[] = [
  ['place', LOCAL, AWAY],
  ['place', LOCAL, { ...AWAY, ...FORWARDED, host: 'evil.example', ...EVIL }],
  ['place', NETWORK, AWAY],
  ['place', PROXY, { ...FORWARDED, forwarded_for: '127.0.0.1' }],
  ['place', PROXY, {}],
  ['forwarded', LOCAL, { ...FORWARDED, host: 'evil.example', ...EVIL }],
  ['forwarded', NETWORK, { ...FORWARDED, peer: '172.17.0.1' }],
  ['host', LOCAL, { host: 'evil.example', ...EVIL }],
  ['host', LOCAL, { host: null }],
  ['host', NETWORK, { peer: '172.17.0.1', host: 'evil.example' }],
  ['origin', LOCAL, EVIL],
  ['origin', LOCAL, { origin: 'null', local_client: 'wrong' }],
  ['no_token', PROVIDER, {}],
  ['no_token', PROVIDER, { ...AWAY, ...FORWARDED }],
  ['no_token', BOTH, AWAY],
  ['host', BOTH, { host: 'evil.example' }],
  ['forwarded', BOTH, FORWARDED],
  ['malformed_header', LOCAL, { ...AWAY, malformed: true }],
  ['malformed_header', LOCAL, { ...EVIL, malformed: true }],
  ['malformed_header', PROVIDER, { malformed: true }],
  ['token_unknown', LOCAL, { ...AWAY, token: 'ntk_x' }],
  ['token_unknown', LOCAL, { ...EVIL, token: 'x' }],
  ['token_unknown', PROVIDER, { token: 'ntk_x' }],
  ['token_unknown', LOCAL, { token: 'nta_x', path: '/mcp' }],
  ['token_unknown', LOCAL, { token: 'nda_x', path: '/ws', transport: 'socket' }],
  ['token_expired', LOCAL, { ...AWAY, token: 'ntk_old' }],
  ['token_expired', PROVIDER, { token: 'ntk_old' }],
  ['token_expired', LOCAL, { token: 'nta_old', path: '/mcp' }],
  ['token_expired', PROVIDER, { token: 'nda_old', path: '/ws', transport: 'socket' }],
  ['token_expired', PROVIDER, { token: 'delegated_old' }],
  ['token_expired', PROVIDER, { token: 'jwt.expired' }],
  ['token_rejected', PROVIDER, { token: 'jwt.bad' }],
  ['token_rejected', LOCAL, { token: 'nta_x' }],
  ['token_rejected', LOCAL, { token: 'nda_x' }],
]

describe('the cause of a refusal', () => {
  const identity = (token: string): IdentityVerdict => ({ rejected: token === 'jwt.expired' ? 'Token expired' : 'x' })
  const tokens = { ...NO_TOKEN_VERIFIERS, hasExpired: (token: string) => token.endsWith('_old'), identity }
  for (const [index, [cause, settings, facts]] of ROWS.entries())
    test(`${index}: ${cause}`, () => {
      const { refusal } = resolvePrincipal({ ...FACTS, ...facts }, settings, tokens, 0) as AuthVerdict
      assert.equal(refusal?.kind === 'unauthorized' && refusal.cause, cause)
    })
})

describe('a malformed token', () => {
  test('is distinguished from no token, on both transports', async () => {
    await using reader = await factsReader()
    const malformed = async (target: string, headers: string[], transport: 'http' | 'socket' = 'http') =>
      (await reader.read(`GET ${target}`, ['Host: localhost', ...headers], transport)).malformed
    for (const header of ['Basic dTpw', 'Bearer', 'Bearer a b', 'Bearer "x"', `Bearer ${'x'.repeat(8_190)}`])
      for (const transport of ['http', 'socket'] as const)
        assert.equal(await malformed('/ws', [`Authorization: ${header}`], transport), true, header.slice(0, 20))
    assert.equal(await malformed('/', ['Authorization: Bearer a', 'Authorization: Bearer a']), true)
    for (const query of ['api_key=', 'api_key=a&api_key=b', 'api_key=a%20b']) {
      assert.equal(await malformed(`/ws?${query}`, [], 'socket'), true, query)
      assert.equal(await malformed(`/ws?${query}`, []), false, query)
    }
    for (const query of ['', 'api_key=good', 'key=x'])
      assert.equal(await malformed(`/ws?${query}`, [], 'socket'), false)
    assert.equal(await malformed('/', ['Authorization: Bearer good']), false)
  })

  test('is logged, and so is the first of several forwarding headers', async () => {
    await using reader = await factsReader()
    const by = async (...headers: string[]) =>
      (await reader.read('GET /', ['Host: localhost', ...headers])).forwarded_by
    assert.equal(await by('Accept: */*'), null)
    assert.equal(await by('Accept: */*', 'Via: 1.1 x', 'X-Forwarded-For: 203.0.113.7'), 'via')
    assert.equal(await by('X-Forwarded-Anything: 1'), 'x-forwarded-anything')
  })
})

describe('a line of the log', () => {
  const SECRET = 'a-secret-of-the-operator'

  async function refusals(work: (server: { url: string }) => Promise<void>) {
    const written: string[] = []
    await using server = await startServer({
      log: createLog('info', new Redactor([SECRET]), { write: (line: string) => void written.push(line) }),
    })
    await work(server)
    const lines = written.map((line) => JSON.parse(line) as Record<string, unknown>)
    return lines.filter(({ audit }) => audit === 'refused')
  }

  test('has the cause and the header, which the answer has not', async () => {
    const long = `http://${'a'.repeat(200)}.example`
    const lines = await refusals(async (server) => {
      const ask = async (headers: Record<string, string>) => {
        const { status, body } = await call(server, 'GET', '/api/workflows', { headers })
        assert.deepEqual([status, body], [401, { error: 'Remote access requires authentication' }])
      }
      await ask({ Origin: long })
      await ask({ 'X-Forwarded-Proto': 'https' })
      await ask({ Origin: 'null', Authorization: 'Basic dTpw' })
      await assert.rejects(connect(server, { headers: { Origin: 'http://evil.example' } }))
    })
    assert.deepEqual(
      lines.map(({ cause, host, origin, forwarded_by }) => ({ cause, host, origin, forwarded_by })),
      [
        { cause: 'origin', host: undefined, origin: `${long.slice(0, 100)}…`, forwarded_by: undefined },
        { cause: 'forwarded', host: undefined, origin: undefined, forwarded_by: 'x-forwarded-proto' },
        { cause: 'malformed_header', host: undefined, origin: undefined, forwarded_by: undefined },
        { cause: 'origin', host: undefined, origin: 'http://evil.example', forwarded_by: undefined },
      ],
    )
  })

  test('has no cause if the caller is known', async () => {
    const [line] = await refusals(async (server) => {
      const minted = await call<CreatedToken>(server, 'POST', '/api/tokens', { body: { name: 'x', scopes: ['read'] } })
      assert.equal((await call(server, 'GET', '/api/tokens', { headers: bearer(minted.body.token) })).status, 403)
    })
    assert.equal(line?.reason, 'FORBIDDEN')
    assert.ok(!('cause' in line))
  })

  test('contains no secret that a header has by mistake', async () => {
    const lines = await refusals(async (server) => {
      await call(server, 'GET', '/api/workflows', { headers: { Origin: `http://${SECRET}.example` } })
      const head = `GET /api/workflows HTTP/1.1\r\nHost: ${SECRET}`
      assert.equal((await exchange(Number(new URL(server.url).port), head)).status, 401)
    })
    assert.deepEqual(
      lines.map(({ host, origin }) => host ?? origin),
      ['http://[redacted].example', '[redacted]'],
    )
  })
})
