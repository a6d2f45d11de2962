// Long lists are sorted in steps, as `sort` does it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareTexts, sortSteps } from '../../src/shared/sorting.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'

const COUNT = 50_000
/** A shuffled list with some duplicates. */
const texts = Array.from({ length: COUNT }, (_, at) => `text ${(at * 7_919) % 40_009}`)

test('what is sorted in steps is in the order of sort, and what is equal stays in its order', () => {
  const items = texts.map((text, at) => ({ text, at }))
  const sorted = runToCompletion(sortSteps([...items], (a, b) => compareTexts(a.text, b.text)))
  assert.deepEqual(
    sorted,
    items.toSorted((a, b) => compareTexts(a.text, b.text)),
  )
  assert.deepEqual(runToCompletion(sortSteps([...texts], compareTexts)), texts.toSorted())
})

test('sorting in steps pauses every few thousand comparisons', () => {
  let [compares, most] = [0, 0]
  const steps = sortSteps([...texts], (a, b) => {
    compares++
    return compareTexts(a, b)
  })
  for (let isDone = false; !isDone; most = Math.max(most, compares), compares = 0) isDone = steps.next().done === true
  assert.ok(most < 60_000, `${most} comparisons in a step`)
})
