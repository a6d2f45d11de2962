// Parsing of the Range header with any spaces.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseByteRange } from '../../../src/http/body/byte-range.ts'
import { leastProcessorMs } from '../../helpers/processor.ts'

const SIZE = 100

test('spaces around the parts of a range are ignored', () => {
  const range = { start: 2, length: 3 }
  assert.deepEqual(parseByteRange('bytes=2-4', SIZE), range)
  assert.deepEqual(parseByteRange(' bytes = 2 - 4 ', SIZE), range)
  assert.deepEqual(parseByteRange('BYTES\t=\t2\t-\t4', SIZE), range)
  assert.deepEqual(parseByteRange('bytes = 98 - ', SIZE), { start: 98, length: 2 })
  assert.deepEqual(parseByteRange('bytes = - 3 ', SIZE), { start: 97, length: 3 })
  assert.equal(parseByteRange('bytes = - ', SIZE), null)
  assert.equal(parseByteRange('bytes=2 3-4', SIZE), null)
  assert.equal(parseByteRange('bytes=2-4 5', SIZE), null)
})

/** The limit of a header. */
const LONGEST = 1_024

test('a header of many spaces is parsed quickly', () => {
  const spaces = ' '.repeat(LONGEST / 3)
  for (const header of [`bytes=${spaces}-${spaces}${spaces}x`, `bytes${spaces}=${spaces}2${spaces}x`]) {
    const took = leastProcessorMs(5, () => assert.equal(parseByteRange(header, SIZE), null))
    assert.ok(took < 5, `it took ${took} ms of the processor`)
  }
})
