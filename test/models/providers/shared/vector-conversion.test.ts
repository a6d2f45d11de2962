// The conversion of vectors yields to the event loop between long vectors, and refuses too long ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { convertVectors } from '../../../../src/models/providers/shared/vector-conversion.ts'

const NUMBERS = 200_000

test('the conversion of long vectors yields to the event loop, and keeps their order', async () => {
  let turns = 0
  const told: number[] = []
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const make = (at: number) => {
    told.push(turns)
    return [at]
  }
  const vectors = await convertVectors([0, 1, 2, 3], { countNumbers: () => NUMBERS, convert: make })
  clearImmediate(counting)
  assert.deepEqual(vectors, [[0], [1], [2], [3]])
  assert.equal(new Set(told).size, 4, `made in the turns ${told}`)
})

test('short vectors are all converted in one turn', async () => {
  let passed = false
  const told: boolean[] = []
  setImmediate(() => {
    passed = true
  })
  const make = () => {
    told.push(passed)
    return []
  }
  await convertVectors(Array(80).fill(0), { countNumbers: () => 3_072, convert: make })
  assert.deepEqual(new Set(told), new Set([false]))
})

test('a vector that is too long is refused', async () => {
  const make = () => assert.fail('it was made')
  await assert.rejects(convertVectors([0], { countNumbers: () => 262_145, convert: make }), { name: 'Malformed' })
})
