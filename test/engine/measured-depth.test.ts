// The deepest allowed value has a size, also in the records that the engine puts around it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_VALUE_DEPTH, makeMeasuredSteps, measureValue } from '../../src/engine/node-api/values/measure.ts'
import { findExcess, isNestedTooDeep, MAX_VALUE_SIZE } from '../../src/engine/node-api/values/value-excess.ts'
import { runToCompletion, type Steps } from '../../src/shared/time-slices.ts'

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

test('the deepest value has a size in the record of its outputs', () => {
  const outputs = { output: nested(MAX_VALUE_DEPTH) }
  assert.ok(Number.isFinite(measureValue(outputs).size))
  assert.ok(Number.isFinite(measureValue({ outputs: [outputs] }).size))
  assert.ok(Number.isFinite(measureValue(runToCompletion(makeMeasuredSteps(stepsOf({ outputs })))).size))
})

test('a value that is one level deeper is too deep', () => {
  assert.equal(isNestedTooDeep(nested(MAX_VALUE_DEPTH)), false)
  assert.equal(isNestedTooDeep(nested(MAX_VALUE_DEPTH + 1)), true)
  assert.equal(findExcess(nested(MAX_VALUE_DEPTH), MAX_VALUE_SIZE), null)
  assert.equal(findExcess(nested(MAX_VALUE_DEPTH + 1), MAX_VALUE_SIZE), 'too_deep')
})

test('a value that holds itself is too deep', () => {
  const value: unknown[] = []
  value.push(value)
  assert.equal(isNestedTooDeep(value), true)
})

// biome-ignore lint/correctness/useYield: the value is present, so no step is needed.
function* stepsOf<T>(value: T): Steps<T> {
  return value
}
