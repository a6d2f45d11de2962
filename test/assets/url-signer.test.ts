// Tests signed URLs, which hold for one key, until a time, under one secret.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UrlSigner } from '../../src/assets/url-signer.ts'
import { scaled } from '../helpers/scale.ts'

const signatures = new UrlSigner(Buffer.alloc(32, 1))
const KEY = '1/asset_01.png'
const EXPIRES = 1_800_000_000

function parts(url: string): { path: string; expires: string; signature: string } {
  const { pathname, searchParams } = new URL(url, 'http://x')
  return { path: pathname, expires: searchParams.get('expires')!, signature: searchParams.get('signature')! }
}

test('a signature holds for its key until it expires', () => {
  const { path, expires, signature } = parts(signatures.signUrl(KEY, EXPIRES))
  assert.equal(path, `/api/storage/${KEY}`)
  assert.match(signature, /^[A-Za-z0-9_-]{43}$/)
  const at = EXPIRES * 1_000
  assert.ok(signatures.verify(KEY, { expires, signature }, at - 1))
  assert.ok(!signatures.verify(KEY, { expires, signature }, at))
  assert.ok(!signatures.verify('1/asset_02.png', { expires, signature }, at - 1))
  assert.ok(!signatures.verify(KEY, { expires: String(EXPIRES + 1), signature }, at - 1))
  assert.ok(!new UrlSigner(Buffer.alloc(32, 2)).verify(KEY, { expires, signature }, at - 1))
})

test('the token that a signature names is part of it', () => {
  const { expires, signature } = parts(signatures.signUrl(KEY, EXPIRES, 'token_1'))
  const query = { expires, signature, token_id: 'token_1' }
  assert.deepEqual(signatures.verify(KEY, query, 0), { token_id: 'token_1' })
  assert.deepEqual(signatures.verify(KEY, parts(signatures.signUrl(KEY, EXPIRES)), 0), { token_id: null })
  for (const other of [
    { ...query, token_id: 'token_2' },
    { expires, signature },
    { ...query, token_id: ['token_1'] },
    { ...query, token_id: '' },
    { ...query, token_id: 'token_1\n' },
    { expires: '1', signature: parts(signatures.signUrl(KEY, 1, '2')).signature, token_id: '2\n' },
  ])
    assert.equal(signatures.verify(KEY, other, 0), null, JSON.stringify(other))
})

test('a malformed query is not valid', () => {
  const { signature } = parts(signatures.signUrl(KEY, EXPIRES))
  const expires = [undefined, null, EXPIRES, '', 'x', '-1', '1e9', `${EXPIRES} `, [String(EXPIRES)], '9'.repeat(13)]
  for (const one of expires) assert.ok(!signatures.verify(KEY, { expires: one, signature }, 0), String(one))
  for (const one of [undefined, '', 'x', [signature], `${signature}AAAA`, signature.slice(0, -2)])
    assert.ok(!signatures.verify(KEY, { expires: String(EXPIRES), signature: one }, 0), String(one))
})

test('a signature with any other byte is not valid', () => {
  const bytes = Buffer.from(parts(signatures.signUrl(KEY, EXPIRES)).signature, 'base64url')
  fc.assert(
    fc.property(fc.nat(31), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const other = Buffer.from(bytes)
      other[at]! ^= change
      assert.ok(!signatures.verify(KEY, { expires: String(EXPIRES), signature: other.toString('base64url') }, 0))
    }),
    { numRuns: scaled(200) },
  )
})

test('a short secret is refused', () => {
  assert.throws(() => new UrlSigner(new Uint8Array(31)), RangeError)
})
