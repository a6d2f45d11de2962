// The client address of a request: peers, proxies, and all kinds of forwarded lists.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { isLoopbackAddress, parseForwardedFor, resolveClientAddress } from '../../src/access/client-address.ts'
import { FACTS, rangesOf } from './kit.ts'

const PROXIES = rangesOf('127.0.0.3/32', '10.0.0.0/24', 'fd00::/64')

/** The client address of a request through the proxy 10.0.0.1, as text. */
function through(forwarded_for: string | null): string | null {
  const { address, forwarded, unbelieved } = resolveClientAddress(
    { ...FACTS, peer: '10.0.0.1', forwards: true, forwarded_for },
    PROXIES,
  )
  assert.deepEqual([forwarded, unbelieved], [true, false])
  return address?.toString() ?? null
}

describe('a peer that is no proxy', () => {
  const addresses: [string | null, string | null][] = [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['2001:DB8:0::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['64:ff9b::7f00:1', '64:ff9b::7f00:1'],
    ['::127.0.0.1', '::7f00:1'],
    ['', null],
    ['proxy', null],
    [null, null],
  ]
  for (const [peer, expected] of addresses) {
    test(`at ${peer} has the address ${expected}`, () => {
      const { address, ...rest } = resolveClientAddress({ ...FACTS, peer }, PROXIES)
      assert.equal(address?.toString() ?? null, expected)
      assert.deepEqual(rest, { forwarded: false, unbelieved: false })
    })
  }

  test('is not trusted if it forwards, and keeps its own address', () => {
    for (const forwarded_for of [null, '', '198.51.100.1', '127.0.0.1']) {
      const client = resolveClientAddress({ ...FACTS, peer: '203.0.113.7', forwards: true, forwarded_for }, PROXIES)
      assert.equal(client.address?.toString(), '203.0.113.7')
      assert.deepEqual([client.forwarded, client.unbelieved], [false, true])
    }
  })
})

describe('a trusted proxy', () => {
  test('is recognized by every spelling of its address', () => {
    for (const peer of ['10.0.0.1', '::ffff:10.0.0.1', '127.0.0.3', 'fd00::1', 'FD00:0::1%eth0'])
      assert.equal(resolveClientAddress({ ...FACTS, peer }, PROXIES).forwarded, true, peer)
    for (const peer of ['10.0.1.1', '127.0.0.1', 'fd00:0:0:1::1', '64:ff9b::10.0.0.1', '::10.0.0.1'])
      assert.equal(resolveClientAddress({ ...FACTS, peer }, PROXIES).forwarded, false, peer)
  })

  test('names no client if this process sent the request directly, since a user wrote its headers', () => {
    const facts = { ...FACTS, own_connection: true, forwards: true, forwarded_for: '192.168.7.9' }
    assert.deepEqual(resolveClientAddress({ ...facts, peer: '127.0.0.3' }, PROXIES), {
      address: null,
      forwarded: true,
      unbelieved: false,
    })
  })

  test('names the client also if this process sent the request through it', () => {
    const facts = { ...FACTS, own_request: true, forwards: true, forwarded_for: '192.168.7.9, 203.0.113.9' }
    const { address, forwarded } = resolveClientAddress({ ...facts, peer: '127.0.0.3' }, PROXIES)
    assert.deepEqual([String(address), forwarded], ['203.0.113.9', true])
  })

  test('is never the client itself, even if it names none', () => {
    assert.deepEqual(resolveClientAddress({ ...FACTS, peer: '127.0.0.3' }, PROXIES), {
      address: null,
      forwarded: true,
      unbelieved: false,
    })
    assert.equal(through(null), null)
  })

  const lists: [string, string | null][] = [
    ['203.0.113.7', '203.0.113.7'],
    ['  203.0.113.7\t', '203.0.113.7'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    // From the right, past proxies only.
    ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['203.0.113.7, 10.0.0.2', '203.0.113.7'],
    ['198.51.100.1,203.0.113.7,10.0.0.2:80,[fd00::2]:80', '203.0.113.7'],
    ['::1, 203.0.113.7, 10.0.0.2', '203.0.113.7'],
    // If all are proxies, the first of the list.
    ['10.0.0.9', '10.0.0.9'],
    ['10.0.0.8, 10.0.0.9', '10.0.0.8'],
    // An entry that is no address ends the search.
    ['', null],
    [',', null],
    ['203.0.113.7,', null],
    ['203.0.113.7, , 10.0.0.2', null],
    ['203.0.113.7, unknown', null],
    ['203.0.113.7, _hidden, 10.0.0.2', null],
    ['for=203.0.113.7', null],
    ['"203.0.113.7"', null],
    ['203.0.113.7:', null],
    ['203.0.113.7:port', null],
    ['203.0.113.7:123456', null],
    ['2001:db8::1:99999', null],
    ['[203.0.113.7]', null],
    ['[2001:db8::1', null],
    ['[2001:db8::1]x', null],
    ['203.0.113', null],
    ['203.0.113.007', null],
    ['203.0.113.256', null],
    ['0xcb007107', null],
    ['203.0.113.7/32', null],
    ['203.0.113.7 203.0.113.8', null],
    ['localhost', null],
    // Loopback does not say where the client is.
    ['127.0.0.1', null],
    ['::1', null],
    ['[::1]:80', null],
    ['::ffff:127.0.0.1', null],
    ['203.0.113.7, 127.0.0.1', null],
    ['203.0.113.7, 127.0.0.1, 10.0.0.2', null],
    ['127.0.0.3', null],
    ['203.0.113.7, 127.0.0.3', '203.0.113.7'],
  ]
  for (const [list, expected] of lists) {
    test(`that forwards for "${list}" names ${expected ?? 'no client'}`, () => assert.equal(through(list), expected))
  }
})

describe('for any forwarded list', () => {
  const octet = fc.nat(255)
  const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'))
  const known = fc.constantFrom(
    '127.0.0.1',
    '127.0.0.3',
    '::1',
    '::ffff:127.0.0.1',
    '10.0.0.2',
    'fd00::2',
    '',
    'unknown',
  )
  const entry = fc.oneof(known, ipv4, fc.ipV6(), fc.string({ maxLength: 20 }))
  const entries = fc.array(entry, { maxLength: 6 })
  const proxies = fc.subarray([...PROXIES, ...rangesOf('127.0.0.0/8', '::1/128', '0.0.0.0/0', '::/0')])

  test('no client is loopback', () => {
    fc.assert(
      fc.property(entries, proxies, (list, ranges) => {
        assert.equal(isLoopbackAddress(parseForwardedFor(list.join(','), ranges)), false)
      }),
    )
  })

  test('entries that a client prepends change nothing', () => {
    fc.assert(
      fc.property(entries, ipv4, (list, own) => {
        const address = parseForwardedFor(own, PROXIES)
        fc.pre(parseForwardedFor(own, []) !== null && !own.startsWith('10.0.0.') && own !== '127.0.0.3')
        assert.deepEqual(parseForwardedFor([...list, own].join(', '), PROXIES), address)
      }),
    )
  })

  test('a peer that is no proxy has its own address', () => {
    fc.assert(
      fc.property(fc.option(fc.string()), (forwarded_for) => {
        const client = resolveClientAddress({ ...FACTS, peer: '203.0.113.7', forwards: true, forwarded_for }, PROXIES)
        assert.deepEqual([client.address?.toString(), client.forwarded], ['203.0.113.7', false])
      }),
    )
  })
})
