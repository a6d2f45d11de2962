// math.*
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { takesLess } from '../helpers/patience.ts'
import { outputOf } from './fire.ts'

const formula = (text: string, inputs = {}) => outputOf('math.Formula', { formula: text }, inputs)

describe('math.Formula', () => {
  const RESULTS: [string, number][] = [
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['7 - 2 - 1', 4],
    ['2 ^ 3 ^ 2', 512],
    ['2 ** 3', 8],
    ['-2 ^ 2', -4],
    ['2 ^ -1', 0.5],
    ['10 % 4 / 2', 1],
    ['--3 + +1', 4],
    ['1.5e3 + .5', 1500.5],
    ['1 < 2', 1],
    ['2 <= 1', 0],
    ['1 == 1 && !(2 != 2)', 1],
    ['0 || 3 > 2', 1],
    ['1 + 1 == 2', 1],
    ['if(2 > 1, 10, 20)', 10],
    ['max(1, 5, 3) - min(4, 2)', 3],
    ['round(1.005, 2)', 1.01],
    ['round(-2.5)', -3],
    ['sqrt(16) + abs(-2) + floor(1.9) + ceil(1.1)', 9],
    ['log(1000)', 3],
    ['log(8, 2) + log(9, 3)', 5],
    ['log(8, 2)', 3],
    ['clamp(15, 0, 10)', 10],
    ['round(sin(pi / 2) + ln(e), 6)', 2],
    ['hypot(3, 4)', 5],
  ]
  for (const [text, result] of RESULTS)
    test(`${text} is ${result}`, async () => assert.equal(await formula(text), result))

  test('uses inputs by name, also in place of constants; true and false count as 1 and 0', async () => {
    assert.equal(await formula('price * (1 + tax / 100)', { price: 200, tax: 10 }), 220.00000000000003)
    assert.equal(await formula('e * 2', { e: 5 }), 10)
    assert.equal(await formula('yes + no', { yes: true, no: false }), 1)
  })

  const BAD: [string, RegExp][] = [
    ['', /bad_formula: The formula is empty/],
    ['1 +', /its end was not expected/],
    ['1 $ 2', /"\$ 2" at position 3 was not expected/],
    ['(1', /its end was not expected/],
    ['1 2', /"2" at position 3 was not expected/],
    ['1 23456789012', /"2345678901…" at position 3 was not expected/],
    ['foo(1)', /calls "foo", which is not a function/],
    ['sqr(4)', /Did you mean "sqrt"/],
    ['average(4)', /"average", which is not a function\. The functions are abs, sign, sqrt/],
    ['1 = 2', /"= 2" at position 3 was not expected\. Compare two values with "=="/],
    ['1 and 2', /Write "and" as "&&"/],
    ['1 OR 2', /Write "or" as "\|\|"/],
    ['1 & 2', /Write "and" as "&&"/],
    ['1 <> 2', /Write "not equal" as "!="/],
    ['1 ? 2', /if\(condition, yes, no\)/],
    ['1,5 * 2', /",5 \* 2" at position 2 was not expected\. Write decimal numbers with a point/],
    ["pi == 'x'", /"'x'" at position 7 was not expected\. A formula takes numbers, not texts/],
    ['sqrt(1, 2)', /takes 1 values, not 2/],
    ['constructor', /unknown_name/],
    ['constructor(1)', /which is not a function/],
    ['a.b', /"\.b" at position 2 was not expected/],
    ['1 / 0', /not_finite: The result of the formula is Infinity/],
    ['sqrt(-1)', /not_finite: .*NaN/],
    ['('.repeat(500), /nested too deep/],
    ['1+'.repeat(6000), /longer than 10000 characters/],
  ]
  for (const [text, message] of BAD)
    test(`${text.slice(0, 20) || 'nothing'} is refused`, () => assert.rejects(formula(text), message))

  test('names inputs that are not numbers, and unknown names, in errors', async () => {
    await assert.rejects(
      formula('a', { a: 'x' }),
      /type_mismatch: .*"a".*: expected union\[float, bool\], got a string/,
    )
    await assert.rejects(
      formula('prize + 1', { price: 1 }),
      /uses "prize", which is not an input\. Did you mean "price"\?/,
    )
  })
})

describe('math', () => {
  test('Round', async () => {
    assert.equal(await outputOf('math.Round', { value: 2.345, digits: 2 }), 2.35)
    assert.equal(await outputOf('math.Round', { value: 1234, digits: -2 }), 1200)
    assert.equal(await outputOf('math.Round', { value: -1.5 }), -2)
    assert.equal(await outputOf('math.Round', { value: 1e-7, digits: 2 }), 0)
    assert.equal(await outputOf('math.Round', { value: 1e21, digits: 2 }), 1e21)
    assert.equal(await outputOf('math.Round', { value: 1.29, digits: 1, how: 'down' }), 1.2)
    assert.equal(await outputOf('math.Round', { value: 0 }), 0)
    await assert.rejects(outputOf('math.Round', { value: '1' }), /type_mismatch/)
    await assert.rejects(outputOf('math.Round', { value: 1, digits: 99 }), /must be at most 15/)
  })

  test('ParseNumber', async () => {
    assert.equal(await outputOf('math.ParseNumber', { text: ' -12.5 ' }), -12.5)
    assert.equal(await outputOf('math.ParseNumber', { text: '3e2' }), 300)
    assert.equal(await outputOf('math.ParseNumber', { text: '', default: 0 }), 0)
    await assert.rejects(outputOf('math.ParseNumber', { text: '' }), /bad_input: The text "" is not a number/)
    await assert.rejects(outputOf('math.ParseNumber', { text: 'x' }), /bad_input: The text "x" is not a number/)
    for (const text of ['12px', '0x10', 'Infinity', '1e999'])
      await assert.rejects(outputOf('math.ParseNumber', { text }))
    await takesLess(1000, () => assert.rejects(outputOf('math.ParseNumber', { text: `${'1'.repeat(200_000)}x` })))
  })

  const LOCAL: [string, string, number | null][] = [
    ['de', '1.234,5', 1234.5],
    ['de', '-1.234.567', -1234567],
    ['de', ' 1,5 ', 1.5],
    ['de', '1234,5e2', 123450],
    ['de', '1.500', 1500],
    ['en', '1,234.5', 1234.5],
    ['en', '1,5', null],
    ['fr', '1 234,5', 1234.5],
    ['de-CH', "1'234.5", 1234.5],
    ['en-IN', '12,34,567.8', 1234567.8],
    ['sv', '\u221212,5', -12.5],
    ['ar-EG', '١٬٢٣٤٫٥', 1234.5],
    ['de', '1.5', null],
    ['de', '1.23.456', null],
    ['de', '1.234 567', null],
    ['de', '1.2345', null],
    ['de', '.234', null],
    ['de', '1,2,3', null],
    ['de', '1,234.5', null],
    ['de', '', null],
  ]
  for (const [locale, text, number] of LOCAL) {
    test(`ParseNumber ${text} in ${locale}`, async () => {
      const read = outputOf('math.ParseNumber', { text, locale })
      if (number === null) await assert.rejects(read, /bad_input: The text ".*" is not a number/)
      else assert.equal(await read, number)
    })
  }

  test('ParseNumber reads what FormatNumber writes', async () => {
    for (const locale of ['en', 'de', 'fr', 'sv', 'de-CH', 'en-IN', 'pl', 'ar-EG', 'fa', 'hi', 'bn'])
      for (const value of [0, 1234.5, -9876543.25, 0.125, 1000]) {
        const text = await outputOf('math.FormatNumber', { value, locale })
        assert.equal(await outputOf('math.ParseNumber', { text, locale }), value, `${locale} ${text}`)
      }
    await assert.rejects(outputOf('math.ParseNumber', { text: '1', locale: 'no language' }), /locale/)
  })

  test('FormatNumber writes at least min_digits digits', async () => {
    assert.equal(await outputOf('math.FormatNumber', { value: 1.5, min_digits: 5 }), '1.50000')
    assert.equal(await outputOf('math.FormatNumber', { value: 1.23456, min_digits: 1, max_digits: 0 }), '1.2')
    assert.equal(await outputOf('math.FormatNumber', { value: 1.5 }), '1.5')
  })
})
