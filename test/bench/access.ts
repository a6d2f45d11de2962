// The cost of authentication: single checks of real requests in processor time, and requests with and without a token.
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CreatedToken } from '../../generated/types.ts'
import type { Authenticator } from '../../src/access/authenticator.ts'
import { LOCAL_PRINCIPAL, type TrustBasis } from '../../src/access/principal.ts'
import { RateLimiter } from '../../src/access/rate-limiter.ts'
import { readRequestFacts } from '../../src/access/request-facts.ts'
import { NONE_SENT } from '../access/kit.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { serve } from '../helpers/process.ts'
import { processorMs } from '../helpers/processor.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import type { BenchRow } from './engine.ts'
import { load, type Target } from './http.ts'
import { shown, sized } from './scale.ts'
import { percentile, rounded, takeTurns } from './turns.ts'

const ROUNDS = 5
const CHECKS = sized(100_000, 1_000)
/** Requests in turns, each with its own texts, as if it had arrived. */
const REQUESTS = 64
const CLIENTS = sized(100_000, 1_000)
const CONNECTIONS = 10
const SECONDS = 2
const WARM_UP_SECONDS = 3
const HTTP_ROUNDS = 3

/** Further headers of programs and browsers. */
const HEADERS = {
  accept: 'application/json, text/plain, */*',
  'accept-encoding': 'gzip, deflate, br',
  'accept-language': 'en',
  'content-type': 'application/json',
  'user-agent': 'bench/1.0',
}

const row = (name: string, value: number, unit: string): BenchRow => ({ name: `access: ${name}`, value, unit })

export async function benchAccess(): Promise<BenchRow[]> {
  return [...(await benchLocal()), ...(await benchIdentity()), ...(await benchLimiter()), ...(await benchRequests())]
}

/** Callers without a credential, access tokens, and refusals, in Local mode. */
async function benchLocal(): Promise<BenchRow[]> {
  await using server = await startServer()
  await using distrustful = await startServer({ environment: { SVC_TRUST_LOCALHOST: 'false' } })
  const { token } = await distrustful.context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'bench' })
  const wrong = `${token.slice(0, -8)}AAAAAAAA`
  const { authenticate: trusting } = server.context.access
  const { authenticate: strict } = distrustful.context.access
  await using plain = await received({})
  await using known = await received({ authorization: `Bearer ${token}` })
  await using damaged = await received({ authorization: `Bearer ${wrong}` })
  await using unknown = await received({ authorization: `Bearer ntk_${'0'.repeat(32)}${token.slice(-44)}` })
  return [
    ...(await checks('a trusted loopback request', plain.requests, trusting, 'loopback')),
    ...(await checks('an access token', known.requests, strict, 'access_token')),
    ...(await checks('a refused request', plain.requests, strict, null)),
    ...(await checks('an access token with a wrong secret', damaged.requests, strict, null)),
    ...(await checks('an access token that does not exist', unknown.requests, strict, null)),
  ]
}

async function benchIdentity(): Promise<BenchRow[]> {
  await using provider = await startIdentityProvider()
  await using server = await startServer({ environment: provider.environment })
  await using signed = await received({ authorization: `Bearer ${await provider.token({ sub: 'ada' })}` })
  const { authenticate: principalOf } = server.context.access
  await principalOf(readRequestFacts(signed.requests[0]!, 'http', NONE_SENT))
  return checks('a JWT that was seen before', signed.requests, principalOf, 'identity_provider')
}

/**
 * Measures the check of one kind of request, from the request to the verdict. `trust` is the expected verdict; null stands for a refusal.
 */
async function checks(
  name: string,
  requests: readonly IncomingMessage[],
  gate: Authenticator,
  trust: TrustBasis | null,
): Promise<BenchRow[]> {
  const ours = (count: number) => {
    for (let i = 0; i < count; i++) {
      const verdict = gate(readRequestFacts(requests[i % REQUESTS]!, 'http', NONE_SENT))
      if (verdict instanceof Promise || (verdict.principal?.trusted_as ?? null) !== trust)
        throw new Error(`${name}: another verdict than was to be measured`)
    }
  }
  return compared(name, ours)
}

async function benchLimiter(): Promise<BenchRow[]> {
  await using server = await startServer({ environment: { SVC_RATE_LIMIT_MAX: '1000000000' } })
  const { config, platform } = server.context
  const limiter = new RateLimiter(config, platform)
  const from = (peer: string) => ({ peer, own_connection: false, forwards: false, forwarded_for: null })
  const clients = Array.from({ length: CLIENTS }, (_, i) => from(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`))
  const take = (some: readonly ReturnType<typeof from>[]) => (count: number) => {
    for (let i = 0; i < count; i++)
      if (!limiter.take(some[i % some.length]!)?.allowed) throw new Error('the limiter refused or passed over a client')
  }
  const one = await compared('the limiter, one client', take(clients.slice(0, 1)))
  return [...one, ...(await compared(`the limiter, ${shown(CLIENTS)} clients in turn`, take(clients)))]
}

/** Compares `ours` with the minimum of a token check: its SHA-256 and a look-up by that. Both in microseconds. */
async function compared(name: string, ours: (count: number) => void): Promise<BenchRow[]> {
  const tokens = Array.from({ length: REQUESTS }, (_, i) => `ntk_${'0'.repeat(32)}_${'x'.repeat(41)}${10 + i}`)
  const known = new Map(tokens.map((token) => [hash('sha256', token), token]))
  const bare = (count: number) => {
    for (let i = 0; i < count; i++)
      if (!known.has(hash('sha256', tokens[i % REQUESTS]!))) throw new Error('a token is gone')
  }
  const each = (work: (count: number) => void) => () => (processorMs(() => work(CHECKS)) * 1000) / CHECKS
  for (const work of [bare, ours]) work(CHECKS)
  const turn = await takeTurns(ROUNDS, { bare: each(bare), ours: each(ours) })
  return [
    row(name, rounded(turn.ours), 'µs'),
    row(`${name}, in proportion to a bare digest of ${rounded(turn.bare)} µs`, rounded(turn.proportion), ''),
  ]
}

/** Requests as a server gets them, each on its own connection, which stays open until the end of the block. */
async function received(
  headers: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { requests: readonly IncomingMessage[] }> {
  const requests: IncomingMessage[] = []
  const all = Promise.withResolvers<void>()
  const server = createServer((incoming) => {
    if (requests.push(incoming) === REQUESTS) all.resolve()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new Agent()
  for (let i = 0; i < REQUESTS; i++) {
    const sent = request({
      agent,
      port,
      host: '127.0.0.1',
      path: `/api/workflows?limit=${i + 1}`,
      headers: { ...HEADERS, ...headers },
    })
    // The connections are closed at the end.
    sent.on('error', () => {})
    sent.end()
  }
  await all.promise
  return {
    requests,
    async [Symbol.asyncDispose]() {
      agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Measures a server in its own process, with a loopback caller and with an access token. */
async function benchRequests(): Promise<BenchRow[]> {
  const data_dir = temporaryFolder()
  try {
    await using service = await serve(data_dir)
    const list: Target = { url: `${service.url}/api/workflows`, pid: service.pid, body: null }
    return await benchLists(list, { ...list, token: await minted(service.url) })
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function minted(url: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/tokens`, { method: 'POST', headers, body: JSON.stringify({ name: 'bench' }) })
  return ((await answer.json()) as CreatedToken).token
}

async function benchLists(plain: Target, signed: Target): Promise<BenchRow[]> {
  for (const target of [plain, signed]) await load(target, CONNECTIONS, WARM_UP_SECONDS)
  const cpu_ms = new Map<Target, number[]>([plain, signed].map((target) => [target, []]))
  const rate = async (target: Target) => {
    const measured = await load(target, CONNECTIONS, SECONDS)
    cpu_ms.get(target)!.push(measured.cpu_ms ?? Number.NaN)
    return measured.per_second
  }
  const turn = await takeTurns(HTTP_ROUNDS, { bare: () => rate(plain), ours: () => rate(signed) })
  return [
    row('GET /api/workflows by a loopback caller', Math.round(turn.bare), 'requests/s'),
    row('GET /api/workflows with an access token', Math.round(turn.ours), 'requests/s'),
    row('with a token in proportion to without', rounded(turn.proportion), ''),
    row('processor time of a request by a loopback caller', percentile(cpu_ms.get(plain)!, 0.5), 'ms'),
    row('processor time of a request with an access token', percentile(cpu_ms.get(signed)!, 0.5), 'ms'),
  ]
}
