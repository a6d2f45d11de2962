// The audit log: its lines by event, which contain no secret, and the limit on lines of refusals.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Request, Response } from 'express'
import { operationManifest } from '../../generated/operations.ts'
import type { CreatedToken } from '../../generated/types.ts'
import { AuditLog } from '../../src/access/audit-log.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import type { RequestFacts } from '../../src/access/request-facts.ts'
import { auditAdministration } from '../../src/http/pipeline/access-control.ts'
import { createLog } from '../../src/log.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { FACTS, rangesOf } from './kit.ts'
import { bearer, ELSEWHERE } from './token-kit.ts'

type Line = Record<string, unknown>

/** A log that collects its lines. */
function recording() {
  const written: string[] = []
  const log = createLog('info', undefined, { write: (line: string) => void written.push(line) })
  const lines = (): Line[] => written.map((line) => JSON.parse(line) as Line).filter(({ audit }) => audit !== undefined)
  return { log, written, lines, of: (event: string) => lines().filter(({ audit }) => audit === event) }
}

const PLAIN = { trusted_proxies: [], rate_limit_trust_proxy: false }

const from = (peer: string, more: Partial<RequestFacts> = {}) => ({
  facts: { ...FACTS, peer, ...more },
  method: 'GET',
  reason: 'Unauthorized',
})

describe('the server logs', () => {
  test('which user minted and revoked which token, and never the token', async () => {
    const { log, written, of } = recording()
    await using server = await startServer({ log })
    const body = { name: 'agent', scopes: ['read'] }
    const minted = await call<CreatedToken>(server, 'POST', '/api/tokens', { body, headers: { 'X-Request-Id': 'r1' } })
    const { id, token } = minted.body
    await call(server, 'GET', '/api/workflows', { headers: bearer(token) })
    await call(server, 'DELETE', `/api/tokens/${id}`, { headers: { 'X-Request-Id': 'r2' } })
    const by = { user_id: '1', workspace_id: null, trusted_as: 'loopback', by_token: null }
    const [mint, revoke] = [of('token_minted'), of('token_revoked')]
    assert.deepEqual([mint.length, revoke.length], [1, 1])
    const { level: _level, time: _time, ...line } = mint[0]!
    const said = { audit: 'token_minted', ...by, minted: id, scopes: ['read'], expires_at: null }
    assert.deepEqual(line, { ...said, request_id: 'r1', msg: 'audit' })
    assert.deepEqual([revoke[0]!.revoked, revoke[0]!.request_id], [id, 'r2'])
    assert.ok(!written.join('').includes(token.slice(-43)))
  })

  test('refused callers, over HTTP and at an upgrade, without the token or the query', async () => {
    const { log, written, of } = recording()
    await using server = await startServer({ log })
    const secret = 'A0'.repeat(21)
    const sent = [`ntk_${'0'.repeat(32)}_${secret}A`, `nda_${secret}.${secret}`, `${secret}.${secret}`]
    for (const token of sent) await call(server, 'GET', `/api/workflows?q=${secret}`, { headers: bearer(token) })
    await assert.rejects(connect(server, { headers: ELSEWHERE, path: `/ws?api_key=${sent[0]}` }))
    const refused = of('refused')
    assert.deepEqual(
      refused.map(({ client, transport, method, path, reason }) => [client, transport, method, path, reason]),
      [
        ['127.0.0.1', 'http', 'GET', '/api/workflows', 'Remote access requires authentication'],
        ['127.0.0.1', 'http', 'GET', '/api/workflows', 'invalid_token'],
        ['127.0.0.1', 'http', 'GET', '/api/workflows', 'Remote access requires authentication'],
        ['127.0.0.1', 'socket', 'GET', '/ws', 'Remote access requires authentication'],
      ],
    )
    assert.ok(!written.join('').includes(secret))
  })

  test('which known caller was refused for lack of permission', async () => {
    const { log, of } = recording()
    await using server = await startServer({ log })
    const minted = await call<CreatedToken>(server, 'POST', '/api/tokens', { body: { name: 'x', scopes: ['read'] } })
    const { id, token } = minted.body
    assert.equal((await call(server, 'GET', '/api/tokens', { headers: bearer(token) })).status, 403)
    const [line] = of('refused')
    assert.deepEqual([line?.reason, line?.user_id, line?.by_token], ['FORBIDDEN', '1', id])
  })

  test('callers beyond the rate limit, over HTTP and at an upgrade', async () => {
    const { log, of } = recording()
    await using server = await startServer({
      log,
      environment: { SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_RATE_LIMIT_MAX: '1' },
    })
    for (const address of ['203.0.113.7', '203.0.113.8']) {
      const headers = { 'X-Forwarded-For': address }
      assert.equal((await call(server, 'GET', '/health', { headers })).status, 200)
      if (address.endsWith('8')) await assert.rejects(connect(server, { headers }))
      else for (let i = 0; i < 3; i++) assert.equal((await call(server, 'GET', '/health', { headers })).status, 429)
    }
    assert.deepEqual(
      of('refused').map(({ reason, client, transport }) => [reason, client, transport]),
      [
        ['RATE_LIMITED', '203.0.113.7', 'http'],
        ['RATE_LIMITED', '203.0.113.8', 'socket'],
      ],
    )
  })

  test('which secrets and settings were changed, but not their values', async () => {
    const { log, written, of } = recording()
    await using server = await startServer({ log })
    const value = 'nobody-may-read-this-value'
    assert.equal((await call(server, 'PUT', '/api/secrets/MAIL', { body: { value } })).status, 200)
    assert.equal((await call(server, 'DELETE', '/api/secrets/MAIL')).status, 204)
    const values = { 'jobs.timeout_seconds': 31_415_926 }
    assert.equal((await call(server, 'PUT', '/api/settings', { body: { values } })).status, 200)
    assert.deepEqual(
      of('settings_changed').map(({ settings }) => settings),
      [Object.keys(values)],
    )
    assert.ok(!written.join('').includes('31415926'))
    const [set, deleted] = [of('secret_set'), of('secret_deleted')].map(([line]) => [line?.user_id, line?.name])
    assert.deepEqual(
      [set, deleted],
      [
        ['1', 'MAIL'],
        ['1', 'MAIL'],
      ],
    )
    assert.ok(!written.join('').includes(value))
  })

  test('nothing about callers that are accepted', async () => {
    const { log, lines } = recording()
    await using server = await startServer({ log })
    await call(server, 'GET', '/api/workflows')
    await call(server, 'GET', '/nowhere')
    await call(server, 'GET', '/health', { headers: ELSEWHERE })
    assert.deepEqual(lines(), [])
  })

  test('the calls of an administrator', () => {
    const { log, of } = recording()
    const operation = operationManifest.find(({ access }) => access === 'administrator')!
    let passed = 0
    const response = { locals: { principal: LOCAL_PRINCIPAL, request_id: 'r3' } } as unknown as Response
    auditAdministration(operation, new AuditLog(log, PLAIN))({} as Request, response, () => passed++)
    const [line] = of('administrative_call')
    assert.deepEqual([passed, line?.operation, line?.user_id, line?.request_id], [1, operation.operationId, '1', 'r3'])
  })
})

describe('lines of refusals', () => {
  test('are limited to five for an address and twenty for all in a window, and then counted', () => {
    const { log, of } = recording()
    const audit = new AuditLog(log, PLAIN)
    for (let i = 0; i < 100; i++) audit.recordRefusal(from('203.0.113.7'))
    assert.equal(of('refused').length, 5)
    for (let i = 0; i < 100; i++) audit.recordRefusal(from(`198.51.100.${i}`))
    assert.equal(of('refused').length, 20)
    audit[Symbol.dispose]()
    assert.deepEqual(
      of('refusals_left_out').map(({ count }) => count),
      [180],
    )
    audit.recordRefusal(from('203.0.113.7'))
    assert.equal(of('refused').length, 21, 'the next window')
    audit[Symbol.dispose]()
    assert.equal(of('refusals_left_out').length, 1, 'nothing was left out of it')
  })

  test('count an IPv6 network as one address, as the rate limiter does', () => {
    const { log, of } = recording()
    using audit = new AuditLog(log, PLAIN)
    for (let i = 0; i < 30; i++) audit.recordRefusal(from(`2001:db8:1:2::${i.toString(16)}`))
    assert.equal(of('refused').length, 5)
    audit.recordRefusal(from('2001:db8:1:3::1'))
    assert.equal(of('refused').length, 6)
  })

  test('of users are not displaced by those of strangers or other users', () => {
    const { log, of } = recording()
    using audit = new AuditLog(log, PLAIN)
    const user = (user_id: string, reason: string, peer: string) => ({
      ...from(peer),
      reason,
      principal: { ...LOCAL_PRINCIPAL, user_id },
    })
    for (let i = 0; i < 100; i++) audit.recordRefusal(from(`198.51.100.${i}`))
    for (let i = 0; i < 100; i++) audit.recordRefusal(user('eve', 'FORBIDDEN', `192.0.2.${i}`))
    audit.recordRefusal(user('mallory', 'FORBIDDEN', '198.51.100.1'))
    audit.recordRefusal(user('mallory', 'RATE_LIMITED', '198.51.100.1'))
    const named = of('refused').filter(({ user_id }) => user_id !== undefined)
    assert.deepEqual(
      named.map(({ user_id, reason }) => `${user_id} ${reason}`),
      [...Array(5).fill('eve FORBIDDEN'), 'mallory FORBIDDEN', 'mallory RATE_LIMITED'],
    )
    assert.equal(of('refused').length, 20 + named.length)
  })

  test('have a new quota after a second', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { log, of } = recording()
    using audit = new AuditLog(log, PLAIN)
    for (let i = 0; i < 7; i++) audit.recordRefusal(from('203.0.113.7'))
    t.mock.timers.tick(1_000)
    assert.deepEqual(
      of('refusals_left_out').map(({ count }) => count),
      [2],
    )
    audit.recordRefusal(from('203.0.113.7'))
    assert.equal(of('refused').length, 6)
  })

  test('have the client’s address from trusted proxies', () => {
    const { log, of } = recording()
    using audit = new AuditLog(log, { ...PLAIN, trusted_proxies: rangesOf('10.0.0.0/8') })
    const forwarded = { forwards: true, forwarded_for: '203.0.113.7' }
    audit.recordRefusal(from('10.0.0.1', forwarded))
    audit.recordRefusal(from('192.0.2.1', forwarded))
    audit.recordRefusal({ ...from('x'), facts: { ...FACTS, peer: null } })
    assert.deepEqual(
      of('refused').map(({ client }) => client),
      ['203.0.113.7', '192.0.2.1', 'unknown'],
    )
  })

  test('show only the beginning of a long path, and of a possible secret in it', () => {
    const { log, of } = recording()
    using audit = new AuditLog(log, PLAIN)
    audit.recordRefusal(from('203.0.113.7', { path: '/api/shared-workflows/Xb3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY' }))
    audit.recordRefusal(from('203.0.113.7', { path: `/${'a/'.repeat(5_000)}` }))
    const [shared, long] = of('refused').map(({ path }) => String(path))
    assert.equal(shared, '/api/shared-workflows/Xb3dE5fG…')
    assert.equal(long!.length, 201)
  })

  test('hide parts of a malformed target that may be a secret, however short', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { log, of } = recording()
    using audit = new AuditLog(log, PLAIN)
    const paths: [string, string][] = [
      ['/ws%3fapi_key=short', '/ws…'],
      ['/ws%3Fapi_key%3Dshort', '/ws…'],
      ['/ws%23short', '/ws…'],
      ['/ws%26api_key=short', '/ws…'],
      ['/ws#short', '/ws…'],
      ['/ws&api_key=short', '/ws…'],
      ['/ws;api_key=short', '/ws…'],
      ['/ws/api_key%3dshort', '/ws/api_key…'],
      ['http://user:short@localhost/ws', 'http://…@localhost/ws'],
      ['/api/shared-workflows/Xb3dE5f%47%37hJ9kL1mN3pQ5', '/api/shared-workflows/Xb3dE5f%…'],
      [`/${'a/'.repeat(94)}Xb3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY`, `/${'a/'.repeat(94)}Xb3dE5fG…`],
      ['/api/workflows/a%20name', '/api/workflows/a%20name'],
    ]
    for (const [path, shown] of paths) {
      audit.recordRefusal(from('203.0.113.7', { path }))
      assert.equal(of('refused').at(-1)!.path, shown, path)
      t.mock.timers.tick(1_000)
    }
  })

  test('contain no line break from a caller', () => {
    const { log, written } = recording()
    using audit = new AuditLog(log, PLAIN)
    audit.recordRefusal(from('203.0.113.7', { path: '/a\n{"audit":"token_minted"}' }))
    assert.equal(written.join('').trimEnd().split('\n').length, 1)
  })

  test('report a caller beyond the rate limit once in a minute', () => {
    const { log, of } = recording()
    using audit = new AuditLog(log, PLAIN)
    for (const peer of ['203.0.113.7', '203.0.113.8', '203.0.113.7', '203.0.113.7'])
      audit.recordRefusal({ ...from(peer), reason: 'RATE_LIMITED' })
    assert.deepEqual(
      of('refused').map(({ client, reason }) => [client, reason]),
      [
        ['203.0.113.7', 'RATE_LIMITED'],
        ['203.0.113.8', 'RATE_LIMITED'],
      ],
    )
    assert.deepEqual(of('refusals_left_out'), [])
  })

  test('report a caller beyond the rate limit once the quota has a line left', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { log, of } = recording()
    using audit = new AuditLog(log, PLAIN)
    const limited = { ...from('203.0.113.7'), reason: 'RATE_LIMITED' }
    for (let i = 0; i < 20; i++) audit.recordRefusal(from(`198.51.100.${i}`))
    audit.recordRefusal(limited)
    t.mock.timers.tick(1_000)
    for (let i = 0; i < 3; i++) audit.recordRefusal(limited)
    assert.equal(of('refused').filter(({ reason }) => reason === 'RATE_LIMITED').length, 1)
  })
})
