// Tests that integers beyond 2^53, and no other values, are found in JSON and in MessagePack.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import {
  findWideIntegersInJson,
  findWideIntegersInMessagePack,
  mayHoldWideInteger,
} from '../../src/payloads/wide-integers.ts'
import { leastProcessorMs } from '../helpers/processor.ts'

const WIDE = '12345678901234567890'

function placesIn(text: string): string[] {
  if (!mayHoldWideInteger(Buffer.from(text))) return []
  return findWideIntegersInJson(text, '').map(({ path }) => path)
}

describe('integers beyond 2^53 in JSON', () => {
  test('are found with their places', () => {
    assert.deepEqual(placesIn('9007199254740993'), [''])
    assert.deepEqual(placesIn('[1,-9007199254740993,2]'), ['/1'])
    assert.deepEqual(placesIn('{"a": {"b/c": [ 12345678901234567890 ]}, "d":9007199254740993\n}'), ['/a/b~1c/0', '/d'])
    assert.deepEqual(findWideIntegersInJson(`[${'9'.repeat(100)}]`, '/body'), [
      {
        path: '/body/0',
        message: `must be between -2^53 and 2^53: ${'9'.repeat(40)}… would become another number; send it as a string`,
        code: 'wide_integer',
      },
    ])
  })

  test('do not include exact numbers, fractions, and texts', () => {
    for (const text of [
      '9007199254740992',
      '-9007199254740992',
      '1234567890123456.5',
      '0.12345678901234567890',
      `0.${'3'.repeat(100)}`,
      `[0.${'3'.repeat(13)},0.${'3'.repeat(100)}]`,
      '1.2345678901234567e+300',
      '12345678901234567890.0',
      '12345678901234567890e0',
      '1E1234567890123456',
      '"12345678901234567890"',
      '{"12345678901234567890": 1}',
      '"a \\" 12345678901234567890 , [12345678901234567890]"',
      '["\\\\", "12345678901234567890 "]',
    ])
      assert.deepEqual(placesIn(text), [], text)
  })

  test('are found in linear time, however long the numbers are', () => {
    for (const text of [`0.${'3'.repeat(1_000_000)}`, '3'.repeat(15).concat(' ').repeat(60_000)]) {
      const bytes = Buffer.from(text)
      assert.ok(leastProcessorMs(50, () => mayHoldWideInteger(bytes)) < 50)
    }
  })

  test('are found after very long texts and numbers', () => {
    const long = `{"a":"${'x\\"'.repeat(7_000_000)} 1234567890123456","b":${'9'.repeat(8_000_000)},"c":[${WIDE}]}`
    assert.deepEqual(placesIn(long), ['/b', '/c/0'])
    assert.equal(placesIn(`[${`${WIDE},`.repeat(200_000)}1]`).length, 101)
  })

  test('are found wherever they stand', () => {
    for (let before = 0; before < 40; before++)
      for (let digits = 14; digits < 24; digits++)
        for (const [sign, end] of [
          ['', ''],
          ['-', ''],
          ['', '.5'],
          ['-', 'e1'],
          ['', 'E-3'],
        ] as const) {
          const integer = `${sign}${'7'.repeat(digits)}`
          const text = `[${' '.repeat(before)}"${'1'.repeat(before)}",${integer}${end}]`
          const isWide = end === '' && !Number.isSafeInteger(Number(integer))
          assert.deepEqual(placesIn(text), isWide ? ['/1'] : [], text)
        }
  })
})

/** A map whose keys are 64-bit integers, which some clients write. */
function withKeys(): Buffer {
  const integer = (value: bigint) => {
    const bytes = Buffer.alloc(9, 0xcf)
    bytes.writeBigUInt64BE(value, 1)
    return bytes
  }
  const inner = Buffer.concat([Buffer.from([0x81, 0xa1, 0x61]), integer(2n ** 61n)])
  return Buffer.concat([Buffer.from([0x82]), integer(10n ** 10n), integer(1n), integer(2n ** 60n), inner])
}

describe('integers beyond 2^53 in MessagePack', () => {
  test('may be keys as well', () => {
    const places = findWideIntegersInMessagePack(withKeys()).map(({ path }) => path)
    assert.deepEqual(places, [`/${2n ** 60n}`, `/${2n ** 60n}/a`])
  })

  test('are the 64-bit integers that no number holds', () => {
    const of = (value: unknown) =>
      findWideIntegersInMessagePack(encode(value, { useBigInt64: true })).map(({ path }) => path)
    assert.deepEqual(of({ a: [1n, 2n ** 53n + 1n], b: -(2n ** 60n) }), ['/a/1', '/b'])
    assert.deepEqual(
      of({ a: 2n ** 53n, b: -(2n ** 53n), c: 1e300, d: '\u00cf\u00d3', e: new Uint8Array([0xcf, 0xd3]) }),
      [],
    )
  })
})
