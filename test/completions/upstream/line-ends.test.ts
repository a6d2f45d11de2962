// The ends of lines, and how many characters are read to find them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineEndFinder } from '../../../src/completions/upstream/line-ends.ts'

/** All line ends of a text, and the number of characters that were read. */
function endsOf(text: string): { ends: number[]; seen: number } {
  let seen = 0
  const counted = {
    indexOf: (end: string, from = 0) => {
      const at = text.indexOf(end, from)
      seen += (at < 0 ? text.length : at + 1) - from
      return at
    },
  }
  const lines = new LineEndFinder(counted)
  const ends: number[] = []
  for (let end = lines.from(0); end >= 0; end = lines.from(end + 1)) ends.push(end)
  return { ends, seen }
}

test('lines end at feeds and at returns, and each character is read once for each kind', () => {
  const texts = fc
    .array(fc.constantFrom('\n', '\r', 'x', 'data: y'), { maxLength: 60 })
    .map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(texts, (text) => {
      const { ends, seen } = endsOf(text)
      assert.deepEqual(
        ends,
        [...text.matchAll(/[\r\n]/g)].map(({ index }) => index),
      )
      assert.ok(seen <= 2 * text.length, `${seen} of ${text.length}`)
    }),
  )
})

test('one return among many feeds is searched only once', () => {
  for (const text of [`\r${'\n'.repeat(5_000)}`, `${'\n'.repeat(5_000)}\r`, '\r\n'.repeat(5_000)])
    assert.ok(endsOf(text).seen <= 2 * text.length)
})
