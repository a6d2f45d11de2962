// How searches compare texts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldText } from '../../src/db/text-folding.ts'
import { takesLess } from '../helpers/patience.ts'

test('letters are the same however they are put together, and whatever their case', () => {
  assert.equal(foldText('Cafe\u0301 \u0395\u03a3'), foldText('CAF\u00c9 \u03b5\u03c3'))
  const [above, below] = ['\u0301'.repeat(200), '\u0316'.repeat(200)]
  assert.equal(foldText(`o${above}${below}`), foldText(`o${below}${above}`))
})

test('many marks that stand together take no longer than other letters', async () => {
  const marks = (count: number) => '\u0301'.repeat(count) + '\u0316'.repeat(count)
  const text = `a${marks(20_000)}b`
  await takesLess(100, () => foldText(text))
  assert.ok(foldText(text).endsWith('b'))
})
