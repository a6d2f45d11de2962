// Letters and digits that JSON writes by their numbers, in texts that come whole and in pieces.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonUnescaper, unescapeJsonText } from '../../src/redaction/json-unescaper.ts'

const PARTS = ['\\\\', '\\u0041', '\\u006B', '\\u00e9', '\\u0022', '\\"', '\\n', 'u0041', 'a', ' ']
/** What no JSON has. */
const ODD = ['\\U0041', '\\u00', '\\u', '\\x41']

function inPieces(text: string, length: number): string {
  const plain = new JsonUnescaper()
  let told = ''
  for (let at = 0; at < text.length; at += length) told += plain.push(text.slice(at, at + length))
  return told + plain.end()
}

test('are written as what they are: the text says the same', () => {
  const texts = fc.array(fc.constantFrom(...PARTS)).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, (text) => {
      const plain = unescapeJsonText(text)
      assert.equal(JSON.parse(`"${plain}"`), JSON.parse(`"${text}"`))
      assert.doesNotMatch(plain.replaceAll('\\\\', ''), /\\u00(?:41|6B)/)
    }),
  )
})

test('come out the same in pieces as in the whole, also of what is no JSON', () => {
  const texts = fc.array(fc.constantFrom(...PARTS, ...ODD)).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 9 }), (text, length) =>
      assert.equal(inPieces(text, length), unescapeJsonText(text)),
    ),
  )
})

test('leaves what only looks like an escape as it is', () => {
  for (const text of ['\\U0041 \\u00e9', '\\\\u0041 \\u00e9']) assert.equal(unescapeJsonText(text), text)
})
