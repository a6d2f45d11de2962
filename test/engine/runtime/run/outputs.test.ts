// The size limit of a run's outputs: the result of a job is one row of the database, which is written and read at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '../../../../src/engine/compile/compiler.ts'
import { estimateSize } from '../../../../src/engine/node-api/values/measure.ts'
import {
  countExtraUtf8Bytes,
  countExtraUtf8Steps,
  needsUtf8Steps,
} from '../../../../src/engine/node-api/values/utf8-bytes.ts'
import { RunOutputs } from '../../../../src/engine/runtime/run/outputs.ts'
import { runToCompletion } from '../../../../src/shared/time-slices.ts'
import { leastProcessorMs } from '../../../helpers/processor.ts'

/** How many times a value may be an output. */
function times(value: unknown): number {
  const published = new RunOutputs({ outputs: [{ name: 'out' }] } as unknown as Plan)
  for (let count = 0; ; count++) {
    try {
      published.countSize(value)
    } catch (error) {
      const { type, message } = error as Error & { type: string }
      assert.deepEqual([type, /more than 32 million bytes together/.test(message)], ['too_large', true])
      return count
    }
  }
}

test('the outputs of a run have at most 32 million bytes in total, whatever their characters are', () => {
  const counts = ['x', 'é', '文', '😀'].map((one) => times(one.repeat(1_000_000 / one.length)))
  assert.deepEqual(counts, [32, 16, 10, 16])
  const many = (one: string) => ({
    [one]: Array(10_000).fill(`${one}${'x'.repeat(40)}`),
    short: Array(10_000).fill(one),
  })
  assert.ok(times(many('x')) > times(many('文')))
})

test('a large value measured in steps is not measured again when it is published', () => {
  const value = JSON.parse(`[${'{"a":"\u00e9"},'.repeat(200_000)}{}]`)
  assert.ok(needsUtf8Steps(value))
  const steps = countExtraUtf8Steps(value)
  let count = 0
  while (!steps.next().done) count++
  assert.ok(count > 50, `in ${count} steps`)
  assert.ok(!needsUtf8Steps(value))
  estimateSize(value)
  const took = leastProcessorMs(5, () => new RunOutputs({ outputs: [] } as unknown as Plan).countSize(value))
  assert.ok(took < 5, `took ${took} ms`)
})

test('a value has the same size whether it was measured in steps or at once', () => {
  const text = JSON.stringify(Array(20_000).fill({ é: 'short é', long: 'ü'.repeat(40), at: [1, 'x', null, '😀'] }))
  const value = JSON.parse(text)
  runToCompletion(countExtraUtf8Steps(value))
  assert.equal(times(value), times(JSON.parse(text)))
  assert.equal(countExtraUtf8Bytes(value), Buffer.byteLength(text) - text.length)
})
