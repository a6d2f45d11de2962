// Streamed texts: no part of a secret is emitted, for any split, and the emitted text equals the stored text.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SecretIndex } from '../../../src/redaction/matching/secret-index.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { RedactedStream } from '../../../src/redaction/streams/redacted-stream.ts'
import { SecretReplacer } from '../../../src/redaction/streams/secret-replacer.ts'
import { scaled } from '../../helpers/scale.ts'

const OWN = 'planted-key-4711-of-a-caller'
const SECRETS = [OWN, 'planted-key', 'of mine, 99', 'https://user:pass@example.com/hook/abcdef', 'aaaaaaaa']
const CREDENTIALS = [
  'Authorization: Bearer abcdef0123456789',
  '{"authorization": "Basic dXNlcjpwYXNz"}',
  'ntk_0123456789abcdef0123',
  'nta_0123456789abcdefXYZ.abc-d',
]
const redactor = () => {
  const all = new Redactor()
  for (const secret of SECRETS) all.add(secret, 'me')
  all.add('of-a-stranger-77', 'other')
  return all.forOwner('me')
}

function told(pieces: readonly string[], all = redactor()): string[] {
  const stream = new RedactedStream(all)
  return [...pieces.map((piece) => stream.push(piece)), stream.end()]
}

const word = fc.oneof(
  fc.constantFrom(...SECRETS, ...CREDENTIALS, ...SECRETS.map((secret) => secret.slice(0, 9))),
  fc.constantFrom(encodeURIComponent(SECRETS[3]!), Buffer.from(OWN).toString('base64'), JSON.stringify(SECRETS[3])),
  fc.constantFrom('the', 'basic idea', 'a', 'bear', 'n', 'planted', 'of-a-stranger-77', '👋', 'pro', '\n', 'naïve'),
  fc.string({ maxLength: 6 }),
)
const letters = fc.constantFrom(
  ...[
    'authorization',
    'Authorisation',
    'proxy-',
    'basic',
    'Bearer',
    'token',
    'ntk_',
    'nda_',
    '[redacted]',
    'none',
    'denied',
  ],
  ...[
    ' ',
    '  ',
    '\n',
    '\\n',
    '\\',
    '\\\\"',
    '"',
    ':',
    '=',
    '==',
    '+',
    '%20',
    '%',
    ',',
    '.',
    ']',
    '}',
    '[',
    ']]]]]]]]]',
  ],
  ...[
    'x',
    'n',
    'A1',
    'abcdefgh',
    'dXNlcjpwYXNz',
    'YWJj',
    '0123456789abcdef',
    'z'.repeat(40),
    '界',
    '👋',
    'aaaaaaaa',
    'aaa',
  ],
)
const any = fc.oneof(
  fc.array(word, { maxLength: 12 }).map((words) => words.join(' ')),
  fc.array(fc.oneof(letters, word), { maxLength: 16 }).map((parts) => parts.join('')),
)

const cut = fc.array(fc.nat(12), { minLength: 1, maxLength: 60 })

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const pieces: string[] = []
  let at = 0
  for (let turn = 0; at < text.length; turn++) {
    const next = at + cuts[turn % cuts.length]! + 1
    pieces.push(text.slice(at, next))
    at = next
  }
  return pieces
}

/** The outputs of a stream for each split in two, and for single characters. */
function assertSame(text: string, all: Redactor): void {
  const whole = all.text(text)
  for (let at = 0; at <= text.length; at++) assert.equal(told([text.slice(0, at), text.slice(at)], all).join(''), whole)
  assert.equal(told(text.split(''), all).join(''), whole)
}

/** Texts where a split could cause a wrong decision. */
const TEXTS = [
  `{"a":"one\\nBearer abc123def456 two\\r\\nAuthorization: x${'y'.repeat(40)}]]}"}`,
  `xBearer abc123def456 nBearer abc123def456 nntk_${'0'.repeat(16)} \\ntk_${'0'.repeat(16)}.ab.`,
  `Authorization: Bearer ${'z'.repeat(30)}${'}'.repeat(20)}z${']'.repeat(40)},authorization=none${'}'.repeat(18)} x`,
  `basic ${'YWJj'.repeat(140)} basic+basic+basic Basic dXNlcjpwYXNz===Bearer%20a1b2c3d4==basic basic dXNlcjpwYXNz`,
  '{"authorization":12345},{\\"authorization\\": \\"Token abc\\"} authorization = [redacted]abc authorization: [reda',
  `${SECRETS.join('')}${'a'.repeat(50)}b${SECRETS[1]}${SECRETS[1]}`,
]

describe('a text in pieces', () => {
  test('gives the result of the whole text, without secrets', () => {
    const all = redactor()
    fc.assert(
      fc.property(any, cut, (text, cuts) => {
        const pieces = told(piecesOf(text, cuts))
        assert.equal(pieces.join(''), all.text(text))
        for (const piece of pieces) assert.ok(piece.isWellFormed() || !text.isWellFormed())
      }),
      { numRuns: scaled(2_000) },
    )
  })

  test('gives the result of the whole text for any split', () => {
    const all = redactor()
    for (const text of TEXTS) assertSame(text, all)
    fc.assert(
      fc.property(any, (text) => assertSame(text, all)),
      { numRuns: scaled(100) },
    )
  })

  test('hides credentials after an escaped line break, and nothing because of a split', () => {
    const token = 'abc123def456'
    assert.deepEqual(told(['{"a":"x\\', `nBearer ${token}"}`]), ['{"a":"x\\', 'nBearer [redacted]"}', ''])
    assert.deepEqual(told(['{"a":"x\\n', `Bearer ${token}"}`]), ['{"a":"x\\', 'nBearer [redacted]"}', ''])
    assert.equal(told(['x\\', `ntk_${'0'.repeat(16)} y`]).join(''), 'x\\n[redacted] y')
    assert.equal(told(['forb', `Bearer ${token}`]).join(''), `forbBearer ${token}`)
    assert.equal(told(['forn', `Bearer ${token}`]).join(''), `fornBearer ${token}`)
    assert.equal(told(['nn', `tk_${'0'.repeat(16)}`]).join(''), `nntk_${'0'.repeat(16)}`)
  })

  test('is emitted at once if no part may be a secret', () => {
    const none = new Redactor().forOwner('me')
    for (const pieces of [['Hello', ', Ada', '! 👋'], ['x'.repeat(100_000)]])
      assert.deepEqual(told(pieces, none), [...pieces, ''])
  })

  test('is held no longer than it may be a secret', () => {
    assert.deepEqual(told(['It is plant', 'ed-key-4711-of-a-cal', 'ler, ', 'ok']), [
      'It is ',
      '',
      '[redacted], ',
      'ok',
      '',
    ])
    assert.deepEqual(told(['a plan', ' that works']), ['a ', 'plan that works', ''])
    assert.deepEqual(told(['A basic ', 'idea. ', 'So be it. ', 'Yes.']), [
      'A ',
      'basic idea. ',
      'So be it. ',
      'Yes.',
      '',
    ])
    assert.deepEqual(told(['It ends with plan']), ['It ends with ', 'plan'])
  })

  test('is not held for secrets of others', () => {
    assert.deepEqual(told(['of-a-str', 'anger-77']), ['of-a-str', 'anger-77', ''])
  })

  test('is held no longer than credentials can be, with or without spaces', () => {
    for (const [opening, part] of [
      ['basic', '中文没有空格'],
      ['basic ', 'YWJj'],
      ['Bearer ', 'x-y_z'],
      ['authorization:', '中文'],
      ['authorization:x', ']'],
      ['authorization:[', 'x'],
      ['ntk_', 'x'],
      ['', 'basic+'],
      ['', 'bearer'],
      ['', 'function basic(){return bearer}'],
      ['', 'aaaaaaaa'],
      ['"basic\\n', 'authorization'],
    ] as const) {
      const stream = new RedactedStream(redactor())
      let text = ''
      for (const char of opening + part.repeat(Math.ceil(3_000 / part.length))) {
        stream.push(char)
        text += char
        assert.ok(stream.waiting <= 600, `${opening}${part}: ${stream.waiting} after ${text.length}`)
      }
    }
    assert.deepEqual(told(['他说basic，', '然后authorization怎么办', '再说']), [
      '他说basic，',
      '然后authorization怎么办',
      '再说',
      '',
    ])
  })

  test('decides each position once, for any split and any length of the secret', () => {
    const LENGTH = 20_000
    for (const [secret, part] of [
      ['a'.repeat(LENGTH), 'a'],
      ['ab'.repeat(LENGTH / 2), 'ab'],
      [`${'a'.repeat(LENGTH)}b`, 'a'],
      [`${'"'.repeat(LENGTH)}`, '"'],
      ['planted-key-4711'.repeat(LENGTH / 16), 'planted-key-4711'],
    ] as const) {
      const finder = new SecretIndex()
      finder.add(secret, 'me')
      const secrets = finder.createMatcher('me', 'own')
      let looked = 0
      const counted = <Given extends unknown[], Result>(look: (...given: Given) => Result) => {
        return (...given: Given): Result => {
          looked++
          return look(...given)
        }
      }
      const text = new SecretReplacer(
        { ...secrets, longestAt: counted(secrets.longestAt), hasPartialMatch: counted(secrets.hasPartialMatch) },
        '[redacted]',
      )
      const whole = part.repeat((3 * LENGTH) / part.length)
      const pieces = [...whole].map((char) => text.push(char, 'more'))
      assert.equal([...pieces, text.push('', 'none')].join(''), finder.replace(whole, '[redacted]', 'me'))
      assert.ok(looked <= 3 * (whole.length + 1), `${looked} looks at ${whole.length} characters of ${part}`)
    }
  })

  test('holds a limited number of characters for credentials, for any split', () => {
    for (const opening of ['basic ', 'Authorization: ', 'Bearer ', 'authorization', 'x'])
      for (const part of ['YWJj', '中', ']', 'authorization=']) {
        const stream = new RedactedStream(new Redactor())
        let looked = 0
        const text = opening + part.repeat(Math.ceil(20_000 / part.length))
        for (const char of text) {
          stream.push(char)
          looked += stream.waiting + 1
        }
        assert.ok(looked < 20 * text.length, `${looked} characters for ${text.length} of ${opening}${part}`)
      }
  })

  test('that is cut off keeps its end, except a possible part of a secret', () => {
    const cut = (...pieces: string[]) => {
      const stream = new RedactedStream(redactor())
      return pieces.map((piece) => stream.push(piece)).join('') + stream.cut()
    }
    for (const [text, told] of [
      ['It is ', 'It is '],
      [`It is ${OWN.slice(0, 7)}`, `It is ${OWN.slice(0, 7)}`],
      [`It is ${OWN.slice(0, 8)}`, 'It is [redacted]'],
      [`It is ${OWN.slice(0, -1)}`, 'It is [redacted]'],
      [`It is ${OWN}`, 'It is [redacted]'],
      [`${OWN}${OWN.slice(0, 9)}`, '[redacted]'],
      ['of-a-str', 'of-a-str'],
      ['Bearer a1', 'Bearer [redacted]'],
      ['a basic ', 'a basic '],
      ['a basic', 'a basic'],
      ['Authorization: ', 'Authorization: '],
      ['{"authorization": "Basic dX', '{"authorization": "Basic [redacted]'],
      ['with ntk_01', 'with [redacted]'],
      ['"\\nntk_01', '"\\n[redacted]'],
      ['anntk_01', 'anntk_01'],
      ['"\\ntk_01', '"\\n[redacted]'],
      ['Bearer abcdef0123456789=', 'Bearer [redacted]'],
    ] as const) {
      assert.equal(cut(text), told)
      assert.equal(cut(...text), told, 'character by character')
    }
  })

  test('is processed in many short steps if one letter decides about very much of it', () => {
    const long = new Redactor().forOwner('me')
    long.add(`${'a'.repeat(60_000)}b`, 'me')
    for (const say of ['pushSteps', 'endSteps'] as const) {
      const stream = new RedactedStream(long)
      const waiting = 'a'.repeat(59_000)
      assert.equal(stream.push(waiting), '')
      const work = say === 'pushSteps' ? stream.pushSteps('c') : stream.endSteps()
      let steps = 0
      let step = work.next()
      for (; !step.done; step = work.next()) steps++
      assert.equal(step.value, say === 'pushSteps' ? `${waiting}c` : waiting)
      assert.ok(steps > 10, `${steps} steps`)
    }
  })

  test('is processed in linear time', () => {
    const stream = new RedactedStream(redactor())
    let length = stream.push('Bearer ').length
    for (let at = 0; at < 20_000; at++) length += stream.push('x-y_z').length
    length += stream.end().length
    assert.ok(length > 0)
  })
})
