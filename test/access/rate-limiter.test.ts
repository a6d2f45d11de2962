// The rate limiter: keys of callers, windows, and the cost of a flood of addresses.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import {
  clientKey,
  formatRateLimitHeaders,
  MAX_TRACKED_CLIENTS,
  RateLimiter,
  type RateLimiterSettings,
} from '../../src/access/rate-limiter.ts'
import { parseIpRange } from '../../src/net/ip-addresses.ts'
import { processorMs } from '../helpers/processor.ts'
import { atRealSize } from '../helpers/scale.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const proxies = (...texts: string[]) => texts.map((text) => parseIpRange(text)!)

const SETTINGS: RateLimiterSettings = {
  rate_limit_disabled: false,
  rate_limit_max: 3,
  rate_limit_window_ms: 60_000,
  rate_limit_trust_proxy: false,
  trusted_proxies: [],
}

/** The facts of a caller: its address, and its `X-Forwarded-For`, if any. */
function from(peer: string | null, forwarded_for: string | null = null) {
  return { peer, own_connection: false, forwarded_for, forwards: forwarded_for !== null }
}

/** A limiter with a clock that the test controls. */
function limiterAt(ms: number, settings: Partial<RateLimiterSettings> = {}) {
  const clock = { ms }
  return { clock, limiter: new RateLimiter({ ...SETTINGS, ...settings }, { now: () => clock.ms }) }
}

describe('a client', () => {
  const key = (peer: string | null, forwarded: string | null = null, settings: Partial<RateLimiterSettings> = {}) =>
    clientKey(from(peer, forwarded), { ...SETTINGS, ...settings })
  const behind = { trusted_proxies: proxies('10.0.0.0/8', '127.0.0.1/32', 'fd00::/8') }
  const anyone = { rate_limit_trust_proxy: true }

  test('is its IPv4 address, in every spelling', () => {
    assert.equal(key('203.0.113.7'), '203.0.113.7')
    assert.equal(key('::ffff:203.0.113.7'), '203.0.113.7')
    assert.equal(key('::FFFF:cb00:7107'), '203.0.113.7')
  })

  test('is the /64 of its IPv6 address', () => {
    assert.equal(key('2001:db8:1:2::1'), key('2001:db8:1:2:ffff:ffff:ffff:ffff'))
    assert.equal(key('2001:db8:1:2::1'), key('2001:0DB8:1:2::9%eth0'))
    assert.notEqual(key('2001:db8:1:2::1'), key('2001:db8:1:3::1'))
  })

  test('is exempt on loopback', () => {
    for (const peer of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
      assert.equal(key(peer), null, peer)
      assert.equal(key(peer, null, { trusted_proxies: proxies('10.0.0.0/8'), ...anyone }), null, peer)
    }
    for (const peer of ['127.0.0.1.example', '::2', '128.0.0.1', null]) assert.notEqual(key(peer), null)
  })

  test('is the peer, and not exempt, if an untrusted proxy on loopback forwards', () => {
    for (const list of ['203.0.113.7', '127.0.0.1', '::1', 'garbage', '']) {
      assert.equal(key('127.0.0.1', list), '127.0.0.1', list)
      assert.equal(key('::ffff:127.0.0.1', list, { trusted_proxies: proxies('10.0.0.0/8') }), '127.0.0.1', list)
      assert.notEqual(key('::1', list), null, list)
    }
    assert.equal(clientKey({ ...from('127.0.0.1'), forwards: true }, SETTINGS), '127.0.0.1')
  })

  test('is the whole address if neighbours are strangers: for NAT64 and link-local addresses', () => {
    assert.notEqual(key('64:ff9b::192.0.2.1'), key('64:ff9b::192.0.2.2'))
    assert.equal(key('64:ff9b::192.0.2.1'), key('64:ff9b::c000:201'))
    assert.notEqual(key('fe80::1%eth0'), key('fe80::2%eth0'))
    assert.equal(key('fe80::1%eth0'), key('fe80::1'))
    // A NAT64 operator with its own prefix may have all its addresses.
    assert.equal(key('64:ff9b:1:2::1'), key('64:ff9b:1:2::2'))
  })

  test('is the address that a trusted proxy names, read from the right', () => {
    assert.equal(key('10.1.1.1', '203.0.113.7', behind), '203.0.113.7')
    assert.equal(key('10.1.1.1', '198.51.100.1, 203.0.113.7, 10.2.2.2', behind), '203.0.113.7')
    assert.equal(key('127.0.0.1', '203.0.113.7:4711', behind), '203.0.113.7')
    assert.equal(key('fd00::1', '[2001:db8:1:2::1]:4711', behind), key('2001:db8:1:2::1'))
  })

  test('is the peer if it is not a trusted proxy', () => {
    assert.equal(key('192.0.2.1', '203.0.113.7', behind), '192.0.2.1')
    assert.equal(key('192.0.2.1', '203.0.113.7'), '192.0.2.1')
  })

  test('is the address that any peer names with SVC_RATE_LIMIT_TRUST_PROXY', () => {
    assert.equal(key('192.0.2.1', '203.0.113.7', anyone), '203.0.113.7')
    assert.equal(key('127.0.0.1', '203.0.113.7', anyone), '203.0.113.7')
    assert.equal(key('192.0.2.1', '203.0.113.7, 10.2.2.2', { ...anyone, ...behind }), '203.0.113.7')
    assert.equal(key('192.0.2.1', null, anyone), '192.0.2.1')
  })

  test('is the peer, and not exempt, if a proxy names no client', () => {
    for (const list of ['', ' ', 'unknown', '_hidden', 'localhost', '203.0.113.7, garbage', '999.1.1.1', '1.2.3.4,']) {
      assert.equal(key('10.1.1.1', list, behind), '10.1.1.1', list)
      assert.equal(key('127.0.0.1', list, behind), '127.0.0.1', list)
      assert.equal(key('127.0.0.1', list, anyone), '127.0.0.1', list)
    }
    // A proxy is never the client.
    assert.equal(key('127.0.0.1', null, behind), '127.0.0.1')
    assert.equal(key('10.1.1.1', null, behind), '10.1.1.1')
    const nameless = { ...from('127.0.0.1'), forwards: true }
    assert.equal(clientKey(nameless, { ...SETTINGS, ...behind }), '127.0.0.1')
  })

  test('is the peer if this process sent the request, whatever its headers say', () => {
    const own = (peer: string, list: string | null, settings: Partial<RateLimiterSettings> = {}) =>
      clientKey({ ...from(peer, list), own_connection: true }, { ...SETTINGS, ...settings })
    assert.equal(own('127.0.0.1', null), null)
    for (const list of ['203.0.113.7', '127.0.0.1', 'garbage'])
      for (const settings of [{}, behind, anyone, { ...anyone, ...behind }])
        assert.equal(own('127.0.0.1', list, settings), '127.0.0.1', list)
  })

  test('is never exempt because of a forwarded address', () => {
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.constantFrom('127.0.0.1', '::1', '::ffff:127.0.0.1', 'localhost', '', '127.1', '[::1]:80', '127.0.0.1:80'),
    )
    const list = fc.array(address, { maxLength: 5 }).map((entries) => entries.join(', '))
    fc.assert(
      fc.property(list, fc.constantFrom('127.0.0.1', '10.1.1.1', '::1'), (forwarded, peer) => {
        for (const settings of [{}, behind, anyone, { ...behind, ...anyone }])
          assert.notEqual(key(peer, forwarded, settings), null)
      }),
    )
  })
})

describe('a window', () => {
  test('allows a number of requests, and reports the rest', () => {
    const { limiter } = limiterAt(1_000_000)
    const takes = [1, 2, 3, 4, 5].map(() => limiter.take(from('203.0.113.7'))!)
    assert.deepEqual(
      takes.map(({ allowed, remaining }) => [allowed, remaining]),
      [
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
      ],
    )
    const { policy, limit, reset_seconds, window_seconds } = takes[4]!
    assert.deepEqual(
      { policy, limit, reset_seconds, window_seconds },
      { policy: 'ip', limit: 3, reset_seconds: 60, window_seconds: 60 },
    )
  })

  test('begins with the first request and ends on time, even if its client keeps sending', () => {
    const { limiter, clock } = limiterAt(0)
    const knock = () => limiter.take(from('203.0.113.7'))!
    for (let n = 0; n < 10; n++) knock()
    clock.ms = 59_999
    assert.deepEqual([knock().allowed, knock().reset_seconds], [false, 1])
    clock.ms = 60_000
    assert.deepEqual([knock().allowed, knock().remaining], [true, 1])
  })

  test('belongs to a single client', () => {
    const { limiter } = limiterAt(0, { rate_limit_max: 1 })
    assert.ok(limiter.take(from('203.0.113.7'))!.allowed)
    assert.ok(!limiter.take(from('203.0.113.7'))!.allowed)
    assert.ok(limiter.take(from('203.0.113.8'))!.allowed)
  })

  test('ends at once if the clock is set back, and does not last until the clock has caught up', () => {
    const { limiter, clock } = limiterAt(10_000_000, { rate_limit_max: 1 })
    limiter.take(from('203.0.113.7'))
    clock.ms = 5_000_000
    assert.deepEqual([limiter.take(from('203.0.113.7'))!.allowed], [true])
    assert.ok(!limiter.take(from('203.0.113.7'))!.allowed)
  })

  test('of less than a second is reported in whole seconds', () => {
    const { limiter } = limiterAt(0, { rate_limit_window_ms: 100 })
    const taken = limiter.take(from('203.0.113.7'))!
    assert.deepEqual([taken.reset_seconds, taken.window_seconds], [1, 1])
  })

  test('does not exist for exempt clients, and for no client if the limiter is off', () => {
    assert.equal(limiterAt(0).limiter.take(from('127.0.0.1')), null)
    const { limiter } = limiterAt(0, { rate_limit_disabled: true, rate_limit_max: 1 })
    for (let n = 0; n < 20; n++) {
      assert.equal(limiter.take(from('203.0.113.7')), null)
      assert.equal(limiter.take(from('203.0.113.7'), 'sign_in'), null)
    }
  })

  test('of sign-ins is tighter, and counts apart', () => {
    const { limiter } = limiterAt(0)
    const allowed = Array.from({ length: 11 }, () => limiter.take(from('203.0.113.7'), 'sign_in')!.allowed)
    assert.deepEqual(allowed, [...Array(10).fill(true), false])
    assert.ok(limiter.take(from('203.0.113.7'))!.allowed)
    assert.equal(limiter.take(from('127.0.0.1'), 'sign_in'), null)
  })
})

test('the headers have each policy, its quota and the rest', () => {
  const { limiter } = limiterAt(0)
  const taken = [limiter.take(from('203.0.113.7'))!, limiter.take(from('203.0.113.7'), 'sign_in')!]
  assert.deepEqual(formatRateLimitHeaders(taken), {
    RateLimit: '"ip";r=2;t=60, "sign_in";r=9;t=60',
    'RateLimit-Policy': '"ip";q=3;w=60, "sign_in";q=10;w=60',
  })
})

describe('a flood of addresses', () => {
  const address = (n: number) => `${11 + (n >>> 24)}.${(n >>> 16) & 255}.${(n >>> 8) & 255}.${n & 255}`

  /** Requests of `count` new addresses. */
  function flood(limiter: RateLimiter, count: number, begin = 0): void {
    for (let n = begin; n < begin + count; n++) limiter.take(from(address(n)))
  }

  test('of a million fits into bounded memory and time', { skip: atRealSize }, () => {
    const { limiter } = limiterAt(0)
    flood(limiter, MAX_TRACKED_CLIENTS)
    const before = settledHeap()
    const ms = processorMs(() => flood(limiter, 1_000_000, MAX_TRACKED_CLIENTS))
    const grown = (settledHeap() - before) / 2 ** 20
    assert.ok(grown < 8, `a million addresses more left ${grown.toFixed(1)} MiB`)
    assert.ok(ms < 20_000, `a million addresses took ${ms.toFixed(0)} ms`)
  })

  test('does not reset a client that keeps sending', () => {
    const { limiter } = limiterAt(0)
    for (let n = 0; n < 4; n++) limiter.take(from('203.0.113.7'))
    for (let round = 0; round < 5; round++) {
      flood(limiter, MAX_TRACKED_CLIENTS - 1, round * MAX_TRACKED_CLIENTS)
      assert.equal(limiter.take(from('203.0.113.7'))!.allowed, false)
    }
  })

  test('resets only clients that were silent while as many others called as are tracked', () => {
    const { limiter } = limiterAt(0)
    for (let n = 0; n < 4; n++) limiter.take(from('203.0.113.7'))
    flood(limiter, MAX_TRACKED_CLIENTS)
    assert.equal(limiter.take(from('203.0.113.7'))!.allowed, true)
  })

  function settledHeap(): number {
    collectGarbage()
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
})
