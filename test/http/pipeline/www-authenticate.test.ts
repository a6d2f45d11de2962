// The challenge of `/mcp`, with and without a complete OAuth flow.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { formatChallenge, isOauthFlowServed } from '../../../src/http/pipeline/www-authenticate.ts'

const RESOURCE = 'https://svc.example/mcp'
const METADATA = 'resource_metadata="https://svc.example/.well-known/oauth-protected-resource/mcp"'

function at(path: string, token: string | null) {
  return { path, token, malformed: false }
}

describe('the challenge', () => {
  test('has an error only if a token was sent', () => {
    assert.equal(formatChallenge(at('/mcp', null), 'Unauthorized', RESOURCE, true), `Bearer realm="mcp", ${METADATA}`)
    assert.equal(
      formatChallenge(at('/mcp', 'nta_x'), 'invalid_token', RESOURCE, true),
      `Bearer realm="mcp", error="invalid_token", ${METADATA}`,
    )
  })

  test('is absent on /mcp if no client can get a token by itself', () => {
    for (const token of [null, 'nta_x'])
      assert.equal(formatChallenge(at('/mcp', token), 'Unauthorized', RESOURCE, false), null)
  })

  test('keeps the path of a public URL', () => {
    const challenge = formatChallenge(at('/mcp', null), 'Unauthorized', 'https://example.org/svc/mcp', true)
    assert.ok(challenge?.endsWith('"https://example.org/svc/.well-known/oauth-protected-resource/mcp"'), challenge!)
  })

  test('describes on every other path what to send, in characters that need no escapes', () => {
    const REMOTE = 'Remote access requires authentication'
    const cases: [string | null, boolean, string, RegExp][] = [
      [null, false, 'Unauthorized', /^Bearer error_description="Send a token of the identity provider, or an access/],
      [
        null,
        false,
        REMOTE,
        /^Bearer error_description="Send an access token in the header Authorization: Bearer TOKEN\./,
      ],
      [null, true, REMOTE, /^Bearer error_description="The header Authorization holds no bearer token\./],
      [
        'nta_x',
        false,
        'invalid_token',
        /^Bearer error="invalid_token", error_description=".*nta_ is valid only on \/mcp/,
      ],
      [
        'nda_x',
        false,
        'invalid_token',
        /^Bearer error="invalid_token", error_description=".*nda_ is valid only on the socket/,
      ],
      [
        'ntk_x',
        false,
        'Invalid token',
        /^Bearer error="invalid_token", error_description="The token is unknown, has exp/,
      ],
    ]
    for (const path of ['/', '', '/mcp/', '/MCP', '//mcp', '/mcp/x', '/api/mcp', '/api/workflows', '/ws', '/v1/models'])
      for (const [token, malformed, reason, expected] of cases) {
        const challenge = formatChallenge({ path, token, malformed }, reason, RESOURCE, true)!
        assert.match(challenge, expected)
        // RFC 6750, section 3.
        assert.match(challenge, /error_description="[\x20\x21\x23-\x5b\x5d-\x7e]+"$/)
      }
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

  test('can complete if all of its operations are served', () => assert.ok(isOauthFlowServed(all)))

  test('cannot complete if one of them is not served', () => {
    for (const id of NEEDED) {
      const without = all.map(
        (one): OperationInfo => ({
          ...one,
          implementation: one.operationId === id ? 'planned' : 'implemented',
        }),
      )
      assert.equal(isOauthFlowServed(without), false, id)
    }
    assert.equal(isOauthFlowServed([]), false)
  })

  test('is announced if the present operations include it', () => {
    const served = operationManifest.filter(({ implementation }) => implementation === 'implemented')
    const complete = NEEDED.every((id) => served.some(({ operationId }) => operationId === id))
    const now = formatChallenge(at('/mcp', null), 'Unauthorized', RESOURCE)
    assert.equal(now?.includes('resource_metadata') ?? false, complete)
  })
})
