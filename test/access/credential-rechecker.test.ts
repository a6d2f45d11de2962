// Rechecks of credentials: which, how often, and their effects. The test controls the time.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { AUTH_UNAVAILABLE, type AuthVerdict, admitPrincipal, refuseCaller } from '../../src/access/auth-verdict.ts'
import { CredentialRechecker } from '../../src/access/credential-rechecker.ts'
import { LOCAL_PRINCIPAL, NETWORK_PRINCIPAL, type Principal } from '../../src/access/principal.ts'
import type { RequestFacts } from '../../src/access/request-facts.ts'
import { createLog } from '../../src/log.ts'
import { systemPlatform } from '../../src/platform.ts'
import { FACTS } from './kit.ts'

const INTERVAL_MS = 60_000
const TICK_MS = 250

const PRINCIPAL: Principal = {
  user_id: 'u',
  workspace_id: 'w',
  trusted_as: 'access_token',
  token_id: 't',
  scopes: ['read', 'write'],
  administrator: false,
  app_id: null,
  expires_at: null,
}

const REFUSED = refuseCaller('Unauthorized', 'token_unknown')

const facts = (token: string): RequestFacts => ({ ...FACTS, transport: 'socket', path: '/ws', token })

/** The verdicts that `rechecks` get, and their calls and notifications. */
function bench() {
  const state = {
    now: 0,
    verdict: admitPrincipal(PRINCIPAL) as AuthVerdict | Promise<AuthVerdict> | Error,
    asked: [] as string[],
    renewed: [] as Principal[],
    ended: 0,
    lines: [] as string[],
  }
  const gate = ({ token, is_recheck }: RequestFacts) => {
    assert.equal(is_recheck, true)
    state.asked.push(token!)
    if (state.verdict instanceof Error) throw state.verdict
    return state.verdict
  }
  const log = createLog('info', undefined, { write: (line) => state.lines.push(line) })
  const rechecks = new CredentialRechecker(
    gate,
    { platform: { ...systemPlatform(), now: () => state.now }, log },
    INTERVAL_MS,
  )
  const watcher = { onRenewed: (to: Principal) => state.renewed.push(to), onEnded: () => state.ended++ }
  const watch = (principal = PRINCIPAL, token = 'key') => rechecks.watch(facts(token), principal, watcher)
  return { state, rechecks, watch }
}

/** Advances a whole interval, and awaits all answers. */
async function interval(): Promise<void> {
  for (let passed = 0; passed < INTERVAL_MS; passed += TICK_MS) await tick()
}

async function tick(): Promise<void> {
  mock.timers.tick(TICK_MS)
  await new Promise((resolve) => setImmediate(resolve))
}

beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
afterEach(() => mock.timers.reset())

describe('a watched credential', () => {
  test('is rechecked once in every interval, as it was sent', async () => {
    const { state, rechecks, watch } = bench()
    const forget = watch()
    for (let times = 1; times <= 3; times++) {
      await interval()
      assert.equal(state.asked.length, times)
    }
    assert.deepEqual(new Set(state.asked), new Set(['key']))
    assert.deepEqual([state.renewed.length, state.ended, rechecks.size], [3, 0, 1])
    forget()
    forget()
    await interval()
    assert.deepEqual([state.asked.length, rechecks.size], [3, 0])
  })

  test('is not rechecked if the caller is trusted by its address', async () => {
    const { state, rechecks, watch } = bench()
    watch(LOCAL_PRINCIPAL)()
    watch(NETWORK_PRINCIPAL)
    await interval()
    assert.deepEqual([state.asked.length, rechecks.size], [0, 0])
  })

  test('ends when it is refused, and is not rechecked any more', async () => {
    const { state, rechecks, watch } = bench()
    watch()
    state.verdict = REFUSED
    await interval()
    await interval()
    assert.deepEqual([state.asked.length, state.ended, rechecks.size], [1, 1, 0])
  })

  test('ends when it has another user, or the same user is trusted for another reason', async () => {
    const others: Partial<Principal>[] = [
      { user_id: 'v' },
      { workspace_id: null },
      { token_id: 'other' },
      { app_id: 'app' },
      { trusted_as: 'loopback' },
    ]
    for (const other of others) {
      const { state, watch } = bench()
      watch()
      state.verdict = admitPrincipal({ ...PRINCIPAL, ...other })
      await interval()
      assert.equal(state.ended, 1, JSON.stringify(other))
    }
  })

  test('can gain or lose rights', async () => {
    const { state, watch } = bench()
    const forget = watch()
    const less: Principal = { ...PRINCIPAL, scopes: ['read'], administrator: true }
    state.verdict = admitPrincipal(less)
    await interval()
    assert.deepEqual([state.renewed, state.ended], [[less], 0])
    forget()
  })
})

describe('while a credential cannot be checked', () => {
  const outages: [string, () => AuthVerdict | Promise<AuthVerdict> | Error, RegExp | null][] = [
    ['the identity provider is out', () => AUTH_UNAVAILABLE, null],
    ['the gate is broken', () => new Error('broken'), /credential recheck failed/],
    ['the gate breaks later', () => Promise.reject(new Error('broken')), /credential recheck failed/],
    ['no answer comes', () => new Promise<AuthVerdict>(() => {}), null],
  ]
  for (const [name, outage, logged] of outages) {
    test(`${name}: it is valid until it expires`, async () => {
      const { state, watch } = bench()
      watch({ ...PRINCIPAL, expires_at: 1_000 })
      for (let times = 0; times < 3; times++) {
        state.verdict = outage()
        await interval()
      }
      assert.equal(state.ended, 0)
      state.now = 1_000
      state.verdict = outage()
      await interval()
      assert.equal(state.ended, 1)
      if (logged) assert.match(state.lines.join(''), logged)
      else assert.deepEqual(state.lines, [])
    })
  }

  test('without an expiry it stays valid, and is rechecked next time', async () => {
    const { state, watch } = bench()
    watch()
    state.verdict = AUTH_UNAVAILABLE
    await interval()
    state.verdict = REFUSED
    await interval()
    assert.deepEqual([state.asked.length, state.ended], [2, 1])
  })

  test('the last known expiry counts', async () => {
    const { state, watch } = bench()
    const forget = watch({ ...PRINCIPAL, expires_at: 1_000 })
    state.verdict = admitPrincipal({ ...PRINCIPAL, expires_at: 9_000 })
    await interval()
    state.now = 5_000
    state.verdict = AUTH_UNAVAILABLE
    await interval()
    assert.equal(state.ended, 0)
    forget()
  })

  test('a credential is checked once at a time, and a verdict after its watcher has left is dropped', async () => {
    const { state, watch } = bench()
    const { promise, resolve } = Promise.withResolvers<AuthVerdict>()
    const forget = watch()
    state.verdict = promise
    await interval()
    await interval()
    assert.equal(state.asked.length, 1)
    forget()
    resolve(REFUSED)
    await interval()
    assert.deepEqual([state.ended, state.renewed.length], [0, 0])
  })
})

test('rechecks of ten thousand credentials are spread evenly over the interval, and none is omitted', async () => {
  const { state, rechecks, watch } = bench()
  const forgets = Array.from({ length: 10_000 }, (_, at) => watch(PRINCIPAL, String(at)))
  let most = 0
  for (let passed = 0; passed < INTERVAL_MS; passed += TICK_MS) {
    const before = state.asked.length
    await tick()
    most = Math.max(most, state.asked.length - before)
  }
  assert.ok(most <= 42, `${most} at once`)
  assert.equal(new Set(state.asked).size, 10_000)
  assert.equal(state.asked.length, 10_000)
  for (const forget of forgets) forget()
  assert.equal(rechecks.size, 0)
})
