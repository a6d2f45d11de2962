// The canonical form of values: equal values have the same text, whatever the order of their keys, and all others differ.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { decodeFrame } from '../src/payloads/frame-decoder.ts'
import { canonicalJson } from '../src/shared/json.ts'

/** The value as it arrives over a socket. */
const sent = (value: unknown) => decodeFrame(Buffer.from(encode(value)), true)

const small = fc.constantFrom<unknown>(
  new Uint8Array([1, 2]),
  new Uint8Array(),
  'AQI=',
  '"AQI="',
  'bytes(AQI=)',
  '',
  Number.NaN,
  Number.POSITIVE_INFINITY,
  'NaN',
  null,
  0,
  '0',
  1,
  true,
)

const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    small,
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', '10', '9'), tie('value'), { maxKeys: 2 }),
  ),
})).value

function reversed(of: unknown): unknown {
  if (typeof of !== 'object' || of === null || of instanceof Uint8Array) return of
  if (Array.isArray(of)) return of.map(reversed)
  return Object.fromEntries(
    Object.entries(of)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  )
}

describe('canonicalJson', () => {
  test('is the same text exactly for equal values', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [one, other] = [sent(a), sent(b)]
        assert.equal(canonicalJson(one) === canonicalJson(other), isDeepStrictEqual(one, other))
        assert.equal(canonicalJson(reversed(one)), canonicalJson(one))
      }),
      { numRuns: 3_000 },
    )
  })

  test('is JSON wherever JSON has the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (json) => {
        assert.deepEqual(JSON.parse(canonicalJson(json)), JSON.parse(JSON.stringify(json)))
      }),
    )
  })
})
