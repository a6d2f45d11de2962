// Tests the scan before decoding: it finds the depth that the decoders would build, and trusts no length.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import {
  isJsonDeeperThan,
  isMessagePackDeeperThan,
  MalformedFrameError,
} from '../../src/payloads/frame-structure-checks.ts'

const scale = Number(process.env.SVC_TEST_SCALE ?? 1)
const seed = Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom(null, true, false, '[', '"{', '\\', 'ä€😀', 'x'.repeat(300), 'y'.repeat(70_000)),
    fc.oneof(
      fc.integer(),
      fc.double(),
      fc.string(),
      fc.uint8Array(),
      fc.constant(new Uint8Array(66_000)),
      fc.date({ noInvalidDate: true }),
    ),
    fc.array(tie('any'), { maxLength: 20 }),
    fc.dictionary(fc.string(), tie('any'), { maxKeys: 20 }),
  ),
})).any

function depthOf(of: unknown): number {
  if (typeof of !== 'object' || of === null || of instanceof Uint8Array || of instanceof Date) return 0
  return 1 + Math.max(0, ...Object.values(of).map(depthOf))
}

describe(`the nesting of a frame (seed ${seed})`, () => {
  test('MessagePack of any value is as deep as the value', () => {
    fc.assert(
      fc.property(value, (of) => {
        const [bytes, depth] = [encode(of), depthOf(of)]
        assert.equal(isMessagePackDeeperThan(bytes, depth), false)
        if (depth > 0) assert.equal(isMessagePackDeeperThan(bytes, depth - 1), true)
      }),
      { seed, numRuns: 300 * scale },
    )
  })

  test('JSON of any value is as deep as the value, whatever stands in its texts', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 2), (of, indent) => {
        const [text, depth] = [Buffer.from(JSON.stringify(of, null, indent)), depthOf(of)]
        assert.equal(isJsonDeeperThan(text, depth), false)
        if (depth > 0) assert.equal(isJsonDeeperThan(text, depth - 1), true)
      }),
      { seed, numRuns: 300 * scale },
    )
  })

  test('MessagePack that is cut off anywhere is malformed', () => {
    fc.assert(
      fc.property(value, fc.nat(), (of, at) => {
        const bytes = encode(of)
        const cut = bytes.subarray(0, at % bytes.length)
        assert.throws(() => isMessagePackDeeperThan(cut, 64), MalformedFrameError)
      }),
      { seed, numRuns: 300 * scale },
    )
  })

  test('any bytes are found deep, malformed or fine', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          assert.equal(typeof isMessagePackDeeperThan(bytes, 64), 'boolean')
        } catch (error) {
          assert.ok(error instanceof MalformedFrameError)
        }
        assert.equal(typeof isJsonDeeperThan(bytes, 64), 'boolean')
      }),
      { seed, numRuns: 1_000 * scale },
    )
  })

  test('every width of array and map counts', () => {
    const containers = [
      [0x91],
      [0x81, 0xa0],
      [0xdc, 0, 1],
      [0xdd, 0, 0, 0, 1],
      [0xde, 0, 1, 0xa0],
      [0xdf, 0, 0, 0, 1, 0xa0],
    ]
    for (const container of containers) {
      const bytes = Uint8Array.from([...Array(64).fill(container).flat(), 0xc0])
      assert.equal(isMessagePackDeeperThan(bytes, 64), false)
      assert.equal(isMessagePackDeeperThan(Uint8Array.from([...container, ...bytes]), 64), true)
    }
  })
})
