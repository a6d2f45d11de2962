// Consecutive texts: joined, they equal the redacted whole; each stays unchanged if nothing in it is replaced.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { RedactedItems } from '../../../src/redaction/streams/redacted-items.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { leastProcessorMs } from '../../helpers/processor.ts'
import { scaled } from '../../helpers/scale.ts'

const SECRETS = ['planted-key-4711', 'planted-key', '[redacte']
const OWNER = 'me'
const redactor = new Redactor().forOwner(OWNER)
for (const secret of SECRETS) redactor.add(secret, OWNER)

/** The output for each item and the end. */
function told(items: readonly string[]): string[][] {
  const texts = new RedactedItems(redactor)
  return [...items.map((item) => texts.push(item)), texts.end()]
}

const part = fc.oneof(
  fc.constantFrom(
    'planted',
    '-key',
    '-4711',
    'plan',
    ' ',
    '',
    'Bearer ',
    'abc123',
    'def456',
    'basic',
    'a',
    '\\',
    'n',
    '👋',
  ),
  fc.constantFrom('authorization: ', 'none', ']]', 'Basic dXNlcjpwYXNz', ', ', 'the end.', ...SECRETS),
)
const items = fc.array(
  fc.array(part, { maxLength: 3 }).map((parts) => parts.join('')),
  { maxLength: 12 },
)

describe('consecutive texts', () => {
  test('equal one redacted text, and keep their number', () => {
    fc.assert(
      fc.property(items, (given) => {
        const all = told(given).flat()
        assert.equal(all.join(''), redactor.text(given.join('')))
        if (!given.join('').includes('[redacte')) assert.equal(all.length, given.length)
      }),
      { numRuns: scaled(3_000) },
    )
  })

  test('give the same result in steps', () => {
    fc.assert(
      fc.property(items, (given) => {
        const texts = new RedactedItems(redactor)
        assert.deepEqual([...given.map((item) => runToCompletion(texts.pushSteps(item))), texts.end()], told(given))
      }),
      { numRuns: scaled(500) },
    )
  })

  test('stay unchanged if nothing is replaced', () => {
    const plain = items.filter((given) => redactor.text(given.join('')) === given.join(''))
    fc.assert(
      fc.property(plain, (given) => assert.deepEqual(told(given).flat(), given)),
      { numRuns: scaled(500) },
    )
  })

  test('are held until they are decided, and no longer', () => {
    assert.deepEqual(told(['It is planted-key-4711.', 'And', ' basic', ' ideas,']), [
      ['It is [redacted].'],
      ['And'],
      [],
      [' basic', ' ideas,'],
      [],
    ])
    assert.deepEqual(told(['It is plan', 'ted-key', '-4711', '!']), [[], [], ['It is [redacted]', '', ''], ['!'], []])
    assert.deepEqual(told(['with planted-key-4711 b', 'oat a', 'nd', ' then']), [
      [],
      ['with [redacted] boat '],
      ['a', 'nd'],
      [' then'],
      [],
    ])
  })

  test('take the same time each, for any number of held items', () => {
    const took = leastProcessorMs(200, () => {
      const long = new Redactor().forOwner(OWNER)
      long.add(`${'a'.repeat(65_530)}b`, OWNER)
      const texts = new RedactedItems(long)
      for (let at = 0; at < 65_500; at++) assert.equal(texts.push('a').length, 0)
      assert.equal(texts.push('c').length, 65_501)
    })
    assert.ok(took < 500, `${took} ms`)
  })
})
