// The work limit of one firing on a pattern. Hostile patterns are refused long before they block the server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { takesLess } from '../helpers/patience.ts'
import { outputOf } from './fire.ts'

const NODES = ['regex.Match', 'regex.FindAll', 'regex.Replace', 'regex.Split']

/** In milliseconds of processor time: several times the expected work, and far less than unbounded work. */
const SOON = 5000

const REFUSED = /too_large: The pattern takes too much work on this text/

const a = (length: number) => 'a'.repeat(length)

/** Patterns and texts that are refused if all matches are searched. */
const HOSTILE: Readonly<Record<string, [string, string]>> = {
  'nested groups': [`${'('.repeat(500)}a+${')'.repeat(500)}`, a(1_000_000)],
  'repeats of repeats with groups': ['(a*)*'.repeat(350), a(1_000_000)],
  'a thousand choices': ['(?:(?:a?){31}){31}', a(1_000_000)],
  'large classes, many times': ['\\p{L}{1000}', a(1_000_000)],
  'a look to the end of the text for each match': ['a.*b|a', a(90_000)],
  'the same in a text short enough for the other machine': ['a.*b|a', a(26_000)],
}

const LINE = '2024-05-01 12:34:56 INFO user=ann@example.com path=/a/b/c?d=1 took 123 ms\n'

describe('a pattern that takes too much work', () => {
  for (const [name, [pattern, text]] of Object.entries(HOSTILE)) {
    test(`is refused: ${name}`, async () => {
      await takesLess(SOON, () => assert.rejects(outputOf('regex.FindAll', { text, pattern }), REFUSED))
    })
  }

  for (const type of NODES) {
    test(`is refused by '${type}'`, async () => {
      const [pattern, text] = HOSTILE['nested groups']!
      await takesLess(SOON, () => assert.rejects(outputOf(type, { text, pattern, replacement: '$1' }), REFUSED))
    })
  }

  test('is refused for a million empty matches as well', async () => {
    const replaced = outputOf('regex.Replace', { text: a(1_000_000), pattern: '', replacement: '-' })
    await assert.rejects(replaced, REFUSED)
    assert.equal(await outputOf('regex.Replace', { text: 'aé', pattern: '', replacement: '-' }), '-a-é-')
  })
})

test('ordinary patterns pass on texts of hundreds of pages', async () => {
  const text = LINE.repeat(6000)
  const fields = '(\\S+) (\\S+) (INFO|WARN) user=(\\S+) path=(\\S+) took (\\d+) ms'
  const found = (await outputOf('regex.FindAll', { text, pattern: fields })) as { groups: string[] }[]
  assert.equal(found.length, 6000)
  assert.deepEqual(found[5999]!.groups, ['2024-05-01', '12:34:56', 'INFO', 'ann@example.com', '/a/b/c?d=1', '123'])
  const numbers = (await outputOf('regex.Replace', { text, pattern: '\\d+', replacement: '<$&>' })) as string
  assert.ok(numbers.startsWith('<2024>-<05>-<01> <12>'))
  const words = '\\b(error|warn|fatal|exception|timeout|refused|denied|took)\\b'
  const parts = await outputOf('regex.Split', { text, pattern: words, ignore_case: true })
  assert.equal((parts as string[]).length, 6001)
  assert.equal(await outputOf('regex.Match', { text: a(1_000_000), pattern: '^(a+)+$' }), true)
})

test('groups, names and positions are found in texts with all kinds of characters', async () => {
  const text = 'x 👍é=1\n'
  const found = await outputOf('regex.FindAll', { text, pattern: '(?P<name>\\S+)=(\\d)(z)?' })
  assert.deepEqual(found, [{ text: '👍é=1', index: 2, groups: ['👍é', '1', null], named: { name: '👍é' } }])
  const replaced = await outputOf('regex.Replace', { text, pattern: '(.)=', replacement: "[$`|$1|$']" })
  assert.equal(replaced, 'x 👍[x 👍|é|1\n]1\n')
})

test('a reason is short, however long the pattern', async () => {
  const refused = outputOf('regex.Match', { text: '', pattern: `[${'b-a'.repeat(600)}]` })
  await assert.rejects(refused, (error: Error) => error.message.length < 1000 && /bad_pattern/.test(error.message))
})
