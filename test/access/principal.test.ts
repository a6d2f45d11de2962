// The rights of a principal by its credential.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  canAdminister,
  canCall,
  isPerson,
  LOCAL_PRINCIPAL,
  NETWORK_PRINCIPAL,
  type Principal,
  type TokenScope,
  type TrustBasis,
} from '../../src/access/principal.ts'

const withScopes = (...scopes: TokenScope[]): Principal => ({ ...LOCAL_PRINCIPAL, scopes })

test('the local user is user 1 and the administrator, wherever it is trusted', () => {
  for (const principal of [LOCAL_PRINCIPAL, NETWORK_PRINCIPAL]) {
    assert.deepEqual([principal.user_id, principal.workspace_id], ['1', null])
    assert.ok(canAdminister(principal))
  }
  assert.deepEqual([LOCAL_PRINCIPAL.trusted_as, NETWORK_PRINCIPAL.trusted_as], ['loopback', 'trusted_network'])
})

test('people are callers that are trusted by their address or signed in', () => {
  const expected: Record<TrustBasis, boolean> = {
    loopback: true,
    trusted_network: true,
    identity_provider: true,
    access_token: false,
    delegated_token: false,
    mcp_token: false,
    app_session: false,
  }
  for (const [trusted_as, person] of Object.entries(expected))
    assert.equal(isPerson({ ...LOCAL_PRINCIPAL, trusted_as: trusted_as as TrustBasis }), person, trusted_as)
})

test('a scope includes no other scope', () => {
  const all: TokenScope[] = ['read', 'write', 'admin']
  for (const one of all) for (const other of all) assert.equal(canCall(withScopes(one), other), one === other)
  for (const scope of all) assert.equal(canCall(withScopes(), scope), false)
})

test('an administrator needs a token with the scope admin', () => {
  assert.ok(canAdminister(withScopes('admin')))
  assert.equal(canAdminister(withScopes('read', 'write')), false)
  assert.equal(canAdminister({ ...LOCAL_PRINCIPAL, administrator: false }), false)
})

test('a visitor of an app may call nothing, with any scopes', () => {
  const visitor: Principal = { ...LOCAL_PRINCIPAL, app_id: 'app' }
  assert.deepEqual([canCall(visitor, 'read'), canCall(visitor, 'write'), canAdminister(visitor)], [false, false, false])
})
