// Problems below a very long name have short descriptions, however many there are.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIllFormedTexts, toValidationProblems } from '../src/shared/validation-problems.ts'

const LONG = 'k'.repeat(1_000_000)
const COUNT = 100
const MOST = 4_000

test('texts that are not well-formed below a long name have short places', () => {
  const problems = findIllFormedTexts({ [LONG]: Array(COUNT).fill('\ud800') }, '/body')
  assert.equal(problems.length, COUNT)
  for (const { path } of problems) assert.ok(path.length < MOST, `a path of ${path.length} characters`)
})

test('what a validator finds below a long name has a short place', () => {
  const [problem] = toValidationProblems([
    { instancePath: `/body/${LONG}`, keyword: 'type', params: { type: 'string' } },
  ])
  assert.ok(problem!.path.length < MOST, `a path of ${problem!.path.length} characters`)
})
