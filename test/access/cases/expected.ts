// The expected outcome of each case, written by hand only from the documents of the interface. Imports nothing of the service. The rules are in the
// order in which they apply to a request. `null` means that the documents leave the case open.
import { isLocalUser, RULES, type Rules } from './expected-trust.ts'
import type { Case, Path, Token } from './words.ts'

/**
 * `user 1` or `user alice in w1`: executed for that owner. `visitor`: an open socket without rights. `let in`: not refused, with any result. A status
 * with a JSON body: exactly that. `reason`: `{"error": <some text>}`. `bare`: no body, and the connection ends.
 */
export type Verdict =
  | `user ${string}`
  | 'visitor'
  | 'let in'
  | '200'
  | '403'
  | '404'
  | '503'
  | '401 {"error":"Unauthorized"}'
  | '401 {"error":"Remote access requires authentication"}'
  | '401 {"error":"invalid_token"}'
  | '401 reason'
  | '400 bare'
  | '401 bare'
  | '404 bare'
  | '503 bare'

/** "Public paths (skip session auth)": tokens are not checked there. */
const PUBLIC: readonly Path[] = [
  '/health',
  '/ready',
  '/api/health',
  '/api/config',
  '/api/nodes/metadata?fields=summary&namespace=text',
  '/api/workflows/examples',
  '/api/workflows/public',
  '/api/assets/packages',
  // "public, like static web files"
  '/openapi.json',
  '/asyncapi.json',
  '/docs',
]

/** `/api/workflows/examples/*` is public as well: the rest is the name of an example, which does not exist here. */
const NO_EXAMPLES: readonly Path[] = [
  '/api/workflows/examples/../../workflows',
  '/api/workflows/examples/%2e%2e/%2e%2e/workflows',
]

export function expected(one: Case): Verdict | null {
  const outcome = (isSocket(one) ? null : inPublic(one.path)) ?? principal(one)
  if (outcome === null) return null
  // An unknown query parameter is an error of its own, if the request gets that far.
  if (one.transport === 'HTTP, the token as api_key' && !String(outcome).startsWith('401')) return null
  // "The method of the request MUST be GET, and the HTTP version MUST be at least 1.1" (RFC 6455, section 4.1).
  const too_old = isSocket(one) && one.path === '/ws' && one.forwarded.endsWith('in HTTP/1.0')
  if (too_old && (outcome === 'visitor' || typeof outcome === 'object')) return '400 bare'
  if (outcome === 'visitor') return 'visitor'
  if (typeof outcome === 'string') return isSocket(one) ? bare(outcome) : outcome
  return isSocket(one) ? onSocket(one.path, outcome) : onHttp(one.path, outcome, RULES[one.mode])
}

function inPublic(path: Path): Verdict | null {
  if (NO_EXAMPLES.includes(path)) return '404'
  return PUBLIC.includes(path) ? '200' : null
}

function isSocket({ transport }: Case): boolean {
  return transport.startsWith('socket')
}

/** "rejected WebSocket upgrade: bare Unauthorized response, no body"; an outage "is 503 and not 401" on both doors. */
function bare(refusal: Verdict): Verdict {
  return refusal === '503' ? '503 bare' : '401 bare'
}

interface User {
  name: `user ${string}`
  administrator: boolean
}

const LOCAL_USER: User = { name: 'user 1', administrator: true }
const ALICE: User = { name: 'user alice in w1', administrator: false }
const CAROL: User = { name: 'user carol', administrator: false }
/** The user of an identity provider's token; "the JWT's `app_metadata.workspace_id` … else null". */
const PEOPLE: Readonly<Partial<Record<Token, User>>> = {
  'JWT good': { name: 'user bob', administrator: false },
  'JWT good, with a workspace': { name: 'user bob in w2', administrator: false },
  'JWT good, of an administrator': { name: 'user root', administrator: true },
  'opaque good': { name: 'user bob', administrator: false },
}

const REMOTE = '401 {"error":"Remote access requires authentication"}'
const INVALID_TOKEN = '401 {"error":"invalid_token"}'

/** "prefixed tokens are checked before the mode's own rules" */
function principal(one: Case): User | Verdict | null {
  const token = sent(one)
  if (token === null) return null
  const rules = RULES[one.mode]
  // "`nta_` valid on `/mcp` alone, elsewhere final `invalid_token`"; its owner cannot be observed while `/mcp` is planned.
  if (token.startsWith('nta_')) return token === 'nta_ good' && atMcp(one) ? ALICE : INVALID_TOKEN
  // "`nda_` valid on `/ws` alone, failure final"
  if (token.startsWith('nda_')) {
    return token === 'nda_ good' && isSocket(one) && one.path === '/ws' ? 'visitor' : '401 reason'
  }
  // "`ntk_` and delegated: success final, failure falls through"
  if (token === 'ntk_ good') return ALICE
  // "enabled only when `SVC_INTEGRATION_TOKEN` is set"
  if (token === 'delegated good' && rules.bridges) return CAROL
  return rules.identity_provider ? byProvider(one, token, rules) : byPlace(one, rules, REMOTE)
}

function atMcp(one: Case): boolean {
  return !isSocket(one) && one.path === '/mcp'
}

/**
 * The token that counts. "on sockets `api_key` only where the header is absent", and not at all over HTTP.
 * Decided: an Authorization header that is not exactly one `Bearer <token>` is as if none had been sent; the interface names no refusal for it.
 */
function sent({ token, transport }: Case): Token | null {
  const needs_header: Token[] = ['Bearer without a token', 'Bearer with two tokens', 'Basic', 'two headers']
  if (transport === 'HTTP' || transport === 'socket') return needs_header.includes(token) ? 'none' : token
  // The meaning of an empty or repeated api_key is open.
  if (needs_header.includes(token)) return null
  return transport === 'socket, the token as api_key' ? token : 'none'
}

/** "identity-provider mode: the JWT, or loopback where `SVC_TRUST_LOCALHOST=true`" */
function byProvider(one: Case, token: Token, rules: Rules): User | Verdict | null {
  // "missing token (identity-provider mode)"
  if (token === 'none') return byPlace(one, rules, '401 {"error":"Unauthorized"}')
  // Decided: tokens with `ntk_` are never sent to an identity provider, so they are refused even while the provider is down.
  if (token.startsWith('ntk_')) return byPlace(one, rules, '401 reason')
  // "an outage is 503 and not 401". Open for a token that is recognized as invalid without the provider.
  if (rules.down) return PEOPLE[token] || token === 'opaque bad' || token === 'garbage' ? '503' : null
  // Decided: a caller that needs no token is also accepted with a bad token; the order of the interface has "the JWT, or loopback".
  return PEOPLE[token] ?? byPlace(one, rules, '401 reason')
}

/** "loopback and trusted networks, each with the Host rule and the Origin rule, else the Local refusal" */
function byPlace(one: Case, rules: Rules, refusal: Verdict): User | Verdict | null {
  const local = isLocalUser(one, rules)
  if (local === null) return null
  return local ? LOCAL_USER : refusal
}

/** "401 before 404", and `planned` operations answer as an unknown path does. */
function onHttp(path: Path, { name, administrator }: User, { identity_provider }: Rules): Verdict {
  if (path === '/api/workflows' || path === '/api/workflows/') return name
  // "identity-provider mode: administrators only"
  if (path === '/metrics' && identity_provider && !administrator) return '403'
  if (path === '/metrics' || path === '/v1/models' || path === '/api/threads') return '200'
  // "`/admin/*` needs an administrator …, else 403", also if the operation is planned or the path has an odd spelling.
  if (path.startsWith('/admin/') && !administrator) return '403'
  if (['/api/nothing-here', '/nothing-here', '/v1/nothing-here'].includes(path)) return '404'
  if (['/mcp'].includes(path)) return '404'
  // No spelling of a path makes it public.
  return 'let in'
}

function onSocket(path: Path, { name }: User): Verdict {
  return path === '/ws' ? name : '404 bare'
}
