// The maximum number of secrets of an owner, all with the same prefix: the cost of a text that repeats the prefix, and
// of adding secrets one by one between other work.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Redactor } from '../../src/redaction/redactor.ts'
import { takesLess } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'

const OWNER = 'owner'
const MANY: Readonly<Record<string, (at: number) => string>> = {
  long: (at) => `${'a'.repeat(1_060)}${at + 100_000}`,
  'one within the other': (at) => 'a'.repeat(40 + at),
  'that end otherwise': (at) => `${'a'.repeat(40 + at)}b`,
  short: (at) => `${'a'.repeat(90)}${at + 100_000}`,
}
const TEXTS = ['a'.repeat(20_000), `${'a'.repeat(20_000)}c`, `${'a'.repeat(1_100)}c`.repeat(18)]

function knownOf(secrets: readonly string[]): Redactor {
  const known = new Redactor()
  for (const secret of secrets) known.add(secret, OWNER)
  return known.forOwner(OWNER)
}

function inPieces(own: Redactor, text: string, size: number): string {
  const pieces = own.createStreamReplacer()
  let told = ''
  for (let at = 0; at < text.length; at += size) told += pieces.push(text.slice(at, at + size), 'more')
  return told + pieces.push('', 'none')
}

for (const [how, secretOf] of Object.entries(MANY)) {
  describe(`a thousand secrets with the same prefix, ${how}`, () => {
    const secrets = Array.from({ length: 980 }, (_, at) => secretOf(at))
    const own = knownOf(secrets)

    test('are found', () => {
      for (const at of [0, 500, 979]) {
        const text = `x ${secrets[at]} y`
        assert.equal(own.text(text), 'x [redacted] y')
        for (const size of [7, 100, 1_000]) assert.equal(inPieces(own, text, size), 'x [redacted] y')
        const tail = own.createEagerReplacer()
        assert.equal(tail.push(text.slice(0, 1_000)) + tail.push(text.slice(1_000)) + tail.end(), 'x [redacted] y')
      }
    })

    test('are searched quickly if their prefix is at each position', async () => {
      for (const text of TEXTS) {
        await takesLess(150, () => own.text(text))
        await takesLess(150, () => own.createStreamReplacer().push(text, 'more'))
        await takesLess(150, () => inPieces(own, text, 1_000))
        await takesLess(150, () => own.createEagerReplacer().push(text))
      }
    })
  })
}

test('one more of many secrets with many forms hardly slows the next search', async () => {
  const lines = (at: number) =>
    Array.from({ length: 60 }, (_, line) => `"é${at}-${line}abcdefghijklmn`.slice(0, 17)).join('\n')
  const known = new Redactor()
  for (let at = 0; at < 1_000; at++) known.add(lines(at), OWNER)
  const own = known.forOwner(OWNER)
  await takesLess(60, () => {
    assert.equal(own.text(`x ${lines(7)} y`), 'x [redacted] y')
    assert.equal(inPieces(own, `x ${lines(8)} y`, 50), 'x [redacted] y')
  })
  let at = 1_000
  await takesLess(60, () => {
    known.add(lines(++at), OWNER)
    assert.equal(inPieces(own, `x ${lines(at)} y`, 50), 'x [redacted] y')
    known.remove(lines(at), OWNER)
    assert.equal(inPieces(own, `x ${lines(at).slice(0, 20)}`, 50), `x ${lines(at).slice(0, 20)}`)
  })
})

test('texts in pieces give the result of the whole while dozens of nested secrets are added and removed', () => {
  const word = fc.tuple(fc.integer({ min: 8, max: 130 }), fc.constantFrom('', 'b', 'bb', '"é'))
  const words = fc.uniqueArray(
    word.map(([length, end]) => 'a'.repeat(length) + end),
    { minLength: 40, maxLength: 120 },
  )
  const part = fc.tuple(fc.nat(140), fc.constantFrom('b', 'bb', ' ', 'c', '"é'))
  const text = fc.array(part, { maxLength: 6 }).map((parts) => parts.map(([n, end]) => 'a'.repeat(n) + end).join(''))
  fc.assert(
    fc.property(words, text, fc.integer({ min: 1, max: 60 }), fc.nat(39), (secrets, whole, size, gone) => {
      const known = new Redactor()
      for (const secret of secrets) known.add(secret, OWNER)
      const own = known.forOwner(OWNER)
      assert.equal(inPieces(own, whole, size), own.text(whole))
      for (const secret of secrets.slice(0, gone)) known.remove(secret, OWNER)
      assert.equal(inPieces(own, whole, size), knownOf(secrets.slice(gone)).text(whole))
      assert.equal(own.text(whole), knownOf(secrets.slice(gone)).text(whole))
    }),
    { numRuns: scaled(100) },
  )
})

/** Has characters that each JSON encoding escapes differently. */
const VARIED = '"\n/é&'

for (const [count, plain, length] of [
  [400, 1_020, 1_045],
  [40, 1_100, 8_100],
  [6, 1_100, 65_000],
  [12, 60_000, 65_000],
] as const) {
  test(`${count} secrets of ${length} characters with the same prefix are not encoded for the first text with their first ${plain}`, async () => {
    const varied = VARIED.repeat((length - plain) / VARIED.length)
    const secretOf = (at: number) => `${'a'.repeat(plain)}${varied}${at + 1_000}é\n`
    const secrets = Array.from({ length: count }, (_, at) => secretOf(at))
    // Only the first search counts, and there are several rounds.
    const all = Array.from({ length: 4 }, () => knownOf(secrets))
    await takesLess(150, () => {
      const own = all.pop()!
      for (const text of ['a'.repeat(plain), `x ${secretOf(5)} y`]) {
        assert.ok(inPieces(own, text, text.length).length <= text.length)
        assert.ok(own.text(text).length <= text.length)
      }
    })
  })
}

test('with too many long secrets of the same prefix all possible text is hidden, and nothing if the prefix is shorter', () => {
  const secrets = Array.from({ length: 12 }, (_, at) => `${'a'.repeat(5_000)}${VARIED.repeat(10_000)}${at}`)
  const own = knownOf(secrets)
  assert.equal(own.text(`x ${secrets[7]}`), 'x [redacted]')
  assert.equal(own.text(`x ${JSON.stringify(secrets[7]).slice(1, -1)}`), 'x [redacted]')
  assert.equal(own.text(`x ${'a'.repeat(4_090)} y`), `x ${'a'.repeat(4_090)} y`)
  assert.equal(own.text(`x ${'a'.repeat(4_100)} y`), 'x [redacted]')
})
