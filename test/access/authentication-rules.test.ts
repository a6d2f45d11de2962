// Authentication: every kind of token with every outcome, in both modes, from every place, on both transports.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { AuthVerdict } from '../../src/access/auth-verdict.ts'
import {
  type AuthenticationSettings,
  type IdentityVerdict,
  NO_TOKEN_VERIFIERS,
  resolvePrincipal,
  type TokenVerifiers,
} from '../../src/access/authentication-rules.ts'
import { LOCAL_PRINCIPAL, NETWORK_PRINCIPAL, type Principal, type TrustBasis } from '../../src/access/principal.ts'
import type { RequestFacts } from '../../src/access/request-facts.ts'
import { FACTS, rangesOf, SETTINGS } from './kit.ts'

const NOW = 1_700_000_000_000

function somebody(user_id: string, trusted_as: TrustBasis): Principal {
  return { ...LOCAL_PRINCIPAL, user_id, trusted_as, administrator: false }
}

const ALICE = somebody('alice', 'access_token')
const BRIDGED = somebody('carol', 'delegated_token')
const AGENT = somebody('alice', 'mcp_token')
const VISITOR: Principal = { ...somebody('owner', 'app_session'), scopes: [], app_id: 'app' }
const BOB = somebody('bob', 'identity_provider')

/** Accepts one valid token of each kind, and records its calls. */
function checks(
  identified: (token: string) => IdentityVerdict | Promise<IdentityVerdict> = () => ({ rejected: 'No such user' }),
) {
  const asked: string[] = []
  const knows = (kind: string, good: string, principal: Principal) => (token: string, now: number) => {
    assert.equal(now, NOW)
    asked.push(kind)
    return token === good ? principal : null
  }
  const tokens: TokenVerifiers = {
    accessToken: knows('access', 'ntk_good', ALICE),
    mcpToken: knows('mcp', 'nta_good', AGENT),
    appSession: knows('app', 'nda_good', VISITOR),
    delegatedToken: knows('delegated', 'delegated.good', BRIDGED),
    hasExpired: (token) => token.endsWith('_old'),
    identity(token, now) {
      assert.equal(now, NOW)
      asked.push('identity')
      return token === 'jwt.good' ? { principal: BOB } : identified(token)
    },
  }
  return { tokens, asked }
}

const MODES: Readonly<Record<string, AuthenticationSettings>> = {
  local: SETTINGS,
  'local, nobody trusted': { ...SETTINGS, trust_localhost: false },
  provider: { ...SETTINGS, identity_provider: {}, trust_localhost: false },
  'provider, localhost trusted': { ...SETTINGS, identity_provider: {} },
}

const HERE: Partial<RequestFacts> = {}
const AWAY: Partial<RequestFacts> = { peer: '203.0.113.7', host: '203.0.113.1' }

/** The name of the accepted caller, or the refusal. */
function told(verdict: AuthVerdict): string {
  if (verdict.principal) return verdict.principal === LOCAL_PRINCIPAL ? 'local' : verdict.principal.user_id
  return verdict.refusal.kind === 'unavailable' ? '503' : verdict.refusal.reason
}

const REMOTE = 'Remote access requires authentication'
type Row = [
  token: string | null,
  transport: string,
  path: string,
  ...outcomes: [string, string, string, string, string],
]
/** By mode and place: Local mode, local and remote; identity provider, remote; provider, local and trusted; provider down, remote. */
const ROWS: readonly Row[] = [
  [null, 'http', '/api/workflows', 'local', REMOTE, 'Unauthorized', 'local', 'Unauthorized'],
  [null, 'socket', '/ws', 'local', REMOTE, 'Unauthorized', 'local', 'Unauthorized'],
  [null, 'http', '/mcp', 'local', REMOTE, 'Unauthorized', 'local', 'Unauthorized'],
  // Valid from any place, which is not checked.
  ['ntk_good', 'http', '/api/workflows', 'alice', 'alice', 'alice', 'alice', 'alice'],
  ['ntk_good', 'socket', '/ws', 'alice', 'alice', 'alice', 'alice', 'alice'],
  ['ntk_good', 'http', '/mcp', 'alice', 'alice', 'alice', 'alice', 'alice'],
  // A failure falls through to the rules of the mode, and the provider is not asked.
  ['ntk_bad', 'http', '/api/workflows', 'local', REMOTE, 'Invalid token', 'local', 'Invalid token'],
  ['ntk_bad', 'socket', '/ws', 'local', REMOTE, 'Invalid token', 'local', 'Invalid token'],
  ['ntk_', 'http', '/api/workflows', 'local', REMOTE, 'Invalid token', 'local', 'Invalid token'],
  ['delegated.good', 'http', '/api/workflows', 'carol', 'carol', 'carol', 'carol', 'carol'],
  ['delegated.good', 'socket', '/ws', 'carol', 'carol', 'carol', 'carol', 'carol'],
  ['delegated.bad', 'http', '/api/workflows', 'local', REMOTE, 'No such user', 'local', '503'],
  // Final from any place.
  ['nta_good', 'http', '/mcp', 'alice', 'alice', 'alice', 'alice', 'alice'],
  ['nta_bad', 'http', '/mcp', 'invalid_token', 'invalid_token', 'invalid_token', 'invalid_token', 'invalid_token'],
  ...['/api/workflows', '/', '/mcp/', '/MCP', '//mcp', '/mcp/x', '/%6dcp', '/ws'].map(
    (path): Row => ['nta_good', 'http', path, ...fill('invalid_token')],
  ),
  ...['/ws', '/mcp'].map((path): Row => ['nta_good', 'socket', path, ...fill('invalid_token')]),
  ['nda_good', 'socket', '/ws', ...fill('owner')],
  ['nda_bad', 'socket', '/ws', ...fill('invalid_token')],
  ...['/ws/', '/WS', '/ws/agent', '//ws'].map((path): Row => ['nda_good', 'socket', path, ...fill('invalid_token')]),
  ...['/ws', '/mcp', '/api/workflows'].map((path): Row => ['nda_good', 'http', path, ...fill('invalid_token')]),
  // Every other token is verified by the provider, if there is one.
  ['jwt.good', 'http', '/api/workflows', 'local', REMOTE, 'bob', 'bob', 'bob'],
  ['jwt.good', 'socket', '/ws', 'local', REMOTE, 'bob', 'bob', 'bob'],
  ['jwt.good', 'http', '/mcp', 'local', REMOTE, 'bob', 'bob', 'bob'],
  ['jwt.bad', 'http', '/api/workflows', 'local', REMOTE, 'No such user', 'local', '503'],
  ['NTK_good', 'http', '/api/workflows', 'local', REMOTE, 'No such user', 'local', '503'],
  ['ntk', 'http', '/api/workflows', 'local', REMOTE, 'No such user', 'local', '503'],
]

function fill(outcome: string): [string, string, string, string, string] {
  return [outcome, outcome, outcome, outcome, outcome]
}

const COLUMNS: readonly [name: string, mode: string, place: Partial<RequestFacts>, down: boolean][] = [
  ['in Local mode, from here', 'local', HERE, false],
  ['in Local mode, from away', 'local', AWAY, false],
  ['with a provider, from away', 'provider', AWAY, false],
  ['with a provider, from here, trusted', 'provider, localhost trusted', HERE, false],
  ['with a provider that is down, from away', 'provider', AWAY, true],
]

describe('authentication', () => {
  for (const [token, transport, path, ...outcomes] of ROWS) {
    for (const [at, [name, mode, place, down]] of COLUMNS.entries()) {
      test(`${token ?? 'no token'} over ${transport} at ${path} ${name}: ${outcomes[at]}`, () => {
        const { tokens } = checks(down ? () => ({ unavailable: true }) : undefined)
        const facts = { ...FACTS, ...place, token, transport: transport as RequestFacts['transport'], path }
        const verdict = resolvePrincipal(facts, MODES[mode]!, tokens, NOW)
        assert.ok(!(verdict instanceof Promise))
        assert.equal(told(verdict), outcomes[at])
      })
    }
  }

  test('waits for a provider that answers asynchronously, with the same verdicts', async () => {
    const answers: [IdentityVerdict, Partial<RequestFacts>, string, string][] = [
      [{ principal: BOB }, AWAY, 'provider', 'bob'],
      [{ rejected: 'expired' }, AWAY, 'provider', 'expired'],
      [{ rejected: 'expired' }, HERE, 'provider', 'expired'],
      [{ rejected: 'expired' }, HERE, 'provider, localhost trusted', 'local'],
      [{ unavailable: true }, AWAY, 'provider', '503'],
      // A caller with a token is not the local user while the provider is down.
      [{ unavailable: true }, HERE, 'provider, localhost trusted', '503'],
    ]
    for (const [identified, place, mode, expected] of answers) {
      const { tokens } = checks(async () => identified)
      const verdict = resolvePrincipal({ ...FACTS, ...place, token: 'x' }, MODES[mode]!, tokens, NOW)
      assert.ok(verdict instanceof Promise)
      assert.equal(told(await verdict), expected)
    }
  })

  test('shows a token only to the verifier of its kind', () => {
    const cases: [string | null, string, string[], string[]][] = [
      [null, '/ws', [], []],
      ['ntk_bad', '/ws', ['access'], ['access']],
      ['nta_bad', '/ws', [], []],
      ['nta_bad', '/mcp', ['mcp'], ['mcp']],
      ['nda_bad', '/mcp', [], []],
      ['other', '/api/workflows', ['delegated'], ['delegated', 'identity']],
    ]
    for (const [token, path, local, provider] of cases) {
      for (const [mode, expected] of [
        ['local', local],
        ['provider', provider],
      ] as const) {
        const { tokens, asked } = checks()
        resolvePrincipal({ ...FACTS, ...AWAY, token, path }, MODES[mode]!, tokens, NOW)
        assert.deepEqual(asked, expected, `${token} ${mode}`)
      }
    }
  })

  test('accepts no token if the service has none', () => {
    for (const token of ['ntk_good', 'delegated.good', 'jwt.good']) {
      const verdict = resolvePrincipal(
        { ...FACTS, ...AWAY, token },
        MODES.provider!,
        NO_TOKEN_VERIFIERS,
        NOW,
      ) as AuthVerdict
      assert.equal(told(verdict), 'Invalid token')
    }
    for (const [token, path] of [
      ['nta_good', '/mcp'],
      ['nda_good', '/ws'],
    ] as const) {
      const verdict = resolvePrincipal(
        { ...FACTS, transport: 'socket', path, token },
        SETTINGS,
        NO_TOKEN_VERIFIERS,
        NOW,
      ) as AuthVerdict
      assert.equal(told(verdict), 'invalid_token')
    }
  })
})

describe('the address of a caller', () => {
  const proxied: AuthenticationSettings = {
    ...SETTINGS,
    trusted_proxies: rangesOf('127.0.0.3/32', '192.0.2.1/32'),
    trust_local_networks: rangesOf('172.16.0.0/12', '127.0.0.0/8', 'fe80::/64'),
  }
  const by = (facts: Partial<RequestFacts>, settings: AuthenticationSettings = proxied): Principal | null =>
    (resolvePrincipal({ ...FACTS, ...facts }, settings, NO_TOKEN_VERIFIERS, NOW) as AuthVerdict).principal ?? null
  const through = (forwarded_for: string, peer = '192.0.2.1') => by({ peer, forwards: true, forwarded_for })

  test('in a trusted network makes the local user', () => {
    for (const peer of ['172.17.0.1', '::ffff:172.31.255.255', 'fe80::1%eth0']) {
      assert.equal(by({ peer }), NETWORK_PRINCIPAL, peer)
      assert.equal(by({ peer }, SETTINGS), null, peer)
    }
    for (const peer of ['172.32.0.1', '64:ff9b::172.17.0.1', 'fe80:0:0:1::1']) assert.equal(by({ peer }), null, peer)
  })

  test('in a trusted network counts only with the Host and Origin rules', () => {
    const peer = '172.17.0.1'
    for (const host of [null, '', 'evil.example']) assert.equal(by({ peer, host }), null)
    for (const origin of ['null', '', 'http://evil.example']) assert.equal(by({ peer, origin }), null)
    assert.equal(by({ peer, origin: 'http://localhost:3000', host: '172.17.0.2:7777' }), NETWORK_PRINCIPAL)
  })

  test('is the address that a trusted proxy names', () => {
    assert.equal(through('172.17.0.1'), NETWORK_PRINCIPAL)
    assert.equal(through('203.0.113.7, 172.17.0.1'), NETWORK_PRINCIPAL)
    assert.equal(through('172.17.0.1, 203.0.113.7'), null)
    assert.equal(through('unknown'), null)
  })

  test('is never loopback behind a proxy, even if loopback is a trusted network', () => {
    for (const list of ['127.0.0.1', '::1', '127.0.0.3', '::ffff:127.0.0.1'])
      for (const peer of ['192.0.2.1', '127.0.0.3']) assert.equal(through(list, peer), null, `${list} by ${peer}`)
  })

  test('is not that of the proxy, even if the proxy names no client', () => {
    assert.equal(by({ peer: '127.0.0.3' }), null)
    assert.equal(by({ peer: '127.0.0.2' }), LOCAL_PRINCIPAL)
  })

  test('is not trusted if the peer is an unknown proxy', () => {
    for (const peer of ['127.0.0.1', '::1', '172.17.0.1'])
      for (const forwarded_for of [null, '127.0.0.1', '172.17.0.1'])
        assert.equal(by({ peer, forwards: true, forwarded_for }), null, `${forwarded_for} by ${peer}`)
  })
})

describe('for any request', () => {
  const text = fc.oneof(
    fc.constantFrom('127.0.0.1', '::1', 'localhost', 'null', '', '172.17.0.1', 'http://localhost', 'x'.repeat(16)),
    fc.string({ maxLength: 30 }),
  )
  const facts = fc.record<RequestFacts>({
    transport: fc.constantFrom('http', 'socket'),
    path: fc.oneof(fc.constantFrom('/ws', '/mcp', '/api/workflows'), fc.string()),
    peer: fc.option(fc.oneof(fc.constantFrom('127.0.0.1', '::1', '172.17.0.1', '192.0.2.1'), fc.ipV4(), fc.ipV6())),
    own_request: fc.boolean(),
    own_connection: fc.boolean(),
    forwards: fc.boolean(),
    forwarded_by: fc.constantFrom(null, 'x-forwarded-for'),
    forwarded_for: fc.option(text),
    host: fc.option(text),
    origin: fc.option(text),
    local_client: fc.option(text),
    token: fc.option(
      fc.oneof(fc.constantFrom('ntk_bad', 'nta_good', 'nda_good', 'jwt.bad'), fc.string({ minLength: 1 })),
    ),
    malformed: fc.boolean(),
  })
  const settings = fc.record<AuthenticationSettings>({
    identity_provider: fc.constantFrom(null, {}),
    trusted_proxies: fc.subarray(rangesOf('192.0.2.1/32', '127.0.0.0/8')),
    trust_localhost: fc.boolean(),
    trust_local_networks: fc.subarray(rangesOf('172.16.0.0/12', '127.0.0.0/8')),
    allowed_hosts: fc.subarray(['box.example']),
    allowed_origins: fc.subarray(['https://app.example']),
    public_url: fc.constantFrom(null, 'https://svc.example'),
    local_client_token: fc.constantFrom(null, 'x'.repeat(16)),
  })
  const decide = (one: RequestFacts, by: AuthenticationSettings) =>
    resolvePrincipal(one, by, NO_TOKEN_VERIFIERS, NOW) as AuthVerdict

  test('there is a verdict, and only the local user is accepted without a valid token', () => {
    fc.assert(
      fc.property(facts, settings, (one, by) => {
        const { principal } = decide(one, by)
        if (principal) assert.ok(principal === LOCAL_PRINCIPAL || principal === NETWORK_PRINCIPAL)
      }),
      { numRuns: 500 },
    )
  })

  test('added forwarding headers, origins and bad tokens never turn a refusal into acceptance', () => {
    const added = fc.record({
      forwards: fc.constant(true),
      forwarded_for: fc.option(text),
      origin: text,
      token: fc.constantFrom('ntk_bad', 'nta_bad', 'nda_bad', 'jwt.bad'),
    })
    fc.assert(
      fc.property(facts, settings, added, (one, by, more) => {
        const plain: RequestFacts = { ...one, forwards: false, forwarded_for: null, origin: null, token: null }
        // A trusted proxy names the client in its header.
        fc.pre(by.trusted_proxies.length === 0 && decide(plain, by).refusal !== undefined)
        assert.ok(decide({ ...plain, ...more }, by).refusal)
      }),
      { numRuns: 500 },
    )
  })

  test('a forwarded caller is never trusted as loopback', () => {
    fc.assert(
      fc.property(facts, settings, (one, by) => {
        assert.notEqual(decide({ ...one, forwards: true }, by).principal, LOCAL_PRINCIPAL)
      }),
      { numRuns: 500 },
    )
  })
})
