// text.Case as identifiers, text.Slug, text.Encode, text.Decode, text.WordFrequency
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../../helpers/scale.ts'
import { fire, outputOf } from '../fire.ts'

test("'text.Case' writes identifiers of all kinds", async () => {
  const of = (to: string, text = 'someHTTPName and_more 2') => outputOf('text.Case', { text, to })
  assert.equal(await of('pascal'), 'SomeHttpNameAndMore2')
  assert.equal(await of('constant'), 'SOME_HTTP_NAME_AND_MORE_2')
  assert.equal(await of('pascal', ''), '')
})

describe('text.Slug', () => {
  const of = (text: string, more = {}) => outputOf('text.Slug', { text, ...more })

  test('makes names from titles', async () => {
    assert.equal(await outputOf('text.Slug', { text: ' Crème Brûlée — à la “Straße”! ' }), 'creme-brulee-a-la-strasse')
    assert.equal(await of('Smørrebrød, Łódź & æther'), 'smorrebrod-lodz-aether')
    assert.equal(await of('Москва и 東京'), 'москва-и-東京')
    assert.equal(await of('someHTTPName'), 'somehttpname')
    assert.equal(await of(''), '')
    assert.equal(await of('?!'), '')
    assert.equal(await of('?!', { default: 'Untitled 1' }), 'Untitled 1')
    assert.equal(await of('a', { default: 'Untitled 1' }), 'a')
    await assert.rejects(of('?!', { default: 5 }), /type_mismatch/)
    await assert.rejects(of('a', { length: 0 }), /must be at least 1/)
  })

  test('cuts between words if possible', async () => {
    assert.equal(await of('one two three', { separator: '_', length: 8 }), 'one_two')
    assert.equal(await of('abcdefghij k', { length: 4 }), 'abcd')
    assert.equal(((await of('x'.repeat(1_000_000), { length: 1000 })) as string).length, 1000)
  })
})

describe('text.Encode, text.Decode', () => {
  const encode = (text: string, as: string) => outputOf('text.Encode', { text, as })
  const decode = (text: string, from: string) => outputOf('text.Decode', { text, from })

  test('write and read', async () => {
    const CASES: [string, string, string][] = [
      ['base64', 'Hi>?é', 'SGk+P8Op'],
      ['base64', 'a', 'YQ=='],
      ['base64url', 'a>?', 'YT4_'],
      ['base64url', 'a', 'YQ'],
      ['hex', 'é', 'c3a9'],
      ['url', 'a b/é&👍', 'a%20b%2F%C3%A9%26%F0%9F%91%8D'],
    ]
    for (const [as, text, encoded] of CASES) {
      assert.equal(await encode(text, as), encoded)
      assert.equal(await decode(encoded, as), text)
      assert.equal(await encode('', as), '')
      assert.equal(await decode('', as), '')
    }
    assert.equal(await outputOf('text.Decode', { text: ' Y Q\n', from: 'base64' }), 'a')
    assert.equal(await decode('C3A9', 'hex'), 'é')
  })

  test('refuse invalid encodings, and bytes that are not text', async () => {
    const CASES: [string, string, RegExp][] = [
      ['base64', 'a_b-', /bad_encoding: .* a character outside of its alphabet/],
      ['base64url', 'a+b/', /outside of its alphabet/],
      ['base64', 'YQ=', /cut off/],
      ['base64', 'YWJjZ', /cut off/],
      ['base64', 'Y=Q=', /outside of its alphabet/],
      ['hex', 'abc', /cut off/],
      ['hex', 'xy', /outside of its alphabet/],
      ['hex', 'ff', /not UTF-8/],
      ['url', '%zz', /percent sign/],
      ['url', '%ff', /percent sign/],
    ]
    for (const [from, text, message] of CASES) await assert.rejects(decode(text, from), message, `${from} ${text}`)
    await assert.rejects(encode('a', 'morse'), /type_mismatch/)
  })

  test('give back every text', async () => {
    const property = fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
      const whole = text.toWellFormed()
      for (const as of ['base64', 'base64url', 'hex', 'url'])
        assert.equal(await decode((await encode(text, as)) as string, as), whole)
    })
    await fc.assert(property, { numRuns: scaled(200) })
  })

  test('refuse results that would be too long before they are made', async () => {
    const text = 'x'.repeat(9_000_000)
    for (const as of ['base64', 'base64url', 'hex']) await assert.rejects(encode(text, as), /too_large/)
    await assert.rejects(encode('é'.repeat(2_000_000), 'url'), /too_large/)
    assert.equal(((await encode(text, 'url')) as string).length, 9_000_000)
  })
})

test("'text.WordFrequency' counts words", async () => {
  assert.deepEqual(await fire('text.WordFrequency', { text: 'The cat and the dog. THE END, and?', most: 2 }), {
    output: [
      { word: 'the', count: 3 },
      { word: 'and', count: 2 },
    ],
    different: 5,
    total: 8,
  })
  const { output } = await fire('text.WordFrequency', { text: 'b A a b constructor', lower: false })
  assert.deepEqual(output, [
    { word: 'b', count: 2 },
    { word: 'A', count: 1 },
    { word: 'a', count: 1 },
    { word: 'constructor', count: 1 },
  ])
  assert.deepEqual(await fire('text.WordFrequency', { text: '' }), { output: [], different: 0, total: 0 })
  await assert.rejects(fire('text.WordFrequency', { text: 'a', most: -1 }), /must be at least 0/)
})
