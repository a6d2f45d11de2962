// Tests that MessagePack decoded in parts gives the same value as the library, whatever it contains and wherever it is cut.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { decodeMessagePack } from '../../src/payloads/frame-decoder.ts'
import { decodeMessagePackSteps } from '../../src/payloads/incremental-message-pack-decoder.ts'
import { canonicalJson } from '../../src/shared/json.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { scaled } from '../helpers/scale.ts'

const seed = Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

function same(bytes: Uint8Array): void {
  const data = Buffer.from(bytes)
  const [got, expected] = [runToCompletion(decodeMessagePackSteps(data)), decodeMessagePack(data)]
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)]
  // The whole texts would be megabytes.
  const at = [...a].findIndex((character, place) => character !== b[place])
  assert.ok(a === b, `differs at ${at}: ${a.slice(at - 50, at + 50)} for ${b.slice(at - 50, at + 50)}`)
  assert.deepEqual(got, expected)
}

const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, true, -0.5, 1e300, 'ä€😀', [], {}, new Uint8Array(3), new Date(0)),
    fc.integer(),
    fc.integer({ min: 1, max: 70_000 }).map((length) => 'x'.repeat(length)),
    fc.integer({ min: 1, max: 70_000 }).map((length) => new Uint8Array(length)),
    fc.array(tie('any'), { maxLength: 20 }),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      tie('any'),
      { maxKeys: 20 },
    ),
    fc
      .tuple(fc.constantFrom<unknown>(null, [], {}, 'a', { a: [{ b: 1 }] }), fc.integer({ min: 0, max: 30_000 }))
      .map(([item, count]) => Array.from({ length: count }, () => item)),
    fc
      .tuple(fc.constantFrom<unknown>(null, [], { a: 1 }), fc.integer({ min: 0, max: 10_000 }))
      .map(([item, count]) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, item]))),
  ),
}))

describe(`MessagePack in parts (seed ${seed})`, () => {
  test('any value', () => {
    fc.assert(
      fc.property(any, (value) => same(encode(value))),
      { seed, numRuns: scaled(30) },
    )
  })

  test('bytes after the value are ignored, numbers may be keys, and the last of equal keys counts', () => {
    same(encode(17))
    const long = encode('y'.repeat(20_000))
    const twice = [0x84, 0xa1, 0x61, ...long, 7, ...long, 0xa1, 0x61, 0x91, ...long, 0xa1, 0x62, 0xc0]
    same(Uint8Array.from(twice))
    same(Uint8Array.from([0x82, 7, 0x91, ...long, 7, 0x81, 0xa1, 0x61, ...long]))
  })

  test('the key __proto__ is a key like any other, in small values and in large ones', () => {
    const one = { ['__proto__']: { a: 1 }, tutorial: 2 }
    for (const value of [one, [one, 'x'.repeat(20_000), one], { ['__proto__']: Array(20_000).fill(one) }]) {
      const data = Buffer.from(encode(value))
      assert.equal(canonicalJson(decodeMessagePack(data)), canonicalJson(value))
      assert.equal(canonicalJson(runToCompletion(decodeMessagePackSteps(data))), canonicalJson(value))
    }
  })

  test('no step is long', () => {
    const data = Buffer.from(encode(Array.from({ length: 500_000 }, () => null)))
    const steps = decodeMessagePackSteps(data)
    let count = 0
    while (!steps.next().done) count++
    assert.ok(count >= data.length / 16_384 - 1, `${count} steps`)
  })
})
