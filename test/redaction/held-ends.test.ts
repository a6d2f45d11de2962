// The end of a text that many secrets with the same prefix hold back for as long as the longest of them: few forms are
// compared at each position, and all of it is done in steps with the same result.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SecretForm } from '../../src/redaction/matching/secret-form.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { RedactedItems } from '../../src/redaction/streams/redacted-items.ts'
import { RedactedStream } from '../../src/redaction/streams/redacted-stream.ts'
import type { Steps } from '../../src/shared/time-slices.ts'
import { scaled } from '../helpers/scale.ts'

const OWNER = 'owner'
const SHORT_LENGTH = 104
const COUNT = 50
const LONG_LENGTH = 20_000

function ownOf(secrets: readonly string[]): Redactor {
  const known = new Redactor()
  for (const secret of secrets) known.add(secret, OWNER)
  return known.forOwner(OWNER)
}

const own = ownOf([
  ...Array.from({ length: COUNT }, (_, at) => `${'a'.repeat(SHORT_LENGTH - 4)}${at + 1_000}`),
  `${'a'.repeat(LONG_LENGTH)}b`,
])
/** Is held back to its end, and begins no secret. */
const HELD = `${'a'.repeat(LONG_LENGTH - 100)}Z`

function countSteps<T>(steps: Steps<T>): { count: number; value: T } {
  for (let count = 0; ; count++) {
    const step = steps.next()
    if (step.done) return { count, value: step.value }
  }
}

function pushed<T extends { push(text: string): unknown }>(stream: T, text: string): T {
  for (let at = 0; at < text.length; at += 1_000) stream.push(text.slice(at, at + 1_000))
  return stream
}

const streams = {
  'a stream': () => pushed(new RedactedStream(own), HELD),
  'consecutive texts': () => pushed(new RedactedItems(own), HELD),
}

for (const [name, open] of Object.entries(streams))
  describe(`the end of ${name} that is held back`, () => {
    test('compares few forms at each position', (t) => {
      const stream = open()
      const compared = t.mock.method(SecretForm.prototype, 'beginsWith').mock
      assert.equal([stream.cut()].flat().join(''), HELD)
      assert.ok(compared.callCount() < 4 * HELD.length, `${compared.callCount()} comparisons`)
    })

    test('is done in steps', () => {
      const { count, value } = countSteps<string | string[]>(open().cutSteps())
      assert.equal([value].flat().join(''), HELD)
      assert.ok(count >= 30, `${count} steps`)
    })
  })

test('the end of a text of a model that is held back is done in steps', () => {
  const replacer = own.createEagerReplacer()
  const shown = replacer.push(HELD)
  assert.ok(replacer.waiting > LONG_LENGTH / 2)
  const { count, value } = countSteps(replacer.endSteps())
  assert.equal(shown + value, HELD)
  assert.ok(count >= 30, `${count} steps`)
})

test('texts end in steps as they end at once, with dozens of nested secrets', () => {
  const word = fc.tuple(fc.integer({ min: 8, max: 160 }), fc.constantFrom('', 'b', 'bb', '"é'))
  const words = fc.uniqueArray(
    word.map(([length, end]) => 'a'.repeat(length) + end),
    { minLength: 30, maxLength: 80 },
  )
  const part = fc.tuple(fc.nat(180), fc.constantFrom('b', 'bb', ' ', 'c', '"é', ''))
  const text = fc.array(part, { maxLength: 4 }).map((parts) => parts.map(([n, end]) => 'a'.repeat(n) + end).join(''))
  fc.assert(
    fc.property(words, text, fc.integer({ min: 1, max: 60 }), (secrets, whole, size) => {
      const redactor = ownOf(secrets)
      const pieces = whole.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
      for (const open of [() => new RedactedStream(redactor), () => new RedactedItems(redactor)]) {
        const [one, other] = [open(), open()]
        for (const piece of pieces) assert.deepEqual(one.push(piece), other.push(piece))
        assert.deepEqual(countSteps<string | string[]>(one.cutSteps()).value, other.cut())
        assert.equal([one.cut()].flat().join(''), '')
      }
      const [one, other] = [redactor.createEagerReplacer(), redactor.createEagerReplacer()]
      for (const piece of pieces) assert.equal(one.push(piece), other.push(piece))
      assert.equal(countSteps(one.endSteps()).value, other.end())
    }),
    { numRuns: scaled(100) },
  )
})
