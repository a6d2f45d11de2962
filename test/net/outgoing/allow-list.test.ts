// Which addresses are public, and what an allow list opens.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { isPublicAddress, parseIpAddress } from '../../../src/net/ip-addresses.ts'
import { AllowList, isAllowListEntry } from '../../../src/net/outgoing/allow-list.ts'
import { scaled } from '../../helpers/scale.ts'

const PUBLIC = ['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255']
const PUBLIC_MORE = ['128.0.0.0', '169.253.255.255', '172.15.255.255', '172.32.0.0', '192.167.255.255', '198.20.0.0']
const PUBLIC_LAST = ['223.255.255.255', '2606:4700:4700::1111', '2a00::1', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8']

/** The first and the last address of what is not public. */
const RANGES: [string, string][] = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['224.0.0.0', '255.255.255.255'],
  ['::', '::ffff'],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['100::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
]

const verdict = (text: string) => isPublicAddress(parseIpAddress(text)!)
const octets = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 })

/** The rules of the registries for IPv4, written down a second time. */
function isPublicIPv4([a, b, c, d]: number[]): boolean {
  if (a === 0 || a === 10 || a === 127 || a! >= 224) return false
  if (a === 100 && b! >= 64 && b! < 128) return false
  if (a === 169 && b === 254) return false
  if (a === 172 && b! >= 16 && b! < 32) return false
  if (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)))) return false
  if (a === 192 && ((b === 88 && c === 99) || (b === 31 && c === 196) || (b === 52 && c === 193))) return false
  if (a === 192 && b === 175 && c === 48) return false
  if (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) return false
  return !(a === 203 && b === 0 && c === 113) && !(a === 168 && b === 63 && c === 129 && d === 16)
}

describe('public addresses', () => {
  test('are those that are nothing else', () => {
    for (const address of [...PUBLIC, ...PUBLIC_MORE, ...PUBLIC_LAST]) assert.equal(verdict(address), true, address)
    for (const [first, last] of RANGES) {
      assert.equal(verdict(first), false, first)
      assert.equal(verdict(last), false, last)
    }
  })

  test('are public or not in each of their spellings, as the registries say', () => {
    const near = fc.constantFrom<number[][]>(
      [10, 0, 0, 1],
      [172, 31, 9, 9],
      [192, 0, 2, 4],
      [100, 100, 0, 0],
      [203, 0, 113, 9],
    )
    fc.assert(
      fc.property(fc.oneof(octets, near), (bytes) => {
        const text = bytes.join('.')
        const expected = isPublicIPv4(bytes)
        for (const spelling of [text, `::ffff:${text}`, `64:ff9b::${text}`]) assert.equal(verdict(spelling), expected)
        for (const spelling of [`::${text}`, `64:ff9b:1::${text}`, `::ffff:0:${text}`])
          assert.equal(verdict(spelling), false)
      }),
      { numRuns: scaled(1000) },
    )
  })

  test('of a URL and of a look-up are read alike', () => {
    fc.assert(
      fc.property(octets, (bytes) => {
        const whole = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
        const { hostname } = new URL(`http://${whole}/`)
        assert.equal(hostname, bytes.join('.'))
        assert.equal(parseIpAddress(hostname)!.toString(), bytes.join('.'))
      }),
      { numRuns: scaled(300) },
    )
  })

  test('what is no address is none', () => {
    for (const text of ['', 'x', '127.1', '1.2.3.4.5', '0x7f.0.0.1', '256.1.1.1', ':::', '1.2.3.4/8']) {
      assert.equal(parseIpAddress(text), null, text)
    }
  })
})

describe('an allow list', () => {
  /** Entry, host, port, address, and whether that is permitted. */
  const CASES: [string, string, number, string, boolean][] = [
    ['10.0.0.0/8', '10.9.9.9', 80, '10.9.9.9', true],
    ['10.0.0.0/8', 'name.example', 8080, '10.9.9.9', true],
    ['10.0.0.0/8', '11.0.0.1', 80, '127.0.0.1', false],
    ['10.0.0.0/8', 'x', 80, '::ffff:10.0.0.1', true],
    ['10.0.0.0/8', 'x', 80, '64:ff9b::10.0.0.1', true],
    ['10.0.0.0/8', 'x', 80, '2002:a00:1::', false],
    ['::ffff:10.0.0.0/104', 'x', 80, '10.0.0.1', true],
    ['127.0.0.1', 'localhost', 3000, '127.0.0.1', true],
    ['127.0.0.1', 'localhost', 3000, '127.0.0.2', false],
    ['127.0.0.1', 'localhost', 3000, '::1', false],
    ['::1', 'localhost', 3000, '::1', true],
    ['[::1]', 'localhost', 3000, '::1', true],
    ['[::1]:8080', '::1', 8080, '::1', true],
    ['[::1]:8080', '::1', 80, '::1', false],
    ['127.0.0.1:8080', 'x', 8080, '127.0.0.1', true],
    ['127.0.0.1:8080', 'x', 8081, '127.0.0.1', false],
    ['fd00::/8', 'x', 80, 'fd12::1', true],
    ['fd00::/8', 'x', 80, 'fe80::1', false],
    ['intranet', 'intranet', 80, '10.0.0.1', true],
    ['Intranet.Example.', 'intranet.example', 80, '10.0.0.1', true],
    ['intranet', 'intranet.example', 80, '10.0.0.1', false],
    ['intranet', 'other', 80, '10.0.0.1', false],
    ['intranet:8080', 'intranet', 8080, '10.0.0.1', true],
    ['intranet:8080', 'intranet', 80, '10.0.0.1', false],
    ['bücher.example', 'xn--bcher-kva.example', 80, '10.0.0.1', true],
    ['0.0.0.0/0', 'x', 80, '169.254.169.254', true],
    ['0.0.0.0/0', 'x', 80, '::1', false],
    ['intranet', 'intranet', 80, 'no address', false],
    ['intranet', 'x', 80, '8.8.8.8', true],
  ]
  for (const [entry, host, port, address, expected] of CASES) {
    test(`with ${entry} ${expected ? 'permits' : 'refuses'} ${address} for ${host}:${port}`, () => {
      assert.ok(isAllowListEntry(entry))
      assert.equal(new AllowList([entry]).permits(host, port, address), expected)
    })
  }

  test('names a port of a host, and opens it', () => {
    const list = new AllowList(['box:22', '10.0.0.1:25', '10.0.0.0/8'])
    assert.ok(list.listsHostAndPort('box', 22) && list.listsHostAndPort('10.0.0.1', 25))
    assert.ok(
      !list.listsHostAndPort('box', 23) &&
        !list.listsHostAndPort('10.0.0.2', 25) &&
        !list.listsHostAndPort('other', 22),
    )
  })

  test('with a bad entry is none', () => {
    assert.throws(() => new AllowList(['*.example']), /"\*\.example"/)
  })
})
