// Results that are cached by short texts. The cache is common to all users.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFormula } from '../../../src/nodes/shared/formula/parser.ts'
import { memoizeByText } from '../../../src/nodes/shared/memoize.ts'

test('a short text is evaluated once, as long as few others come', () => {
  const made: string[] = []
  const find = memoizeByText((text) => made.push(text))
  assert.equal(find('a'), find('a'))
  for (let i = 0; i < 200; i++) find(`${i}`)
  assert.notEqual(find('a'), 1)
  assert.equal(made.filter((text) => text === 'a').length, 2)
})

test('a long text is evaluated each time, so that its time does not tell whether another user has it', () => {
  const made: string[] = []
  const find = memoizeByText((text) => made.push(text))
  const long = 'x'.repeat(501)
  assert.notEqual(find(long), find(long))
  const formula = `1 ${'+ 1'.repeat(200)}`
  assert.notEqual(parseFormula(formula), parseFormula(formula))
  assert.equal(parseFormula(formula)({}), 201)
  assert.equal(parseFormula('1 + 1'), parseFormula('1 + 1'))
})
