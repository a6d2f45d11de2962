// The cost limits of one firing on texts: hostile inputs are refused, or take no longer than others of their size.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { findText } from '../../../src/nodes/shared/text-search.ts'
import { replaceText, splitText } from '../../../src/nodes/text/string-functions.ts'
import { takesLess } from '../../helpers/patience.ts'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'
import { soon } from '../soon.ts'

const a = (length: number) => 'a'.repeat(length)

describe('looking for a text in another', () => {
  const hostile = { text: a(400_000), part: `${a(10)}b${a(200_000)}` }

  test('is fast for a text that almost occurs everywhere', async () => {
    const { text, part } = hostile
    assert.deepEqual(await soon(() => fire('text.Contains', { text, part })), { output: false, index: -1 })
    const found = { text: text + part, find: part, replacement: 'b' }
    assert.deepEqual(await soon(() => fire('text.Replace', found)), { output: `${text}b`, count: 1 })
    assert.deepEqual(await soon(() => outputOf('text.Split', { text, separator: part })), [text])
  })

  test('is fast for the literal beginning of a pattern', async () => {
    const text = a(1_000_000)
    await soon(async () => {
      for (let rest = 1980; rest < 1986; rest++) {
        assert.equal(await outputOf('regex.Match', { text, pattern: `${a(10)}b${a(rest)}` }), false)
      }
    })
  })

  const letters = (most: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: most })

  test('finds the same positions as a plain search', () => {
    const period = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 })
    const parts = fc.tuple(period, fc.integer({ min: 1, max: 12 }), letters(3))

    fc.assert(
      fc.property(
        parts,
        fc.array(fc.oneof(letters(40), fc.constant(null))),
        fc.nat(50),
        ([unit, times, end], texts, from) => {
          const part = unit.repeat(times) + end
          const text = texts.map((piece) => piece ?? part).join('')
          assert.equal(findText(text, part, from), text.indexOf(part, from))
          assert.deepEqual(splitText(text, part), text.split(part))
          assert.equal(
            replaceText(text, part, '$&'),
            text.replaceAll(part, () => '$&'),
          )
        },
      ),
      { numRuns: scaled(500) },
    )
  })
})

describe('JSON is measured before it is parsed', () => {
  const objects = (count: number) => Array.from({ length: count }, (_, at) => `{"${at.toString(36)}":1}`)
  const refused = /too_large: The JSON has more than [\d,]+ (different keys|values)/

  test('by json.Parse', async () => {
    await soon(() => assert.rejects(outputOf('json.Parse', { text: `[${objects(800_000)}]` }), refused))
    await soon(() => assert.rejects(outputOf('json.Parse', { text: `[${'[],'.repeat(2_000_000)}0]` }), refused))
  })

  test('by data.ParseJsonLines, all lines together', async () => {
    const read = (text: string) => outputOf('data.ParseJsonLines', { text, invalid: 'skip' })
    await soon(() => assert.rejects(read(`"\n{"a":"\n${objects(800_000).join('\n')}`), refused))
    const line = `{"a":[${'1,'.repeat(50_000)}1]}\n`
    await soon(() => assert.rejects(read(line.repeat(30)), refused))
  })

  test('and JSON of the size of a table is read', async () => {
    const line = '{"name":"a","count":1,"price":2.5}'
    const text = Array(200_000).fill(line).join('\n')
    const { rows } = await fire('data.ParseJsonLines', { text })
    assert.equal((rows as unknown[]).length, 200_000)
    assert.equal(
      ((await outputOf('json.Parse', { text: `[${text.replaceAll('\n', ',')}]` })) as unknown[]).length,
      200_000,
    )
  })
})

describe('text.Diff', () => {
  const numbered = (count: number, from = 0) =>
    Array.from({ length: count }, (_, at) => a(4000) + String(from + at).padStart(5, '0'))

  test('does not compare long lines again and again', async () => {
    const [before, after] = [numbered(1900).join('\n'), numbered(1900, 2000).join('\n')]
    const refused = /too_large: The texts differ in more than 2,000 lines/
    await soon(async () => {
      for (let count = 0; count < 2; count++)
        await assert.rejects(outputOf('text.Diff', { a: before, b: after }), refused)
    })
  })

  test('gives the lines as they are', async () => {
    const of = (a: string, b: string) => outputOf('text.Diff', { a, b, context: 1 })
    const end = '\\ No newline at end of file'
    assert.equal(await of('7\n\n5', '7\n\n\\\n'), `--- a\n+++ b\n@@ -2,2 +2,2 @@\n \n-5\n${end}\n+\\\n`)
  })
})

test('text.Template parses each path once, and limits its placeholders', async () => {
  const value = { list: Array.from({ length: 100_000 }, (_, at) => at) }
  const template = '{{a.list[-1]}}'.repeat(100_000)
  assert.equal(await soon(() => outputOf('text.Template', { template }, { a: value })), '99999'.repeat(100_000))
  const whole = '{{a}}'.repeat(2_000_000)
  await soon(() =>
    assert.rejects(outputOf('text.Template', { template: whole }, { a: 'x' }), /more than 100,000 placeholders/),
  )
  const spaces = [' ', '\t', '\n', '\r']
  const ways = spaces.flatMap((a) => spaces.flatMap((b) => spaces.flatMap((c) => spaces.map((d) => a + b + c + d))))
  const many = ways.map((space) => `{{a${space}}}`).join('')
  const lists = Array(12_000).fill([])
  await takesLess(200, () => outputOf('text.Template', { template: many }, { a: lists }))
  const large = '{{a}}'.repeat(15)
  assert.equal(
    await soon(() => outputOf('text.Template', { template: large }, { a: value })),
    JSON.stringify(value).repeat(15),
  )
})

test('prompt.Template writes a value once, however often it is named', async () => {
  const template = '{{a}}'.repeat(500)
  const a = Array(4_000).fill(0)
  await takesLess(100, () => fire('prompt.Template', { system: template, template }, { a }))
  const items = { template: '{{#a}}{{.}}{{b}}{{/a}}' }
  assert.equal((await fire('prompt.Template', items, { a: [[1], [2]], b: [3] })).prompt, '[1][3][2][3]')
})

test('a path has a limited length', async () => {
  const dict = { a: { b: 1 } }
  const path = 'a.'.repeat(1_000_000)
  for (const type of ['dict.Get', 'dict.Remove']) {
    await takesLess(50, () =>
      assert.rejects(outputOf(type, { dict, path }), /bad_path: .* more than 100,000 characters/),
    )
  }
  assert.equal(await outputOf('dict.Get', { dict, path: `["${a(99_996)}"]`, default: 2 }), 2)
})
