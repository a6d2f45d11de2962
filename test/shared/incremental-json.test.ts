// JSON that is written in steps has the same text and hash as JSON that is written at once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { canonicalHashSteps, sha256, textHashSteps } from '../../src/shared/hashes.ts'
import {
  cachedJsonText,
  cacheJsonText,
  cacheJsonTextSteps,
  LONG_TEXT_LENGTH,
  stringifyParts,
  stringifySteps,
  stringifyWithBase64Steps,
} from '../../src/shared/incremental-json.ts'
import { canonicalJson, stringifyWithBase64 } from '../../src/shared/json.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { isSmallValue } from '../../src/shared/value-size.ts'
import { scaled } from '../helpers/scale.ts'

const seed = Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', '', '0', '17', 'a"b', 'ä€😀', '\ud800'))
const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(
      null,
      true,
      -0.5,
      1e300,
      'ä€😀',
      '\ud83d',
      [],
      {},
      Buffer.from([1, 2]),
      Buffer.alloc(9_000, 7),
    ),
    fc.string(),
    fc.integer({ min: 1, max: 400_000 }).map((length) => 'x'.repeat(length)),
    fc.array(tie('any'), { maxLength: 20 }),
    fc.dictionary(key, tie('any'), { maxKeys: 20 }),
    fc
      .tuple(fc.constantFrom<unknown>(null, [], { b: 1, a: 2 }, { a: [{ b: 1 }] }), fc.integer({ min: 0, max: 9_000 }))
      .map(([item, count]) => Array.from({ length: count }, () => item)),
    fc
      .tuple(fc.constantFrom<unknown>(null, undefined, { a: 1 }), fc.integer({ min: 0, max: 9_000 }))
      .map(([item, count]) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, item]))),
  ),
}))

/** The parts of a text, of at least a thousand characters each except the last. */
function partsOf(value: unknown): string[] {
  const next = stringifyParts(value, 1_000)
  const parts: string[] = []
  for (let part = runToCompletion(next()); part !== ''; part = runToCompletion(next())) parts.push(part)
  assert.ok(parts.slice(0, -1).every(({ length }) => length >= 1_000))
  return parts
}

describe(`JSON in steps (seed ${seed})`, () => {
  test('equals JSON that is written at once', () => {
    const property = fc.property(any, (value) => {
      const [text, whole] = [runToCompletion(stringifySteps(value)), JSON.stringify(value)]
      assert.ok(text === whole, `${text.slice(0, 200)}\n${whole.slice(0, 200)}`)
      assert.ok(partsOf(value).join('') === whole)
      assert.equal(runToCompletion(canonicalHashSteps(value)), sha256(canonicalJson(value)))
      assert.equal(runToCompletion(textHashSteps(whole)), sha256(whole))
    })
    fc.assert(property, { seed, numRuns: scaled(30) })
  })

  test('sorts very many keys as it sorts few, and keeps characters whole', () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${(at * 7_919) % 50_000}`, at]))
    assert.equal(runToCompletion(canonicalHashSteps(many)), sha256(canonicalJson(many)))
    for (const shift of [0, 1]) {
      const text = 'x'.repeat(shift) + '😀'.repeat(300_000)
      assert.equal(runToCompletion(textHashSteps(text)), sha256(text))
    }
  })

  test('takes a long text apart, also where each of its characters is written as six', () => {
    const text = '\u001f'.repeat(3_000_000)
    const steps = canonicalHashSteps({ text })
    let taken = 0
    let last = steps.next()
    for (; !last.done; last = steps.next()) taken++
    assert.equal(last.value, sha256(canonicalJson({ text })))
    assert.ok(taken >= text.length / LONG_TEXT_LENGTH, `${taken} steps`)
  })

  test('is written as JSON.stringify does even if the text with base64 bytes is cached', () => {
    const value = { list: Array.from({ length: 9_000 }, () => 1), bytes: new Uint8Array([1, 2]) }
    runToCompletion(cacheJsonTextSteps(value))
    assert.equal(cachedJsonText(value), stringifyWithBase64(value))
    for (const whole of [value, { in: value }]) {
      assert.equal(runToCompletion(stringifySteps(whole)), JSON.stringify(whole))
      assert.equal(runToCompletion(stringifyWithBase64Steps(whole)), stringifyWithBase64(whole))
    }
  })

  test('is taken from the cache', () => {
    const list = Array.from({ length: 9_000 }, () => 1)
    cacheJsonText(list, '"kept"')
    assert.equal(cachedJsonText(list), '"kept"')
    assert.equal(runToCompletion(stringifySteps([list])), '["kept"]')
    assert.equal(runToCompletion(stringifyWithBase64Steps([list])), '["kept"]')
  })

  test('takes apart only large values', () => {
    assert.ok(isSmallValue({ a: [1, 2, 'x'.repeat(10_000)] }))
    assert.ok(!isSmallValue('x'.repeat(1_000_000)))
    assert.ok(!isSmallValue(Array.from({ length: 5_000 }, () => null)))
  })
})
