// Empty byte arrays count as well: a small message may contain millions of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { splitValue } from '../../src/engine/node-api/values/fragments.ts'
import { containsBytes, estimateMemory, estimateSize } from '../../src/engine/node-api/values/measure.ts'
import { estimatePayloadMemory } from '../../src/payloads/memory-estimate.ts'

const MANY = 100_000
const list = Array.from({ length: MANY }, () => new Uint8Array(0))

test('empty bytes are measured, and travel in pieces', () => {
  assert.ok(estimateSize(list) >= 8 * MANY)
  assert.ok(estimateMemory(list) >= 100 * MANY)
  assert.ok([...splitValue(list)].length > 10)
})

test('empty bytes in a frame count with their memory', () => {
  assert.ok(estimatePayloadMemory(encode(list), true).memory_bytes >= 100 * MANY)
})

test('containsBytes finds bytes in lists and dicts', () => {
  assert.deepEqual([list, { a: [list] }, [1, 'a', { b: [] }], list[0]].map(containsBytes), [true, true, false, false])
})
