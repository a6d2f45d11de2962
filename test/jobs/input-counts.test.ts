// The weight of all property changes of one job.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateUpdateWeight, InputCounts } from '../../src/jobs/run/job-inputs.ts'

test('small property changes are refused where all together would take much memory', () => {
  const counts = new InputCounts()
  let kept = 0
  while (counts.addChange(estimateUpdateWeight({ a: 1 }))) kept++
  assert.ok(kept > 100_000 && kept < 350_000, `${kept} changes are kept`)
})
