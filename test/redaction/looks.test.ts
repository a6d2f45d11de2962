// How closely a text is searched does not depend on secrets of other owners, nor on prefixes of service secrets: a
// caller with large texts could measure the time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SecretIndex } from '../../src/redaction/matching/secret-index.ts'
import { SecretReplacer } from '../../src/redaction/streams/secret-replacer.ts'

const THEIRS = 'Tr0ub4dor&3x'
const SERVICES = 'Hunter2Hunter9!'
const MINE = 'mine-9f8e7d6c5b'
const PIECE = 65_536

function finder(): SecretIndex {
  const known = new SecretIndex()
  known.add(THEIRS, 'alice')
  known.add(SERVICES, null)
  known.add(MINE, 'bob')
  return known
}

/** A text of a few pieces, with a word at each multiple of this number of characters. */
function filled(word: string, each = 1_024): string {
  return word.padEnd(each, ' abc').repeat((4 * PIECE) / each)
}

/** How many positions of a text are checked closely. */
function looks(known: SecretIndex, text: string, waiting?: 'own'): number {
  let count = 0
  const secrets = known.createMatcher('bob', waiting)
  const longestAt: typeof secrets.longestAt = (held, at) => {
    count++
    return secrets.longestAt(held, at)
  }
  const pieces = new SecretReplacer({ ...secrets, longestAt }, '***')
  let told = ''
  for (let at = 0; at < text.length; at += PIECE) told += pieces.push(text.slice(at, at + PIECE), 'more')
  assert.equal(told + pieces.push('', 'none'), known.replace(text, '***', 'bob'))
  return count
}

describe('a long text', () => {
  for (const waiting of [undefined, 'own'] as const)
    for (const [whose, secret] of Object.entries({ 'another owner': THEIRS, 'the service': SERVICES }))
      test(`with the prefix of a secret of ${whose} is searched like any other, waiting for ${waiting ?? 'all'}`, () => {
        for (const length of [4, 8, 11]) {
          const [begins, not] = [secret.slice(0, length), `${secret.slice(0, length - 1)}§`]
          assert.equal(looks(finder(), filled(begins), waiting), looks(finder(), filled(not), waiting))
        }
      })

  test('is checked closely from its first secret on', () => {
    const text = `${' '.repeat(60_000)}${MINE}${' '.repeat(5_000)}`
    const count = looks(finder(), text.padEnd(4 * PIECE))
    assert.ok(count > 5_000 && count < 8_000, `${count} looks`)
  })

  test('that ends inside a secret is checked there, for any owner', () => {
    for (const secret of [MINE, SERVICES])
      for (const cut of [1, 8, secret.length - 1]) {
        const text = `${' '.repeat(PIECE - cut)}${secret}`
        looks(finder(), text.padEnd(4 * PIECE))
      }
  })
})

describe('for an owner', () => {
  test('secrets of others are not compared', () => {
    const [known, tail] = [finder(), finder().createEagerMatcher('bob')]
    assert.equal(known.mayHold(filled(THEIRS.slice(0, 8)), 'bob'), false)
    assert.equal(known.mayHold(filled(THEIRS), 'alice'), true)
    assert.equal(known.mayHold(filled(THEIRS), null), true)
    assert.equal(known.mayHold(MINE, 'bob') && known.mayHold(SERVICES, 'bob'), true)
    assert.equal(tail.mayBegin(THEIRS, 0), false)
    assert.equal(tail.mayBegin(MINE, 0) && tail.mayBegin(SERVICES, 0), true)
  })

  test('secrets that are added or removed after the first search are known', () => {
    const known = finder()
    assert.equal(known.replace(`${MINE} ${SERVICES}`, '***', 'bob'), '*** ***')
    known.add('later-service-1234', null)
    known.add('later-of-bob-1234', 'bob')
    assert.equal(known.replace('later-service-1234 later-of-bob-1234', '***', 'bob'), '*** ***')
    known.remove('later-service-1234', null)
    known.remove(MINE, 'bob')
    assert.equal(
      known.replace(`later-service-1234 ${MINE} later-of-bob-1234`, '***', 'bob'),
      `later-service-1234 ${MINE} ***`,
    )
  })
})
