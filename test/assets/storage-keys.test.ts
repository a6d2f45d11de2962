// Tests which texts are keys, and that no two owners share a key.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { assetStorageKey, contentKey, encodeKeySegment, isObjectKey } from '../../src/assets/storage-keys.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { scaled } from '../helpers/scale.ts'

const PROPERTY = { numRuns: scaled(500) }

describe('a key', () => {
  test('has segments between single slashes', () => {
    for (const key of ['a', '1/asset_01.png', 'temp/1/x.bin', 'a/b/c/d', '...', 'a/.hidden', 'ä/é', '%2e%2e', 'a b'])
      assert.ok(isObjectKey(key), key)
  })

  test('has no segment that could lead elsewhere', () => {
    const wrong = [
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      '../a',
      'a/../b',
      'a/./b',
      'a/..',
      'a\\b',
      '..\\a',
      'a\0',
      'a\nb',
    ]
    for (const key of [...wrong, 'a\u007f', 'a\u0085', '\ud800', 'a/\udfff/b'])
      assert.ok(!isObjectKey(key), JSON.stringify(key))
  })

  test('is of bounded length', () => {
    assert.ok(isObjectKey('x'.repeat(255)))
    assert.ok(!isObjectKey('x'.repeat(256)))
    assert.ok(!isObjectKey('ä'.repeat(128)))
    assert.ok(isObjectKey(`${'x/'.repeat(511)}xx`))
    assert.ok(!isObjectKey(`${'x/'.repeat(512)}x`))
  })
})

const ids = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
  fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom('~', '2', 'f', '/', '.', 'a', '\0', 'temp') }),
  fc.string({ minLength: 100, maxLength: 512 }),
)

describe('the segment of an owner', () => {
  test('leaves plain ids as they are, and spells the others', () => {
    assert.equal(encodeKeySegment('1'), '1')
    assert.equal(encodeKeySegment('0b6f-AZ_9'), '0b6f-AZ_9')
    assert.equal(encodeKeySegment('ada@example.com'), 'ada~40example~2ecom')
    assert.equal(encodeKeySegment('é/~'), '~c3~a9~2f~7e')
    assert.equal(encodeKeySegment('..'), '~2e~2e')
    assert.equal(encodeKeySegment('temp'), '~74emp')
    assert.equal(encodeKeySegment('x'.repeat(128)), 'x'.repeat(128))
    assert.equal(encodeKeySegment('x'.repeat(129)), `~~${sha256('x'.repeat(129))}`)
  })

  test('is a segment of a key that no URL changes', () => {
    fc.assert(
      fc.property(ids, (id) => {
        const segment = encodeKeySegment(id)
        assert.ok(isObjectKey(segment) && !segment.includes('/') && segment !== 'temp')
        assert.equal(encodeURIComponent(segment), segment)
        assert.equal(new URL(`http://x/${segment}/y`).pathname, `/${segment}/y`)
        assert.ok(isObjectKey(assetStorageKey(id, `asset_${'f'.repeat(32)}`, 'parquet')))
      }),
      PROPERTY,
    )
  })

  test('is that of one owner alone', () => {
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        fc.pre(a !== b)
        assert.notEqual(encodeKeySegment(a), encodeKeySegment(b))
        assert.notEqual(contentKey(a, sha256('x')), contentKey(b, sha256('x')))
      }),
      PROPERTY,
    )
  })
})

test('content is spread over folders, the same each time', () => {
  const key = contentKey('1', sha256('x'))
  assert.match(key, /^[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{64}$/)
  const [first, second, name] = key.split('/')
  assert.ok(name!.startsWith(first! + second!))
  assert.equal(contentKey('1', sha256('x')), key)
  assert.notEqual(contentKey('1', sha256('y')), key)
})
