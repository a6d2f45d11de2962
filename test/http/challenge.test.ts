// The challenge of `/mcp`, with and without an OAuth flow that a client could go through.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import { canSignIn, challengeTo } from '../../src/http/challenge.ts'

const RESOURCE = 'https://svc.example/mcp'
const METADATA = 'resource_metadata="https://svc.example/.well-known/oauth-protected-resource/mcp"'

describe('the challenge', () => {
  test('names an error only where a token was sent, and the metadata only where they lead to one', () => {
    const cases: [string | null, boolean, string][] = [
      [null, false, 'Bearer realm="mcp"'],
      ['nta_x', false, 'Bearer realm="mcp", error="invalid_token"'],
      [null, true, `Bearer realm="mcp", ${METADATA}`],
      ['nta_x', true, `Bearer realm="mcp", error="invalid_token", ${METADATA}`],
    ]
    for (const [token, can_sign_in, expected] of cases)
      assert.equal(challengeTo({ path: '/mcp', token }, RESOURCE, can_sign_in), expected)
  })

  test('keeps the path of a public address', () => {
    const challenge = challengeTo({ path: '/mcp', token: null }, 'https://example.org/svc/mcp', true)
    assert.ok(challenge?.endsWith('"https://example.org/svc/.well-known/oauth-protected-resource/mcp"'), challenge!)
  })

  test('is that of /mcp alone', () => {
    for (const path of ['/', '', '/mcp/', '/MCP', '//mcp', '/mcp/x', '/api/mcp', '/api/workflows', '/ws'])
      assert.equal(challengeTo({ path, token: 'x' }, RESOURCE, true), null, path)
  })
})

describe('the OAuth flow', () => {
  const all = operationManifest.map((operation): OperationInfo => ({ ...operation, implementation: 'implemented' }))
  const NEEDED = [
    'getProtectedResourceMetadataFor',
    'getAuthorizationServerMetadata',
    'registerClient',
    'showAuthorization',
    'decideAuthorization',
    'issueToken',
  ]

  test('can complete where all of its operations are served', () => assert.ok(canSignIn(all)))

  test('cannot where one of them is not', () => {
    for (const id of NEEDED) {
      const without = all.map(
        (one): OperationInfo => ({
          ...one,
          implementation: one.operationId === id ? 'planned' : 'implemented',
        }),
      )
      assert.equal(canSignIn(without), false, id)
    }
    assert.equal(canSignIn([]), false)
  })

  test('is told of by the operations that are served now', () => {
    const served = operationManifest.filter(({ implementation }) => implementation === 'implemented')
    const complete = NEEDED.every((id) => served.some(({ operationId }) => operationId === id))
    const now = challengeTo({ path: '/mcp', token: null }, RESOURCE)
    assert.equal(now?.includes('resource_metadata'), complete)
  })
})
