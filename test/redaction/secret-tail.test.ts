// A text of a model in pieces: no more than a few letters of a secret are told, however it is cut, and next to nothing waits.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Redactor } from '../../src/redaction/redactor.ts'
import { scaled } from '../helpers/scale.ts'

const KEY = 'sk-Planted/key+4711'

/** What is told of each piece, and at the end. */
function told(redactor: Redactor, pieces: readonly string[]): string[] {
  const tail = redactor.secretTail()
  return [...pieces.map((piece) => tail.push(piece)), tail.end()]
}

describe('a text of a model', () => {
  test('is told piece by piece, also where it ends like the first letters of a secret', () => {
    const redactor = new Redactor([KEY])
    for (const pieces of [
      ['a mask', ' is ', 'sk', 'i-', 'ing'],
      ['s', 'k', '-', 'x'],
      ['', 'sk-', '', 'Pie'],
    ])
      assert.deepEqual(told(redactor, pieces), [...pieces, ''])
    assert.deepEqual(told(redactor, ['the sk-P', 'ears']), ['the ', 'sk-Pears', ''])
    assert.deepEqual(told(redactor, ['ends in sk-Pl']), ['ends in ', 'sk-Pl'])
  })

  test('holds nothing of a secret but three letters, however it is written and cut', () => {
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
        const inner = form.slice(4, -4)
        assert.ok(!all.includes(inner), all)
        assert.ok(all.startsWith(before) && all.includes('[redacted]') && all.endsWith(after))
      }),
      { numRuns: scaled(500) },
    )
  })

  test('character by character, holds no more of a secret, nor where it breaks off', () => {
    for (const text of [`key: ${KEY}!`, `key: ${KEY.slice(0, -1)}`, `${KEY}${KEY}`, `${KEY.slice(0, 9)} ${KEY}`]) {
      const all = told(new Redactor([KEY]), [...text]).join('')
      assert.match(all, /\[redacted\]/)
      assert.ok(
        (!all.includes(KEY.slice(0, 10)) && !all.includes(KEY.slice(4, 10))) || text.startsWith(`${KEY.slice(0, 9)} `),
        all,
      )
    }
  })

  test('goes on as it came behind what only looked like a secret, whatever other secrets begin alike', () => {
    const redactor = new Redactor([KEY, 'sk-Planted/other-9', 'Planted/key'])
    const text = 'sk-Planted/kez and sk-Planted/othen'
    for (let size = 1; size < 9; size++) {
      const pieces = text.match(new RegExp(`.{1,${size}}`, 'g'))!
      assert.equal(told(redactor, pieces).join(''), text)
    }
    assert.match(told(redactor, ['a sk-Planted', '/key', '+4711 b']).join(''), /^a .{0,3}\[redacted\] b$/)
  })

  test('of others stays as it is: secrets have owners, and what looks like a credential is the model’s', () => {
    const redactor = new Redactor([])
    redactor.add(KEY, 'ada')
    assert.equal(told(redactor.of('bob'), [KEY, ' Bearer abcdefgh12345678']).join(''), `${KEY} Bearer abcdefgh12345678`)
    assert.equal(told(redactor.of('ada'), [KEY]).join(''), '[redacted]')
  })
})
