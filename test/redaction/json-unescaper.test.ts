// Unescaping of letters and digits in JSON, for whole texts and in pieces.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonUnescaper, unescapeJsonText } from '../../src/redaction/json-unescaper.ts'

const PARTS = ['\\\\', '\\u0041', '\\u006B', '\\u00e9', '\\u0022', '\\"', '\\n', 'u0041', 'a', ' ']
/** Escapes that are invalid in JSON. */
const ODD = ['\\U0041', '\\u00', '\\u', '\\x41']

function inPieces(text: string, length: number): string {
  const plain = new JsonUnescaper()
  let told = ''
  for (let at = 0; at < text.length; at += length) told += plain.push(text.slice(at, at + length))
  return told + plain.end()
}

test('letters and digits in escapes are unescaped, and the JSON text keeps its meaning', () => {
  const texts = fc.array(fc.constantFrom(...PARTS)).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, (text) => {
      const plain = unescapeJsonText(text)
      assert.equal(JSON.parse(`"${plain}"`), JSON.parse(`"${text}"`))
      assert.doesNotMatch(plain.replaceAll('\\\\', ''), /\\u00(?:41|6B)/)
    }),
  )
})

test('unescaping in pieces gives the result of the whole text, also for invalid JSON', () => {
  const texts = fc.array(fc.constantFrom(...PARTS, ...ODD)).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 9 }), (text, length) =>
      assert.equal(inPieces(text, length), unescapeJsonText(text)),
    ),
  )
})

test('text that only looks like an escape stays unchanged', () => {
  for (const text of ['\\U0041 \\u00e9', '\\\\u0041 \\u00e9']) assert.equal(unescapeJsonText(text), text)
})
