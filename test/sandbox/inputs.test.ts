// Large inputs of code: encoded in steps with the same result as at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeInputs, encodeInputsSteps } from '../../src/sandbox/json-values.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { scaled } from '../helpers/scale.ts'

type Inputs = Readonly<Record<string, unknown>>

function outcome(write: (inputs: Inputs) => string, inputs: Inputs): string {
  try {
    return write(inputs)
  } catch (error) {
    const { type, message } = error as Error & { type: string }
    return `${type}: ${message}`
  }
}

const inSteps = (inputs: Inputs) => runToCompletion(encodeInputsSteps(inputs))

test('large inputs are encoded, or refused, like small ones', () => {
  const bad = fc.constantFrom(Number.NaN, 1n, Symbol('a'), new Uint8Array(3), () => 1)
  const value = fc.oneof({ weight: 9, arbitrary: fc.jsonValue() }, { weight: 1, arbitrary: bad })
  const heavy = fc
    .tuple(value, fc.integer({ min: 1, max: 3_000 }))
    .map(([one, count]) => ({ list: Array(count).fill({ a: one }) }))
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(value, heavy)), (inputs) => {
      assert.equal(outcome(inSteps, inputs), outcome(encodeInputs, inputs))
    }),
    { numRuns: scaled(60) },
  )
})

test('inputs with too many values are refused in steps, none of which is long', () => {
  const names = (from: string) => Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`${from}${at}`, 1]))
  const many = { a: Array.from('abcdefghijk', names) }
  const values = { a: Array(1_000_001).fill(1) }
  const long = { a: ['x'.repeat(10_000_000)] }
  for (const inputs of [many, values, long]) assert.match(outcome(inSteps, inputs), /^too_large: /)
  assert.ok([...encodeInputsSteps({ a: Array.from('ab', names) })].length > 40)
})
