// Vectors that are made in turns: others have theirs between them, and none is longer than may be made in one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { vectorsInTurns } from '../../src/models/vectors-in-turns.ts'

const NUMBERS = 200_000

test('others have their turns between long vectors, in whose order nothing changes', async () => {
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
  const vectors = await vectorsInTurns([0, 1, 2, 3], { numbersIn: () => NUMBERS, make })
  clearImmediate(counting)
  assert.deepEqual(vectors, [[0], [1], [2], [3]])
  assert.equal(new Set(told).size, 4, `made in the turns ${told}`)
})

test('short vectors are all made in one turn', async () => {
  let passed = false
  const told: boolean[] = []
  setImmediate(() => {
    passed = true
  })
  const make = () => {
    told.push(passed)
    return []
  }
  await vectorsInTurns(Array(80).fill(0), { numbersIn: () => 3_072, make })
  assert.deepEqual(new Set(told), new Set([false]))
})

test('a vector that is too long is not made', async () => {
  const make = () => assert.fail('it was made')
  await assert.rejects(vectorsInTurns([0], { numbersIn: () => 262_145, make }), { name: 'Malformed' })
})
