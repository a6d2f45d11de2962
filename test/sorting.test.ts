// Very much is sorted in steps, as `sort` does it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compared, sortedSteps } from '../src/sorting.ts'
import { finish } from '../src/time-slices.ts'

const COUNT = 50_000
/** In an order that has nothing to do with theirs, some of them twice. */
const texts = Array.from({ length: COUNT }, (_, at) => `text ${(at * 7_919) % 40_009}`)

test('what is sorted in steps is in the order of sort, and what is equal stays in its order', () => {
  const items = texts.map((text, at) => ({ text, at }))
  const sorted = finish(sortedSteps([...items], (a, b) => compared(a.text, b.text)))
  assert.deepEqual(
    sorted,
    items.toSorted((a, b) => compared(a.text, b.text)),
  )
  assert.deepEqual(finish(sortedSteps([...texts], compared)), texts.toSorted())
})

test('it stops every few thousand comparisons', () => {
  let [compares, most] = [0, 0]
  const steps = sortedSteps([...texts], (a, b) => {
    compares++
    return compared(a, b)
  })
  for (let isDone = false; !isDone; most = Math.max(most, compares), compares = 0) isDone = steps.next().done === true
  assert.ok(most < 60_000, `${most} comparisons in a step`)
})
