// Sockets of users of an identity provider: their credentials are rechecked, and the provider may be down meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemPlatform } from '../../src/platform.ts'
import { type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { assertBare, dial, handshake, upgrade } from './raw.ts'

const ENDED = { code: 1008, reason: 'the credential is no longer valid' }
const MINUTE_MS = 60_000

async function startSignedIn(idp: IdentityProvider) {
  const clock = { now: Date.now() }
  const platform = {
    ...systemPlatform(),
    now: () => clock.now,
    timestamp: () => new Date(clock.now).toISOString(),
  }
  const server = await startServer({ environment: idp.environment, platform, socket_times: { recheck_ms: 50 } })
  const open = (token: string) => connect(server, { headers: { Authorization: `Bearer ${token}` } })
  return { server, clock, open, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('the socket of a user who is signed out closes within the minute for which verdicts are cached', async () => {
  await using idp = await startIdentityProvider()
  await using signedIn = await startSignedIn(idp)
  const [gone, kept] = [idp.opaque({ id: 'ann' }), idp.opaque({ id: 'ben' })]
  await using ann = await signedIn.open(gone)
  await using ben = await signedIn.open(kept)
  idp.revoke(gone)
  signedIn.clock.now += MINUTE_MS
  assert.deepEqual(await ann.closed(), ENDED)
  await ben.settled()
  assert.equal(signedIn.server.context.access.rechecker.size, 1)
})

test('an outage of the provider closes no socket and admits no caller; afterwards its verdicts count again', async () => {
  await using idp = await startIdentityProvider()
  await using signedIn = await startSignedIn(idp)
  const token = idp.opaque({ id: 'ann' })
  await using ann = await signedIn.open(token)
  idp.down()
  signedIn.clock.now += MINUTE_MS
  const before = idp.requests.user
  await until('two questions in vain', () => idp.requests.user >= before + 2)
  await ann.settled()
  const headers = { Authorization: `Bearer ${token}` }
  assertBare(await upgrade(signedIn.server.url, '/ws', { headers }), '503 Service Unavailable')
  idp.revoke(token)
  idp.up()
  assert.deepEqual(await ann.closed(), ENDED)
  assertBare(await upgrade(signedIn.server.url, '/ws', { headers }), '401 Unauthorized')
})

test('a signed token expires, whether the provider is reachable or not', async () => {
  await using idp = await startIdentityProvider()
  await using signedIn = await startSignedIn(idp)
  const { clock } = signedIn
  await using ann = await signedIn.open(await idp.token({ sub: 'ann', now: clock.now, expires_in: 600 }))
  idp.down()
  clock.now += 9 * MINUTE_MS
  await ann.settled()
  clock.now += MINUTE_MS + 1_000
  assert.deepEqual(await ann.closed(), ENDED)
})

test('clients that disconnect while the provider is asked leave nothing behind', async () => {
  await using idp = await startIdentityProvider()
  await using signedIn = await startSignedIn(idp)
  const at = new URL(signedIn.server.url)
  const release = idp.hold()
  for (let count = 1; count <= 10; count++) {
    const socket = dial(at)
    socket.on('error', () => {})
    socket.write(handshake(at, '/ws', { headers: { Authorization: `Bearer ${idp.opaque({ id: 'ann' })}` } }))
    await until('the question', () => idp.requests.user === count)
    if (count % 2 === 0) socket.resetAndDestroy()
    else socket.destroy()
  }
  release()
  await using ann = await signedIn.open(idp.opaque({ id: 'ann' }))
  await ann.settled()
  await until('her alone', () => signedIn.server.context.access.rechecker.size === 1)
})
