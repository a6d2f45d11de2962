// dict.*: objects by the paths of their values. Also some types of compare, logic and math.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../helpers/scale.ts'
import { outputOf } from './fire.ts'

const whole = { a: { b: [1, { c: null }] }, d: [], e: {}, f: 'x' }
const flat = { 'a.b[0]': 1, 'a.b[1].c': null, d: [], e: {}, f: 'x' }

describe('dict.Flatten', () => {
  const of = (dict: unknown, lists = true) => outputOf('dict.Flatten', { dict, lists })

  test('gives the paths of all values', async () => {
    assert.deepEqual(await of(whole), flat)
    assert.deepEqual(await of(whole, false), { 'a.b': whole.a.b, d: [], e: {}, f: 'x' })
    assert.deepEqual(await of({}), {})
    assert.deepEqual(Object.keys((await of(JSON.parse('{"__proto__": 1}'))) as object), ['__proto__'])
    assert.equal(await outputOf('dict.Get', { dict: whole, path: 'a.b[0]' }), 1)
  })

  test('refuses two values for one path, and results that are too large', async () => {
    await assert.rejects(of({ a: { b: 1 }, 'a.b': 2 }), /duplicate_key: Two values would have the path "a\.b"/)
    await assert.rejects(of([1]), /type_mismatch/)
    let twice: object = { x: 1, y: 1 }
    for (let level = 0; level < 30; level++) twice = { x: twice, y: twice }
    await assert.rejects(of(twice), /too_large/)
  })
})

describe('dict.Unflatten', () => {
  const of = (dict: unknown) => outputOf('dict.Unflatten', { dict })

  test('builds an object from paths in any order', async () => {
    assert.deepEqual(await of(flat), whole)
    assert.deepEqual(await of({ 'a[1]': 2, 'a[0]': 1, 'b.0': 'key' }), { a: [1, 2], b: { 0: 'key' } })
    assert.deepEqual(await of({}), {})
    const made = (await of({ '__proto__.polluted': true })) as object
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    assert.deepEqual(Object.keys(made), ['__proto__'])
  })

  const BAD: [Record<string, unknown>, RegExp][] = [
    [{ 'a[1]': 1 }, /bad_path: The path "a\[1\]" does not fit the other paths/],
    [{ 'a[0]': 1, 'a.b': 1 }, /does not fit/],
    [{ a: 1, 'a.b': 2 }, /bad_path: The path "a\.b" goes through another value/],
    [{ 'a.b': 2, a: 1 }, /Two values would lie at the path "a"/],
    [{ '[0]': 1 }, /must begin with a key/],
    [{ [`a[${'9'.repeat(400)}]`]: 1 }, /does not fit/],
    [{ [Array(70).fill('k').join('.')]: 1 }, /too_deep/],
  ]
  for (const [dict, message] of BAD) {
    test(`refuses ${JSON.stringify(dict).slice(0, 40)}`, () =>
      assert.rejects(of(dict), (error: Error) => message.test(error.message) && error.message.length < 1000))
  }

  test('is the inverse of flattening', async () => {
    const key = fc.stringMatching(/^[a-zA-Z_ ]{1,5}$/)
    const value = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.jsonValue({ maxDepth: 0 }), tie('list'), tie('dict')),
      list: fc.array(tie('value'), { maxLength: 3 }),
      dict: fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    }))
    const property = fc.asyncProperty(value.dict, async (dict) => {
      assert.deepEqual(await of(await outputOf('dict.Flatten', { dict })), dict)
    })
    await fc.assert(property, { numRuns: scaled(100) })
  })
})

test('dict.Remove', async () => {
  const of = (path: string, dict: unknown = whole) => outputOf('dict.Remove', { dict, path })
  const { f: _, ...withoutF } = whole
  assert.deepEqual(await of('f'), withoutF)
  assert.deepEqual(await of('a.b[1].c'), { ...whole, a: { b: [1, {}] } })
  assert.deepEqual(await of('a.b[0]'), { ...whole, a: { b: [{ c: null }] } })
  assert.deepEqual(await of('a.b.-1'), { ...whole, a: { b: [1] } })
  for (const path of ['x', 'a.x.y', 'a.b[7]', 'a.b.x', 'f.length', 'constructor'])
    assert.deepEqual(await of(path), whole)
  assert.deepEqual(await of('x', {}), {})
  await assert.rejects(of(''), /bad_path: The path is empty/)
})

test('dict.MapValues', async () => {
  const of = (dict: unknown, formula: string) => outputOf('dict.MapValues', { dict, formula })
  assert.deepEqual(await of({ a: 1, b: 2 }, 'x * 10 + i'), { a: 10, b: 21 })
  assert.deepEqual(await of({}, 'x'), {})
  await assert.rejects(of({ a: 'x' }, 'x'), /type_mismatch/)
  await assert.rejects(of({ a: 1 }, 'z'), /unknown_name/)
})

test('compare.Type', async () => {
  const values = [null, true, 1, 1.5, '', [], {}, { type: 'image' }]
  const types = await Promise.all(values.map((value) => outputOf('compare.Type', { value })))
  assert.deepEqual(types, ['null', 'bool', 'int', 'float', 'str', 'list', 'dict', 'image'])
  assert.equal(await outputOf('compare.Type'), 'null')
  await assert.rejects(outputOf('compare.Type', { value: Number.NaN }))
})

test('logic.Choose', async () => {
  const of = (condition: unknown) => outputOf('logic.Choose', { condition, if_true: 'yes', if_false: ['no'] })
  assert.equal(await of(true), 'yes')
  assert.deepEqual(await of(false), ['no'])
  assert.equal(await outputOf('logic.Choose', { condition: true }), null)
  await assert.rejects(of('x'), /type_mismatch/)
})

test('math.FormatNumber', async () => {
  const of = (value: unknown, data = {}) => outputOf('math.FormatNumber', { value, ...data })
  assert.equal(await of(1_234_567.8915), '1,234,567.892')
  assert.equal(await of(1_234_567.8, { locale: 'de', min_digits: 2 }), '1.234.567,80')
  assert.equal(await of(1234.5, { grouping: false, max_digits: 0 }), '1235')
  assert.equal(await of(0.256, { notation: 'percent', max_digits: 0 }), '26%')
  assert.equal(await of(0, { min_digits: 5, max_digits: 2 }), '0.00000')
  assert.equal(await of(12_345, { notation: 'compact', max_digits: 1 }), '12.3K')
  await assert.rejects(of('1'), /type_mismatch/)
  await assert.rejects(of(1, { locale: 'no such' }), /unknown_locale/)
})
