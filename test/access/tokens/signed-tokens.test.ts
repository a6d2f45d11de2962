// Tokens that carry their claims: sessions of app visitors, and delegated tokens. Only the key and the clock decide about them.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { INVALID_TOKEN, REMOTE_UNAUTHENTICATED, refuseCaller } from '../../../src/access/auth-verdict.ts'
import { resolvePrincipal } from '../../../src/access/authentication-rules.ts'
import { canCall, LOCAL_PRINCIPAL } from '../../../src/access/principal.ts'
import { SignedTokenService } from '../../../src/access/tokens/signed-tokens.ts'
import { Vault } from '../../../src/vault/vault.ts'
import { call } from '../../helpers/http.ts'
import { startServer, temporaryFolder } from '../../helpers/server.ts'
import { openStore } from '../../helpers/store.ts'
import { FACTS, SETTINGS } from '../kit.ts'
import { ADA, bearer, clock, damaged, HOUR_MS, LOCAL_MODE, START, tokensOver } from '../token-kit.ts'

const MASTER = Buffer.from('a master key of one test')
const VISITOR = { app_id: 'shop:2', visitor_id: 'visitor_1', workspace_id: 'red' }
const BRIDGES = { ...LOCAL_MODE, integration_token: 'long enough for a bridge' }
const ENVIRONMENT = { SVC_INTEGRATION_TOKEN: 'long enough for a bridge' }

const signedBy = (master: Uint8Array = MASTER) => new SignedTokenService(new Vault(master), clock())

/** Claims signed with a foreign key. */
function forged(claims: object, key: Uint8Array): string {
  const body = Buffer.from(JSON.stringify(claims)).toString('base64url')
  return `${body}.${createHmac('sha256', key).update(body).digest('base64url')}`
}

describe('a session of an app', () => {
  test('belongs to a visitor of that app, without scopes, for an hour', () => {
    const signed = signedBy()
    const token = signed.issueAppSession(VISITOR)
    assert.match(token, /^nda_[\w-]+\.[\w-]{43}$/)
    const principal = signed.verifyAppSession(token, START + HOUR_MS - 1)
    const { token_id, ...rest } = principal!
    assert.match(token_id!, /^signed_/)
    assert.deepEqual(rest, {
      user_id: 'app:shop:2:visitor_1',
      workspace_id: 'red',
      trusted_as: 'app_session',
      scopes: [],
      administrator: false,
      app_id: 'shop:2',
      expires_at: START + HOUR_MS,
    })
    for (const scope of ['read', 'write', 'admin'] as const) assert.ok(!canCall(principal!, scope))
    assert.equal(signed.verifyAppSession(token, START + HOUR_MS), null)
    assert.deepEqual(
      [signed.hasExpired(token, START + HOUR_MS - 1), signed.hasExpired(token, START + HOUR_MS)],
      [false, true],
    )
    assert.equal(signed.hasExpired(`${token.slice(0, -43)}${'A'.repeat(43)}`, START + HOUR_MS), false)
  })

  test('is valid only on /ws, and its failure is final', async () => {
    await using opened = await openStore()
    const { signed, checks } = tokensOver(opened.store)
    const token = signed.issueAppSession(VISITOR)
    const verdict = (path: string, transport: 'http' | 'socket', sent = token) =>
      resolvePrincipal({ ...FACTS, path, transport, token: sent }, SETTINGS, checks, START)
    assert.equal((verdict('/ws', 'socket') as { principal: { app_id: string } }).principal.app_id, 'shop:2')
    const elsewhere = refuseCaller(INVALID_TOKEN, 'token_rejected')
    assert.deepEqual(verdict('/ws', 'http'), elsewhere)
    assert.deepEqual(verdict('/ws/agent', 'socket'), elsewhere)
    assert.deepEqual(verdict('/api/workflows', 'http'), elsewhere)
    assert.deepEqual(verdict('/ws', 'socket', `${token}x`), refuseCaller(INVALID_TOKEN, 'token_unknown'))
  })
})

describe('a delegated token', () => {
  test('reads and writes as the user who linked the bridge, and is never an administrator', () => {
    const signed = signedBy()
    const token = signed.issueDelegatedToken(LOCAL_PRINCIPAL)
    assert.match(token, /^[\w-]+\.[\w-]{43}$/)
    const principal = signed.verifyDelegatedToken(token, START + HOUR_MS - 1)
    assert.deepEqual(
      [principal?.user_id, principal?.workspace_id, principal?.trusted_as],
      ['1', null, 'delegated_token'],
    )
    assert.deepEqual([principal?.scopes, principal?.administrator, principal?.app_id], [['read', 'write'], false, null])
    assert.equal(signed.verifyDelegatedToken(token, START + HOUR_MS), null)
    assert.deepEqual(
      [signed.hasExpired(token, START + HOUR_MS - 1), signed.hasExpired(token, START + HOUR_MS)],
      [false, true],
    )
  })

  test('is accepted only if bridges are enabled, and otherwise falls through to the rules of the mode', async () => {
    await using opened = await openStore()
    const facts = { ...FACTS, peer: '203.0.113.7', token: signedBy().issueDelegatedToken(ADA) }
    const verdict = (settings: typeof LOCAL_MODE) =>
      resolvePrincipal(facts, SETTINGS, tokensOver(opened.store, { settings }).checks, START)
    assert.equal((verdict(BRIDGES) as { principal: { user_id: string } }).principal.user_id, 'ada')
    assert.deepEqual(verdict(LOCAL_MODE), refuseCaller(REMOTE_UNAUTHENTICATED, 'token_unknown'))
  })

  test('works over HTTP, on everything but the minting of tokens', async () => {
    await using server = await startServer({ environment: ENVIRONMENT })
    const headers = bearer(server.context.access.tokens.signed.issueDelegatedToken(LOCAL_PRINCIPAL))
    assert.equal((await call(server, 'GET', '/api/workflows', { headers })).status, 200)
    assert.equal((await call(server, 'POST', '/api/tokens', { headers, body: { name: 'more' } })).status, 403)
  })

  test('is refused if SVC_INTEGRATION_TOKEN is missing or has less than 16 characters', async () => {
    for (const environment of [{}, { SVC_INTEGRATION_TOKEN: 'fifteen letters' }]) {
      await using server = await startServer({ environment })
      const headers = bearer(server.context.access.tokens.signed.issueDelegatedToken(LOCAL_PRINCIPAL))
      const answer = await call(server, 'GET', '/api/workflows', { headers })
      assert.deepEqual([answer.status, answer.body], [401, { error: 'Remote access requires authentication' }])
    }
  })
})

describe('a signature', () => {
  test('is invalid with a changed character', () => {
    const signed = signedBy()
    const [session, delegated] = [signed.issueAppSession(VISITOR), signed.issueDelegatedToken(ADA)]
    for (let i = 0; i < 200; i++) {
      assert.equal(signed.verifyAppSession(damaged(session), START), null)
      assert.equal(signed.verifyDelegatedToken(damaged(delegated), START), null)
    }
    for (const odd of ['', '.', 'a.b', `${delegated}.`, `${delegated}.x`, `.${delegated.split('.')[1]}`, 'a.b.c'])
      assert.equal(signed.verifyDelegatedToken(odd, START), null, odd)
  })

  test('of one kind is invalid for the other', () => {
    const signed = signedBy()
    const [session, delegated] = [signed.issueAppSession(VISITOR), signed.issueDelegatedToken(ADA)]
    assert.equal(signed.verifyDelegatedToken(session.slice('nda_'.length), START), null)
    assert.equal(signed.verifyDelegatedToken(session, START), null)
    assert.equal(signed.verifyAppSession(`nda_${delegated}`, START), null)
    assert.equal(signed.verifyAppSession(delegated, START), null)
  })

  test('with the right key is invalid for claims of another kind, and for storage', () => {
    const vault = new Vault(MASTER)
    const signed = signedBy()
    const claims = {
      user_id: '1',
      workspace_id: null,
      app_id: null,
      iat: START / 1000,
      exp: START / 1000 + 60,
      jti: 'j',
    }
    const one = forged({ kind: 'delegated_token', ...claims }, vault.signingKey('delegated'))
    assert.equal(signed.verifyDelegatedToken(one, START)?.user_id, '1')
    assert.equal(
      signed.verifyDelegatedToken(forged({ kind: 'app_session', ...claims }, vault.signingKey('delegated')), START),
      null,
    )
    for (const purpose of ['storage', 'app_session'])
      assert.equal(
        signed.verifyDelegatedToken(forged({ kind: 'delegated_token', ...claims }, vault.signingKey(purpose)), START),
        null,
      )
  })

  test('ends with the master key', () => {
    const [before, after] = [signedBy(), signedBy(Buffer.from('another master key of the test'))]
    const [session, delegated] = [before.issueAppSession(VISITOR), before.issueDelegatedToken(ADA)]
    assert.equal(after.verifyAppSession(session, START), null)
    assert.equal(after.verifyDelegatedToken(delegated, START), null)
  })

  test('ends with the master key of the server, unlike access tokens', async () => {
    const data_dir = temporaryFolder()
    try {
      const started = (SECRETS_MASTER_KEY: string) =>
        startServer({ data_dir, environment: { ...ENVIRONMENT, SECRETS_MASTER_KEY } })
      const status = async (server: { url: string }, token: string) =>
        (await call(server, 'GET', '/api/workflows', { headers: bearer(token) })).status
      const first = await started('the first master key of this server')
      const { access, signed } = first.context.access.tokens
      const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
      const delegated = signed.issueDelegatedToken(LOCAL_PRINCIPAL)
      assert.deepEqual([await status(first, token), await status(first, delegated)], [200, 200])
      await first.close(0)
      const again = await started('the first master key of this server')
      assert.equal(await status(again, delegated), 200)
      await again.close(0)
      await using second = await started('the second master key of this server')
      assert.deepEqual([await status(second, token), await status(second, delegated)], [200, 401])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})
