// A token of each kind, issued by the code of the service: valid ones, expired ones, and those of another server.
import { LOCAL_PRINCIPAL, type Principal } from '../../../src/access/principal.ts'
import { type IdentityProvider, signingKey } from '../../helpers/identity-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import type { Credentials } from './wire.ts'
import type { Token } from './words.ts'

/** Milliseconds by which the server's clock is ahead of the real one. */
export interface Clock {
  ahead_ms: number
}

const ALICE: Principal = {
  ...LOCAL_PRINCIPAL,
  user_id: 'alice',
  workspace_id: 'w1',
  trusted_as: 'identity_provider',
  administrator: false,
}
const CAROL = { user_id: 'carol', workspace_id: null }
const VISITOR = { app_id: 'app_1', visitor_id: 'v1', workspace_id: null }
const HOUR_MS = 3_600_000

export async function credentialsOf(
  server: TestServer,
  provider: IdentityProvider,
  clock: Clock,
): Promise<Record<Token, Credentials>> {
  const good = await minted(server)
  clock.ahead_ms = -2 * HOUR_MS
  const expired = await minted(server, new Date(Date.now() - HOUR_MS).toISOString())
  clock.ahead_ms = 0
  await using another = await startServer()
  const foreign = await minted(another)
  return {
    none: { header: [], token: null },
    // They carry a valid token in a form that must not be read.
    'Bearer without a token': { header: ['Bearer'], token: null },
    'Bearer with two tokens': { header: [`Bearer ${good.ntk} ${good.ntk}`], token: null },
    Basic: { header: [`Basic ${Buffer.from(`alice:${good.ntk}`).toString('base64')}`], token: null },
    'two headers': { header: [`Bearer ${good.ntk}`, `Bearer ${good.ntk}`], token: null },
    garbage: bearer('garbage'),
    'ntk_ good': bearer(good.ntk),
    'ntk_ expired': bearer(expired.ntk),
    'ntk_ revoked': bearer(await revoked(server)),
    'ntk_ of another server': bearer(foreign.ntk),
    'nta_ good': bearer(good.nta),
    'nta_ expired': bearer(expired.nta),
    'nta_ of another server': bearer(foreign.nta),
    'nda_ good': bearer(good.nda),
    'nda_ expired': bearer(expired.nda),
    'nda_ of another server': bearer(foreign.nda),
    'delegated good': bearer(good.delegated),
    'delegated expired': bearer(expired.delegated),
    'delegated by another server': bearer(foreign.delegated),
    ...(await issued(provider)),
  }
}

function bearer(token: string): Credentials {
  return { header: [`Bearer ${token}`], token }
}

async function minted({ context }: TestServer, expires_at: string | null = null) {
  const { access, mcp, signed } = context.access.tokens
  return {
    ntk: (await access.mint(ALICE, { name: 'a program', expires_at })).token,
    nta: (await mcp.issue(ALICE, { client_id: 'client', scopes: ['read', 'write'] })).token,
    nda: signed.issueAppSession(VISITOR),
    delegated: signed.issueDelegatedToken(CAROL),
  }
}

async function revoked({ context }: TestServer): Promise<string> {
  const { access } = context.access.tokens
  const { id, token } = await access.mint(ALICE, { name: 'soon revoked' })
  if (!access.verify(token, Date.now())) throw new Error('it was never good')
  await access.revoke(ALICE, id)
  return token
}

/** Tokens of the identity provider, or that claim to be. */
async function issued(provider: IdentityProvider) {
  const stranger = await signingKey()
  return {
    'JWT good': bearer(await provider.token({ sub: 'bob' })),
    'JWT good, with a workspace': bearer(await provider.token({ sub: 'bob', workspace_id: 'w2' })),
    'JWT good, of an administrator': bearer(await provider.token({ sub: 'root' })),
    'JWT expired': bearer(await provider.token({ sub: 'bob', expires_in: -3600 })),
    'JWT for another audience': bearer(await provider.token({ sub: 'bob', aud: 'somebody-else' })),
    'JWT signed by a stranger': bearer(await provider.token({ sub: 'bob' }, {}, stranger)),
    'opaque good': bearer(provider.opaque({ id: 'bob' })),
    'opaque bad': bearer('opaque-and-unknown'),
  }
}
