// JSON that people wrote: the position of every common mistake.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { JsonInputError, parseJsonInput } from '../../../src/cli/shared/json-input.ts'
import { scaled } from '../../helpers/scale.ts'

function refusal(text: string): JsonInputError {
  try {
    parseJsonInput(text)
  } catch (error) {
    assert.ok(error instanceof JsonInputError)
    return error
  }
  return assert.fail(`${text} is JSON`)
}

describe('a text that is not JSON', () => {
  const MISTAKES: readonly (readonly [what: string, text: string, line: number, column: number, message: RegExp])[] = [
    ['nothing', '', 1, 1, /ends too early/],
    ['an end too early', '{\n  "a": [1,', 2, 11, /ends too early/],
    ['a comma before ]', '[\n  1,\n]', 3, 1, /Unexpected token '\]'/],
    ['a comma before }', '{"a": 1,}', 1, 9, /double-quoted property name/],
    ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', 3, 3, /Expected ',' or '}' after property value/],
    ['two commas', '[1,,2]', 1, 4, /Unexpected token ','/],
    ['a word', '{"a": yes}', 1, 7, /Unexpected token 'y'/],
    ['NaN', '[1, NaN]', 1, 5, /Unexpected token 'N'/],
    ['a word that begins well', '[trux]', 1, 5, /Unexpected token 'x'/],
    ['a name without quotes', '{\n\ta: 1}', 2, 2, /Expected property name/],
    ['single quotes', "{'a': 1}", 1, 2, /Expected property name/],
    ['a comment', '{\n  "a": 1 // one\n}', 2, 10, /Expected ',' or '}'/],
    ['a text over two lines', '"a\nb"', 1, 3, /Bad control character/],
    ['a text without its end', '{"a": "b}', 1, 10, /Unterminated string/],
    ['an escape that there is not', '"\\x"', 1, 3, /Bad escaped character/],
    ['a leading zero', '[01]', 1, 3, /Unexpected number|Expected ','/],
    ['something after the end', '{} {}', 1, 4, /after the end of the value/],
    ['a token far into a long text', `[${'1,'.repeat(5_000)}\n\n  ?]`, 3, 3, /Unexpected token '\?'/],
  ]
  for (const [what, text, line, column, message] of MISTAKES) {
    test(what, () => {
      const error = refusal(text)
      assert.deepEqual([error.line, error.column], [line, column])
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /position|is not valid JSON/)
    })
  }

  test('is located at its wrong character, wherever that stands', () => {
    const place = (text: string, at: number) => [
      text.slice(0, at).split('\n').length,
      at - text.slice(0, at).lastIndexOf('\n'),
    ]
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), fc.nat(), fc.nat(4), (list, choice, indent) => {
        const parts = list.map((one) => JSON.stringify(one, null, indent))
        const index = choice % parts.length
        const text = `[${parts.map((part, at) => (at === index ? '?' : part)).join(',\n')}]`
        const at = 1 + parts.slice(0, index).reduce((sum, part) => sum + part.length + 2, 0)
        const error = refusal(text)
        assert.deepEqual([error.line, error.column], place(text, at))
      }),
      { numRuns: scaled(100) },
    )
  })
})

describe('JSON that no request could hold', () => {
  test('65 levels are refused, 64 are not', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    assert.deepEqual(parseJsonInput(nested(64)), JSON.parse(nested(64)))
    const error = refusal(nested(65))
    assert.match(error.message, /deeper than 64 levels/)
    assert.equal(error.line, null)
  })

  test('100,000 levels are refused as well, without a stack', () => {
    assert.match(refusal('['.repeat(100_000) + ']'.repeat(100_000)).message, /deeper than 64 levels/)
  })

  test('half a character is refused with its place', () => {
    assert.match(refusal('{"a": ["\\uD800"]}').message, /^\/a\/0 must be well-formed Unicode/)
    assert.equal(parseJsonInput('"\\ud83d\\ude00"'), '😀')
  })
})
