// Signed addresses: for one key, until a time, under one secret.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Signatures } from '../../src/assets/signatures.ts'
import { scaled } from '../helpers/scale.ts'

const signatures = new Signatures(Buffer.alloc(32, 1))
const KEY = '1/asset_01.png'
const EXPIRES = 1_800_000_000

function parts(url: string): { path: string; expires: string; signature: string } {
  const { pathname, searchParams } = new URL(url, 'http://x')
  return { path: pathname, expires: searchParams.get('expires')!, signature: searchParams.get('signature')! }
}

test('a signature holds for its key until it expires', () => {
  const { path, expires, signature } = parts(signatures.url(KEY, EXPIRES))
  assert.equal(path, `/api/storage/${KEY}`)
  assert.match(signature, /^[A-Za-z0-9_-]{43}$/)
  const at = EXPIRES * 1_000
  assert.ok(signatures.hold(KEY, expires, signature, at - 1))
  assert.ok(!signatures.hold(KEY, expires, signature, at))
  assert.ok(!signatures.hold('1/asset_02.png', expires, signature, at - 1))
  assert.ok(!signatures.hold(KEY, String(EXPIRES + 1), signature, at - 1))
  assert.ok(!new Signatures(Buffer.alloc(32, 2)).hold(KEY, expires, signature, at - 1))
})

test('what is malformed does not hold', () => {
  const { signature } = parts(signatures.url(KEY, EXPIRES))
  const expires = [undefined, null, EXPIRES, '', 'x', '-1', '1e9', `${EXPIRES} `, [String(EXPIRES)], '9'.repeat(13)]
  for (const one of expires) assert.ok(!signatures.hold(KEY, one, signature, 0), String(one))
  for (const one of [undefined, '', 'x', [signature], `${signature}AAAA`, signature.slice(0, -2)])
    assert.ok(!signatures.hold(KEY, String(EXPIRES), one, 0), String(one))
})

test('no byte of a signature can be another', () => {
  const bytes = Buffer.from(parts(signatures.url(KEY, EXPIRES)).signature, 'base64url')
  fc.assert(
    fc.property(fc.nat(31), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const other = Buffer.from(bytes)
      other[at]! ^= change
      assert.ok(!signatures.hold(KEY, String(EXPIRES), other.toString('base64url'), 0))
    }),
    { numRuns: scaled(200) },
  )
})

test('a short secret is none', () => {
  assert.throws(() => new Signatures(new Uint8Array(31)), RangeError)
})
