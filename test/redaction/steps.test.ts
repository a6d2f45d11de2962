// Redaction in steps gives the same result as redaction at once, for values and texts of any size.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { REDACTION_CHUNK_LENGTH, REDACTION_STEP_LENGTH } from '../../src/redaction/long-text-redaction.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { scaled } from '../helpers/scale.ts'

const redactor = new Redactor(['plain-secret', 'pa/ss "wörd"\n+&', '1234567890'])

const PHRASES = [
  'plain-secret',
  'pa/ss "wörd"\n+&',
  'Authorization: Bearer abcDEF0123456789abcdef',
  'cookie: a=b c; d\r\n',
  'Cookie:\n x',
  '"password": "hunter2 hunter2"',
  'password\n: hunter2',
  'api_key =\tabcdef',
  'token basic dXNlcjpwYXNz',
  'bearer  abcDEF0123456789abcdef',
  'https://user:word@a.example/?token=x&y',
  'ntk_0123456789abcdef0123',
  'plain words 日本 ',
  'x'.repeat(20_000),
  '{"a":1,"token":"abc","b":[2]},'.repeat(800),
  'https://us,er:wo,rd@a.example/',
  '{"a":1,"cookie":"abc","b":"2,3"},'.repeat(900),
  'Cookie: a,b, c',
  'cGFzc3dvcmQ='.repeat(7_000),
  'lorem ipsum '.repeat(3_000),
  ': = \n "',
]
const phrase = fc.constantFrom(...PHRASES)
const long = fc.array(fc.tuple(phrase, fc.constantFrom('', ' ', '\n', '"', ',')), { minLength: 1, maxLength: 60 })
const texts = long.map((parts) => parts.flat().join(''))

const OPTIONS = [{}, { names: true }, { credentials: false }]

test('a text gives the same result in steps', () => {
  fc.assert(
    fc.property(texts, fc.constantFrom(...OPTIONS), (text, options) => {
      assert.equal(runToCompletion(redactor.textSteps(text, options)), redactor.text(text, options))
    }),
    { numRuns: scaled(60) },
  )
})

test('a cookie is replaced whole if its name is just before the searched part of a long text', () => {
  // The position of the cut moves over the name.
  for (let before = 0; before < 40; before++) {
    const text = `${'cGFzc3dvcmQ='.repeat(5_400)}${'='.repeat(before)}Cookie:\n x ${'lorem ipsum '.repeat(3_000)}plain`
    const options = { names: true }
    assert.equal(runToCompletion(redactor.textSteps(text, options)), redactor.text(text, options), `${before}`)
  }
})

test('a long text of one line is split also for named credentials, with or without white space', () => {
  const lines = ['x', 'eyJh', 'lorem ipsum ', '{"a":1,"token":"abc"},', '{"a":1,"cookie":"abc"},']
  for (const line of lines) {
    const text = line.repeat(2_000_000 / line.length)
    const steps = redactor.textSteps(text, { names: true })
    let count = 0
    while (!steps.next().done) count++
    // The search for known secrets takes as many steps again.
    assert.ok(count > (1.8 * text.length) / REDACTION_CHUNK_LENGTH, `${line}: ${count} steps`)
  }
})

const short = fc.constantFrom(
  'a',
  'name',
  'plain-secret',
  'password',
  'value',
  'Cookie',
  'cookie',
  'key',
  '__proto__',
  'b c',
)
const scalar = fc.oneof(short, fc.integer(), fc.constant(null), fc.constant(1234567890), fc.constant(undefined))
const small = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, fc.array(tie('value')), fc.dictionary(short, tie('value'))),
})).value

/** Containers that are large enough to be split, with small and large containers in them. */
const large = fc
  .tuple(fc.array(small, { minLength: 1 }), fc.integer({ min: 1, max: 3 }), fc.boolean())
  .map(([parts, levels, record]) => {
    let value: unknown = parts
    for (let level = 0; level < levels; level++) {
      const members = Array.from({ length: 3_000 }, (_, at) => (at % 999 === 7 ? value : parts[at % parts.length]))
      value = record
        ? Object.fromEntries(members.map((member, at) => [at % 500 === 3 ? `plain-secret${at}` : `k${at}`, member]))
        : members
    }
    return value
  })

test('a value gives the same result in steps, and stays the same object if nothing is replaced', () => {
  fc.assert(
    fc.property(large, fc.constantFrom(...OPTIONS), (value, options) => {
      const atOnce = redactor.value(value, options)
      const inSteps = runToCompletion(redactor.valueSteps(value, options))
      assert.deepEqual(inSteps, atOnce)
      assert.equal(inSteps === value, atOnce === value)
    }),
    { numRuns: scaled(30) },
  )
})

test('a large cyclic value is cut at the cycle', () => {
  const list: unknown[] = Array.from({ length: 10_000 }, (_, at) => at)
  list.push(list)
  assert.equal(runToCompletion(redactor.valueSteps(list)).at(-1), '[redacted]')
})

test('one step processes few characters of text, anywhere in a value', () => {
  const text = 'lorem ipsum '.repeat(10_000)
  const part = 'lorem ipsum '.repeat(100)
  for (const value of [text, { text }, [[text]], { a: { b: [text] } }, Array.from({ length: 100 }, () => ({ part }))]) {
    let steps = 0
    for (const _ of redactor.valueSteps(value)) steps++
    assert.ok(steps >= 120_000 / REDACTION_STEP_LENGTH, `${steps} steps for ${JSON.stringify(value).slice(0, 40)}`)
  }
})
