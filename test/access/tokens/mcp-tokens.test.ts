// Access tokens of the MCP OAuth flow: only for `/mcp` of this server, for an hour, until they are revoked.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { refuseCaller } from '../../../src/access/auth-verdict.ts'
import { resolvePrincipal } from '../../../src/access/authentication-rules.ts'
import { LOCAL_PRINCIPAL } from '../../../src/access/principal.ts'
import { call } from '../../helpers/http.ts'
import { startServer } from '../../helpers/server.ts'
import { openStore } from '../../helpers/store.ts'
import { FACTS, SETTINGS } from '../kit.ts'
import { ADA, bearer, clock, damaged, HOUR_MS, START, tokensOver } from '../token-kit.ts'

const REQUEST = { client_id: 'client', scopes: ['read', 'write'] } as const

describe('a token of the MCP flow', () => {
  test('has its owner and scopes for an hour', async () => {
    await using opened = await openStore()
    const { mcp } = tokensOver(opened.store)
    const { id, token, expires_at } = await mcp.issue(ADA, REQUEST)
    assert.match(token, /^nta_[0-9a-f]{32}_[\w-]{43}$/)
    assert.equal(expires_at, new Date(START + HOUR_MS).toISOString())
    assert.deepEqual(await mcp.verify(token, START + HOUR_MS - 1), {
      user_id: 'ada',
      workspace_id: 'red',
      trusted_as: 'mcp_token',
      token_id: id,
      scopes: ['read', 'write'],
      administrator: false,
      app_id: null,
      expires_at: START + HOUR_MS,
    })
    assert.equal(await mcp.verify(token, START + HOUR_MS), null)
    assert.deepEqual(
      [mcp.hasExpired(token, START + HOUR_MS - 1), mcp.hasExpired(token, START + HOUR_MS)],
      [false, true],
    )
  })

  test('is invalid while the server has another URL, and valid again at its own', async () => {
    await using opened = await openStore()
    let url = 'https://svc.example'
    const { mcp } = tokensOver(opened.store, { publicUrl: () => url })
    const { id, token } = await mcp.issue(ADA, REQUEST)
    assert.equal(await mcp.isValid(id, START), true)
    url = 'https://moved.example'
    assert.equal(await mcp.verify(token, START), null)
    assert.equal(await mcp.isValid(id, START), false, 'nor are addresses that were signed for it')
    url = 'https://svc.example'
    assert.equal((await mcp.verify(token, START))?.user_id, 'ada')
    assert.equal(await mcp.isValid(id, START), true)
  })

  test('ends when it is revoked, also after a restart', async () => {
    await using opened = await openStore()
    const { mcp } = tokensOver(opened.store)
    const [kept, ended] = [await mcp.issue(ADA, REQUEST), await mcp.issue(ADA, REQUEST)]
    assert.notEqual(await mcp.verify(ended.token, START), null)
    await mcp.revoke(ended.id)
    await mcp.revoke('mcp_none')
    assert.equal(await mcp.verify(ended.token, START), null)
    const again = tokensOver(await opened.reopen())
    assert.equal(await again.mcp.verify(ended.token, START), null)
    assert.equal((await again.mcp.verify(kept.token, START))?.token_id, kept.id)
  })

  test('is invalid if a character is changed, and is no access token', async () => {
    await using opened = await openStore()
    const { mcp, access } = tokensOver(opened.store)
    const { token } = await mcp.issue(ADA, REQUEST)
    for (let i = 0; i < 200; i++) assert.equal(await mcp.verify(damaged(token), START), null)
    assert.equal(await access.verify(token, START), null)
    assert.equal(await access.verify(token.replace('nta_', 'ntk_'), START), null)
    const minted = await access.mint(ADA, { name: 'x' })
    assert.equal(await mcp.verify(minted.token.replace('ntk_', 'nta_'), START), null)
  })

  test('leaves no expired rows behind', async () => {
    await using opened = await openStore()
    const platform = clock()
    const { mcp } = tokensOver(opened.store, { platform })
    const old = await mcp.issue(ADA, REQUEST)
    platform.ms += HOUR_MS
    await mcp.issue(ADA, REQUEST)
    const again = tokensOver(await opened.reopen(), { platform })
    assert.equal(await again.mcp.verify(old.token, START), null, 'its row is gone, whatever the time is')
  })
})

describe('authentication with a token of the MCP flow', () => {
  test('accepts it only at /mcp, and decides finally there and elsewhere', async () => {
    await using opened = await openStore()
    const { mcp, checks } = tokensOver(opened.store)
    const { token } = await mcp.issue(LOCAL_PRINCIPAL, REQUEST)
    const verdict = async (path: string, sent: string) =>
      await resolvePrincipal({ ...FACTS, path, token: sent }, SETTINGS, checks, START)
    assert.equal((await verdict('/mcp', token)).principal?.trusted_as, 'mcp_token')
    // From loopback as well: the verdict on such a token is final.
    for (const path of ['/api/workflows', '/mcp/', '/mcp/x', '/MCP', '/ws'])
      assert.deepEqual(await verdict(path, token), refuseCaller('invalid_token', 'token_rejected'))
    assert.deepEqual(
      await verdict('/mcp', `${token.slice(0, -43)}${'A'.repeat(43)}`),
      refuseCaller('invalid_token', 'token_unknown'),
    )
  })

  test('answers 401 with invalid_token over HTTP', async () => {
    await using server = await startServer()
    const { token } = await server.context.access.tokens.mcp.issue(LOCAL_PRINCIPAL, REQUEST)
    const headers = { Authorization: `Bearer ${token}` }
    for (const path of ['/api/workflows', '/api/tokens', '/nowhere']) {
      const answer = await call(server, 'GET', path, { headers })
      assert.deepEqual([answer.status, answer.body], [401, { error: 'invalid_token' }])
    }
    const elsewhere = await call(server, 'GET', '/mcp', { headers: bearer(token) })
    assert.notEqual(elsewhere.status, 401, 'at /mcp the caller is known')
  })
})
