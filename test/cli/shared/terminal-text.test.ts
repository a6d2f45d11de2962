// Texts for terminals: they are harmless there, and their width is known.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  displayWidth,
  fitToWidth,
  formatDuration,
  pluralize,
  stripControlCharacters,
  toSingleLine,
  truncateToWidth,
  wrapText,
} from '../../../src/cli/shared/terminal-text.ts'
import { scaled } from '../../helpers/scale.ts'

describe('texts of workflows', () => {
  test('cannot move the cursor, change colours, or turn the direction of writing', () => {
    const hostile = 'a\u001b[2J\u001b]0;title\u0007b\rc\u0008\u009b31md\u202ee'
    for (const shown of [toSingleLine(hostile), stripControlCharacters(hostile)]) {
      assert.doesNotMatch(shown, /(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
      assert.match(shown, /^ab ?c/)
    }
  })

  test('keep their lines where they may have several, and become one where not', () => {
    assert.equal(stripControlCharacters('a\n\tb'), 'a\n\tb')
    assert.equal(toSingleLine('a\n\tb\u2028c'), 'a b c')
  })
})

describe('the width of a text', () => {
  const WIDTHS: readonly (readonly [string, number])[] = [
    ['', 0],
    ['abc', 3],
    ['日本', 4],
    ['한', 2],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['…✓▸', 3],
  ]
  for (const [text, columns] of WIDTHS) {
    test(`"${text}" takes ${columns}`, () => assert.equal(displayWidth(text), columns))
  }

  test('is at most the limit after cutting, and exactly the limit after fitting', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.integer({ min: 2, max: 60 }), (text, columns) => {
        const line = toSingleLine(text)
        assert.ok(displayWidth(truncateToWidth(line, columns)) <= columns)
        assert.equal(displayWidth(fitToWidth(line, columns)), columns)
        if (displayWidth(line) <= columns) assert.equal(truncateToWidth(line, columns), line)
      }),
      { numRuns: scaled(200) },
    )
  })

  test('a text of a million characters is cut at once', () => {
    assert.equal(truncateToWidth('x'.repeat(1_000_000), 10), `${'x'.repeat(9)}…`)
  })
})

test('durations are as people say them', () => {
  const SAID: readonly (readonly [number, string])[] = [
    [0, '0 ms'],
    [12.4, '12 ms'],
    [999, '999 ms'],
    [999.6, '1.0 s'],
    [1_234, '1.2 s'],
    [59_940, '59.9 s'],
    [59_960, '1 min 00 s'],
    [184_000, '3 min 04 s'],
    [3_599_600, '1 h 00 min'],
    [7_500_000, '2 h 05 min'],
  ]
  for (const [ms, said] of SAID) assert.equal(formatDuration(ms), said)
})

test('counts agree with their nouns', () => {
  assert.deepEqual(
    [pluralize(1, 'node'), pluralize(0, 'node'), pluralize(12_345, 'item')],
    ['1 node', '0 nodes', '12,345 items'],
  )
})

describe('a long text in lines', () => {
  test('continues below its start, or further left if there is little room', () => {
    assert.equal(wrapText('ab  ', 'one two three', 12, 2), 'ab  one two\n  three')
    assert.equal(
      wrapText('name  ', 'one two three four five six seven', 36),
      'name  one two three four five six\n      seven',
    )
    assert.equal(wrapText('name  ', 'one two three', 14), 'name  one two\n    three')
    assert.equal(wrapText('name  ', 'one two', Number.POSITIVE_INFINITY), 'name  one two')
  })

  test('keeps every word whole, and every line but those of one word within the columns', () => {
    const words = fc.array(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).map((word) => word.replace(/\s/g, '_')),
    )
    fc.assert(
      fc.property(
        words,
        fc.integer({ min: 10, max: 120 }),
        fc.integer({ min: 0, max: 20 }),
        (given, columns, indent) => {
          const lines = wrapText('', given.join(' '), columns, indent).split('\n')
          assert.deepEqual(lines.map((line) => line.trimStart()).join(' '), given.join(' '))
          for (const line of lines) assert.ok(displayWidth(line) <= columns || !line.trimStart().includes(' '), line)
        },
      ),
      { numRuns: scaled(300) },
    )
  })
})
