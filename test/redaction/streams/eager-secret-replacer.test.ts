// A streamed text of a model: clients see at most as much of a secret as they may have guessed, for any split, and next
// to nothing is held.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SecretIndex } from '../../../src/redaction/matching/secret-index.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { EagerSecretReplacer } from '../../../src/redaction/streams/eager-secret-replacer.ts'
import { scaled } from '../../helpers/scale.ts'

const KEY = 'sk-Planted/key+4711'
/** From this many characters on a prefix is not a guess: three are public, and ten are not. */
const THRESHOLD = 13

/** The output for each piece and the end. */
function told(redactor: Redactor, pieces: readonly string[]): string[] {
  const tail = redactor.createEagerReplacer()
  return [...pieces.map((piece) => tail.push(piece)), tail.end()]
}

describe('a text of a model', () => {
  test('is emitted piece by piece, also if it ends like the first letters of a secret', () => {
    const redactor = new Redactor([KEY])
    for (const pieces of [
      ['a mask', ' is ', 'sk', 'i-', 'ing'],
      ['s', 'k', '-', 'x'],
      ['', 'sk-', '', 'Pie'],
    ])
      assert.deepEqual(told(redactor, pieces), [...pieces, ''])
    assert.deepEqual(told(redactor, ['the sk-P', 'ears']), ['the sk-P', 'ears', ''])
    assert.deepEqual(told(redactor, ['ends in sk-Planted/k']), ['ends in sk-Planted/k', ''])
    assert.deepEqual(told(redactor, ['has sk-Planted/ke', 'z']), ['has ', 'sk-Planted/kez', ''])
    assert.deepEqual(told(redactor, ['ends in sk-Planted/ke']), ['ends in ', '[redacted]'])
  })

  test('shows nothing of a secret beyond the threshold, in any form and for any split', () => {
    const forms = [
      KEY,
      JSON.stringify(KEY).slice(1, -1),
      encodeURIComponent(KEY),
      btoa(KEY),
      btoa(`x${KEY}`),
      KEY.toLowerCase(),
    ]
    const cuts = fc.array(fc.integer({ min: 0, max: 80 }), { maxLength: 12 })
    fc.assert(
      fc.property(fc.constantFrom(...forms), fc.string(), fc.string(), cuts, (form, before, after, at) => {
        const text = `${before} ${form} ${after}`
        const places = [0, ...at.filter((one) => one < text.length).sort((a, b) => a - b), text.length]
        const pieces = places.slice(1).map((end, index) => text.slice(places[index], end))
        const all = told(new Redactor([KEY]), pieces).join('')
        assert.ok(!all.includes(form.slice(0, THRESHOLD + 4)) && !all.includes(form.slice(-8, -2)), all)
        assert.ok(all.startsWith(before) && all.includes('[redacted]') && all.endsWith(after))
      }),
      { numRuns: scaled(500) },
    )
  })

  test('in single characters shows no more of a secret, also if it breaks off', () => {
    for (const text of [`key: ${KEY}!`, `key: ${KEY.slice(0, -1)}`, `${KEY}${KEY}`, `${KEY.slice(0, 9)} ${KEY}`]) {
      const all = told(new Redactor([KEY]), [...text]).join('')
      assert.match(all, /\[redacted\]/)
      assert.ok(!all.includes(KEY.slice(0, THRESHOLD)) && !all.includes(KEY.slice(THRESHOLD - 1, -1)), all)
    }
    assert.equal(told(new Redactor([KEY]), [...`a ${KEY} b`]).join(''), `a ${KEY.slice(0, THRESHOLD - 1)}[redacted] b`)
  })

  test('that is settled early drops the rest of the same secret', () => {
    for (let at = THRESHOLD; at < KEY.length; at++)
      for (let size = 1; size < 8; size++) {
        const tail = new Redactor([KEY]).createEagerReplacer()
        assert.equal(tail.push(`a ${KEY.slice(0, at)}`), 'a ')
        assert.equal(tail.end(), '[redacted]')
        const rest = `${KEY.slice(at)} b`.match(new RegExp(`.{1,${size}}`, 'g'))!
        assert.equal(rest.map((piece) => tail.push(piece)).join('') + tail.end(), ' b')
        assert.equal(tail.push(KEY), '[redacted]')
      }
    const tail = new Redactor([KEY]).createEagerReplacer()
    const pieces = ['sk-Planted/key', '+4', '7!', ' and ', KEY]
    const all = pieces.map((piece) => tail.push(piece) + tail.end())
    assert.deepEqual(all, ['[redacted]', '', '!', ' and ', '[redacted]'])
  })

  test('remembers emitted text over any number of pieces, and settles nothing in it', () => {
    for (let at = 1; at < KEY.length; at++) {
      const tail = new Redactor([KEY]).createEagerReplacer()
      const first = [...KEY.slice(0, at)].map((char) => tail.push(char) + tail.end()).join('')
      const all = first + tail.push(KEY.slice(at)) + tail.end()
      assert.equal(all, `${KEY.slice(0, Math.min(at, THRESHOLD - 1))}[redacted]`)
    }
  })

  test('has thresholds after the public part: only the last part of a token with dots is secret, and no part that its format may fix', () => {
    const whole = (secret: string) => told(new Redactor([secret]), [secret.slice(0, -1)]).join('')
    const body = 'A1b2C3d4E5f6G7h8I9j0'.repeat(4)
    const token = `eyJhbGciOiJIUzI1NiJ9.${body}.${body}`
    const known = token.lastIndexOf('.') + 1
    assert.equal(told(new Redactor([token]), [token.slice(0, known + 15)]).join(''), token.slice(0, known + 15))
    assert.equal(told(new Redactor([token]), [token.slice(0, known + 16)]).join(''), '[redacted]')
    assert.equal(told(new Redactor([token]), [...token]).join(''), `${token.slice(0, known + 15)}[redacted]`)
    const pem = `-----BEGIN PRIVATE KEY-----\n${body}\n${body}x\n-----END PRIVATE KEY-----`
    const begun = pem.slice(0, 100)
    assert.equal(told(new Redactor([pem]), [begun]).join(''), begun)
    for (const secret of [`{"key":"${body}"}`, btoa(`{"key":"${body}"}`), `https://hooks.example/${body}`])
      assert.equal(whole(secret), secret.slice(0, -1))
    const own = new Redactor().forOwner('me')
    own.add(pem, 'me')
    assert.match(told(own, [pem.slice(0, 30)]).join(''), /^\[redacted\]/)
    for (const known of ['somebody:', 'Bearer ', 'Server=tcp:a,1;Password=']) {
      const named = `${known}${body}==`
      assert.equal(
        told(new Redactor([named]), [named.slice(0, known.length + 15)]).join(''),
        named.slice(0, known.length + 15),
      )
      assert.equal(told(new Redactor([named]), [named.slice(0, known.length + 16)]).join(''), '[redacted]')
    }
    assert.equal(whole(`Basic ${btoa(`me:${body}`)}`), `Basic ${btoa(`me:${body}`)}`.slice(0, -1))
    const base64 = btoa(`sk-proj-${body}`)
    assert.equal(told(new Redactor([`sk-proj-${body}`]), [base64.slice(0, 20)]).join(''), base64.slice(0, 20))
  })

  test('passes unchanged after a false start of a secret, also with similar secrets', () => {
    const redactor = new Redactor([KEY, 'sk-Planted/other-9', 'Planted/key'])
    const text = 'sk-Planted/kez and sk-Planted/othen'
    for (let size = 1; size < 9; size++) {
      const pieces = text.match(new RegExp(`.{1,${size}}`, 'g'))!
      assert.equal(told(redactor, pieces).join(''), text)
    }
    assert.match(told(redactor, ['a sk-Planted', '/key', '+4711 b']).join(''), /^a sk-Planted\[redacted\] b$/)
  })

  test('is checked a limited number of times, and held no longer than the secret, also for repetitive secrets', () => {
    const LENGTH = 6_000
    for (const [secret, part] of [
      ['a'.repeat(LENGTH), 'a'],
      [`${'ab'.repeat(LENGTH / 2)}c`, 'ab'],
      [`${'a'.repeat(LENGTH)}\nb`, 'a'],
      [`eyJ.${'eyJ.'.repeat(LENGTH / 4)}${'x'.repeat(40)}`, 'eyJ.'],
      [`eyJ${'a.'.repeat(900)}${'x'.repeat(40)}`, 'eyJaaa.a.a.a.'],
    ] as const) {
      const finder = new SecretIndex()
      finder.add(secret, null)
      const secrets = finder.createEagerMatcher('me')
      let looks = 0
      const counted = <Given extends unknown[], Result>(look: (...given: Given) => Result) => {
        return (...given: Given): Result => {
          looks++
          return look(...given)
        }
      }
      const tail = new EagerSecretReplacer(
        { ...secrets, longestAt: counted(secrets.longestAt), findPartialMatch: counted(secrets.findPartialMatch) },
        '[redacted]',
      )
      const text = part.repeat((2 * LENGTH) / part.length)
      for (const char of text) {
        tail.push(char)
        assert.ok(tail.waiting <= secret.length)
      }
      assert.ok(looks <= 150 * text.length, `${looks} looks at ${text.length} characters of ${part}`)
    }
  })

  test('in one piece gives the result of the whole text', () => {
    const redactor = new Redactor([KEY, 'sk-Planted/other-9', 'aaaaaaaa', 'Planted/key'])
    const part = fc.constantFrom(
      KEY,
      'aaaa',
      'sk-Planted/o',
      'ther-9',
      btoa(KEY),
      ' ',
      'Planted/',
      'key',
      KEY.slice(0, 15),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const text = `${parts.join('')} .`
        assert.equal(told(redactor, [text]).join(''), redactor.text(text))
      }),
      { numRuns: scaled(500) },
    )
  })

  test('keeps secrets of other owners, and text that only looks like a credential', () => {
    const redactor = new Redactor([])
    redactor.add(KEY, 'ada')
    assert.equal(
      told(redactor.forOwner('bob'), [KEY, ' Bearer abcdefgh12345678']).join(''),
      `${KEY} Bearer abcdefgh12345678`,
    )
    assert.equal(told(redactor.forOwner('ada'), [KEY]).join(''), '[redacted]')
  })
})
