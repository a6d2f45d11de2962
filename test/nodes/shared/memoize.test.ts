// Results that are cached by texts. The cache is common to all users.
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

test('of long texts the last one alone is remembered, so that time does not tell which ones other users have', () => {
  const made: string[] = []
  const find = memoizeByText((text) => made.push(text))
  const [long, other] = ['x'.repeat(501), 'y'.repeat(501)]
  assert.deepEqual([long, long, other, other, long].map(find), [1, 1, 2, 2, 3])
  const formula = `1 ${'+ 1'.repeat(200)}`
  assert.equal(parseFormula(formula), parseFormula(formula))
  assert.equal(parseFormula(formula)({}), 201)
  assert.equal(parseFormula('1 + 1'), parseFormula('1 + 1'))
})

test('of costly results the last one alone is remembered, however short their texts', () => {
  const made: string[] = []
  const find = memoizeByText(
    (text) => made.push(text),
    (text) => !text.startsWith('costly'),
  )
  assert.deepEqual(['costly', 'cheap', 'costly', 'cheap', 'costly too', 'costly'].map(find), [1, 2, 1, 2, 3, 4])
})
