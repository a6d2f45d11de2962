// Bytes of no length count as well: there may be millions of them in a small message.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { holdsBytes, memoryOf, sizeOf } from '../../src/engine/measure.ts'
import { piecesOf } from '../../src/engine/pieces.ts'
import { contentsOf } from '../../src/payloads/contents.ts'

const MANY = 100_000
const list = Array.from({ length: MANY }, () => new Uint8Array(0))

test('empty bytes are measured, and travel in pieces', () => {
  assert.ok(sizeOf(list) >= 8 * MANY)
  assert.ok(memoryOf(list) >= 100 * MANY)
  assert.ok([...piecesOf(list)].length > 10)
})

test('empty bytes in a frame count the memory that they take', () => {
  assert.ok(contentsOf(encode(list), true).memory_bytes >= 100 * MANY)
})

test('it is known of a list or dict whether there are bytes in it', () => {
  assert.deepEqual([list, { a: [list] }, [1, 'a', { b: [] }], list[0]].map(holdsBytes), [true, true, false, false])
})
