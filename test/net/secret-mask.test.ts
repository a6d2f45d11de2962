// Secrets in what is told of a request: none of their forms is left, whatever they are made of.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  createResponseMask,
  createSecretSearch,
  createStrictMask,
  createStrictMaskSteps,
} from '../../src/net/secret-mask.ts'
import { takesLess } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'

const anything = fc.string({
  unit: fc.constantFrom(...'aZ09/+ "\\$.*[](){}|^-&?=\n\té😀'),
  minLength: 8,
  maxLength: 20,
})
const around = fc.string({ unit: fc.constantFrom(...'ab:é/'), maxLength: 4 })

describe('a secret', () => {
  test('is found and masked as it is, as JSON, in URLs and in base64', () => {
    fc.assert(
      fc.property(anything, around, around, (secret, before, after) => {
        const { text, bytes } = createResponseMask([secret])
        const whole = before + secret + after
        assert.equal(text(whole), `${before}***${after}`)
        assert.equal(createStrictMask([secret])(whole), `${before}***${after}`)
        assert.equal(Buffer.from(bytes(Buffer.from(whole))).toString(), `${before}***${after}`)
        const written = [JSON.stringify(whole), encodeURIComponent(whole), new URLSearchParams({ whole }).toString()]
        const packed = (['base64', 'base64url'] as const).map((alphabet) => Buffer.from(whole).toString(alphabet))
        for (const form of [...written, ...packed]) {
          assert.ok(createSecretSearch([secret])(form), form)
          assert.match(text(form), /\*\*\*/)
        }
        // Only what bytes beside it decide as well may be left of it.
        for (const form of packed) assert.ok(text(form).length <= (before.length + after.length) * 4 + 3 + 8)
      }),
      { numRuns: scaled(300) },
    )
  })

  test('is masked as JSON has it that writes characters by their numbers', () => {
    const { text } = createResponseMask(['a+b/c=="őłé"'])
    assert.equal(text('{"a":"a\\u002Bb/c==\\u0022\\u0151\\u0142\\u00E9\\u0022"}'), '{"a":"***"}')
    assert.equal(text('{"a":"a+b/c==\\"\\u0151\\u0142\\u00E9\\""}'), '{"a":"***"}')
  })

  test('that is not there changes nothing', () => {
    const { text, number, bytes } = createResponseMask(['not in there', '12345678'])
    assert.deepEqual([text('any text'), number(1234), number(0)], ['any text', 1234, 0])
    assert.deepEqual(Buffer.from(bytes(Buffer.from([0, 255, 128]))), Buffer.from([0, 255, 128]))
    assert.equal(createSecretSearch(['not in there', ''])('any text'), false)
    assert.equal(createResponseMask(['short']).text('short'), 'short')
    assert.equal(createStrictMask(['zq', ''])('a zq'), 'a ***')
  })

  test('is masked without white space around it, with other line ends, line by line and as URLs send it', () => {
    const key = '-----BEGIN KEY-----\r\nfirst line of the key\r\nsecond line of the key\r\n-----END KEY-----\r\n'
    for (const mask of [
      createStrictMask([key, ' word-in-white\n']),
      createResponseMask([key, ' word-in-white\n']).text,
    ]) {
      assert.equal(mask(`(${key.trim()})`), '(***)')
      assert.equal(mask(`(${key.trim().replaceAll('\r\n', '\n')})`), '(***)')
      assert.equal(mask('-----BEGIN KEY----- 1: first line of the key'), '-----BEGIN KEY----- 1: ***')
      assert.equal(mask('(word-in-white)'), '(***)')
    }
    const { text } = createResponseMask([
      "it's a/secret",
      'HTTPS://Hooks.Example/services/T0/xyz 1?key=of%20mine and more',
    ])
    assert.equal(text('?a=it%27s%20a%2Fsecret'), '?a=***')
    assert.equal(text('https://hooks.example/services/T0/xyz%201?key=of%20mine%20and%20more'), '***')
    assert.equal(text('GET /services/T0/xyz%201 HTTP'), 'GET *** HTTP')
    assert.equal(createStrictMask([' a\n'])('a b'), 'a b', 'what is short is masked as it is alone')
  })

  test('of a megabyte, in whichever parts, is masked and looked for at once', async () => {
    const line = (at: number) => `${at}`.padStart(63, 'Ab3+/xyz')
    const lines = (at: number) => Array.from({ length: 1_000 }, (_, of) => line(1_000 * at + of)).join('\n')
    const secrets = [...Array.from({ length: 14 }, (_, at) => lines(at)), '"+\\/'.repeat(16_384)]
    await takesLess(300, () => {
      const [strict, answer, holdsSecret] = [
        createStrictMask(secrets),
        createResponseMask(secrets),
        createSecretSearch(secrets),
      ]
      for (const secret of secrets) {
        assert.equal(strict(`a ${secret} z`), 'a *** z')
        assert.equal(answer.text(`a ${secret} z`), 'a *** z')
      }
      for (let header = 0; header < 100; header++) assert.equal(holdsSecret('example.com'), false)
      assert.equal(strict('example.com'), 'example.com')
    })
  })

  test('that is short is masked among a thousand of them', () => {
    const secrets = Array.from({ length: 1_000 }, (_, at) => `k"${at.toString(36).padStart(3, '0')}+`)
    const mask = createStrictMask(secrets)
    for (const secret of secrets) assert.equal(mask(`(${secret}) (${encodeURIComponent(secret)})`), '(***) (***)')
  })

  test('is made ready in a step of its own, by whoever holds a thousand of them', () => {
    const secrets = Array.from({ length: 1_000 }, (_, at) => `${at} "\\/&é<+'😀 %`.repeat(10))
    const steps = createStrictMaskSteps(secrets)
    let count = 0
    let step = steps.next()
    for (; !step.done; step = steps.next()) count++
    assert.equal(step.value(`a ${secrets[500]} z`), 'a *** z')
    assert.ok(count >= secrets.length, `${count} steps`)
  })

  test('is masked in a million short texts within a second or two', async () => {
    const { text } = createResponseMask(['k/&"ey-12345 and more', 'another one, öf mine', '1234567890'])
    await takesLess(2500, () => {
      for (let at = 0; at < 1_000_000; at++) text(`some text ${at}`)
    })
  })
})
