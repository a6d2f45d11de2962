// The type that frames of a job repeat is made once, and is short, whatever a graph declares.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFrameType } from '../../../src/engine/node-api/values/type-label.ts'
import { readTypeMetadata } from '../../../src/engine/node-api/values/type-metadata.ts'

const LONGEST = 4_096

test('the type of frames is the whole shorthand of ordinary types', () => {
  const list = { type: 'list', type_args: [{ type: 'enum', values: ['a', 'b'] }], optional: true }
  assert.equal(formatFrameType(readTypeMetadata(list)), 'list[enum(a | b)]?')
})

test('the type of frames is abbreviated where a graph declares a very long one', () => {
  const values = Array.from({ length: 256 }, (_, at) => String(at).padEnd(2_000, 'x'))
  const long = [
    { type: 'union', type_args: Array.from({ length: 15 }, () => ({ type: 'enum', values })) },
    { type: 'x'.repeat(1_000_000) },
  ]
  for (const type of long) assert.ok(formatFrameType(readTypeMetadata(type)).length < LONGEST)
})

test('the type of frames is made once', () => {
  let reads = 0
  const type = {
    ...readTypeMetadata({ type: 'str' }),
    get optional() {
      return ++reads > 0
    },
  }
  const texts = Array.from({ length: 1_000 }, () => formatFrameType(type))
  assert.deepEqual([new Set(texts).size, reads], [1, 1])
})
