// A value that is as deep as it may be has a size, also in the records that the engine puts around it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEEPEST_VALUE, excessOf, isTooDeep, LARGEST_VALUE, measured, measuredSteps } from '../../src/engine/measure.ts'
import { finish, type Steps } from '../../src/time-slices.ts'

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

test('the deepest value has a size in the record of its outputs', () => {
  const outputs = { output: nested(DEEPEST_VALUE) }
  assert.ok(Number.isFinite(measured(outputs).size))
  assert.ok(Number.isFinite(measured({ outputs: [outputs] }).size))
  assert.ok(Number.isFinite(measured(finish(measuredSteps(stepsOf({ outputs })))).size))
})

test('what is one level deeper is too deep', () => {
  assert.equal(isTooDeep(nested(DEEPEST_VALUE)), false)
  assert.equal(isTooDeep(nested(DEEPEST_VALUE + 1)), true)
  assert.equal(excessOf(nested(DEEPEST_VALUE), LARGEST_VALUE), null)
  assert.equal(excessOf(nested(DEEPEST_VALUE + 1), LARGEST_VALUE), 'too_deep')
})

test('a value that holds itself is too deep', () => {
  const value: unknown[] = []
  value.push(value)
  assert.equal(isTooDeep(value), true)
})

// biome-ignore lint/correctness/useYield: what is there needs no step.
function* stepsOf<T>(value: T): Steps<T> {
  return value
}
